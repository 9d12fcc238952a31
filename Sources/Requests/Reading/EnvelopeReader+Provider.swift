import JSON
import Model
import ProviderInterface
import Providers

extension EnvelopeReader {
    package mutating func requiredProvider() throws(Problem) -> any PushProvider {
        _ = try required("provider", "one of \(PushProviders.names.joined(separator: ", "))")
        guard let provider = try offeredProvider() else { throw .notOffered(at: pointer / "provider") }
        return provider
    }

    package mutating func choice<Value: NamedCase>(_ name: String) throws(Problem) -> Value? {
        try choice(name, Value.allCases.map(\.name), Value.init(name:))
    }

    /// Takes the member `provider`; nil: it is absent. A provider of the contract that this version does not deliver to
    /// is refused by name.
    package mutating func offeredProvider() throws(Problem) -> (any PushProvider)? {
        guard let id = try choice("provider", PushProviders.names, Provider.init(name:)) else { return nil }
        guard let provider = PushProviders.offered(id) else { throw .notOffered(at: pointer / "provider") }
        return provider
    }
}

extension Problem {
    package static func notOffered(at pointer: JSONPointer) -> Problem {
        Problem(
            .notSupported, "This version delivers to \(PushProviders.names.joined(separator: " and ")) only.",
            at: pointer)
    }
}
