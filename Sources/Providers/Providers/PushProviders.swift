import APNs
import FCM
import Model
import ProviderInterface

package enum PushProviders {
    /// One line for each provider, in the order in which they are named to people.
    package static let offered: [any PushProvider] = [
        APNsProvider(),
        FCMProvider(),
    ]

    /// Returns a provider; nil: this version does not deliver to it.
    package static func offered(_ id: Provider) -> (any PushProvider)? { offered.first { $0.id == id } }

    package static let names = offered.map(\.id.name)

    /// Returns the name for people of a provider's environment, such as "APNs sandbox".
    package static func name(of id: Provider, _ environment: PushEnvironment) -> String {
        let title = offered(id)?.title ?? id.name
        return environment == .production ? title : "\(title) \(environment.name)"
    }

    /// Returns the kinds of tokens that pushes of a type go to at any provider, each once. The usual kind comes first.
    package static func tokenKinds(of type: PushType) -> [TokenKind] {
        var kinds: [TokenKind] = []
        for kind in offered.flatMap({ $0.tokenKinds(of: type) }) where !kinds.contains(kind) { kinds.append(kind) }
        return kinds
    }
}
