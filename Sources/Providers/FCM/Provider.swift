import Basis
import Content
import JSON
import Model
import ProviderInterface

package struct FCMProvider: PushProvider {
    package let id = Provider.fcm
    package let title = "FCM"
    package let environments = [PushEnvironment.production]
    package let kinds = [TokenKind.alert]
    package let hasTopics = false
    /// Source: Google calls a token stale after 270 days without a connection, and drops it then.
    package let staleDays: Int32? = 270

    package init() {}

    package func readToken(_ text: String) throws(ProviderFault) -> DeviceToken {
        let bytes = Array(text.utf8)
        guard (1...FCMLimits.tokenBytesMax).contains(bytes.count), bytes.allSatisfy(\.isVisible) else {
            throw ProviderFault(
                "invalid_token",
                "A token of \(id.name) is 1 to \(FCMLimits.tokenBytesMax) visible ASCII characters, as the "
                    + "provider's library gave it to the app.")
        }
        return DeviceToken(bytes: bytes)
    }

    package func text(of token: DeviceToken) -> String { String(decoding: token.bytes, as: UTF8.self) }

    package func readTopic(_ text: String, kind: TokenKind?) throws(ProviderFault) -> String {
        throw ProviderFault("invalid_value", "A \(id.name) token has no topic. Leave it out.")
    }

    /// An installation has one token for every type of push that FCM has.
    package func tokenKinds(of type: PushType) -> [TokenKind] { FCMMessage.serves(type) ? [.alert] : [] }

    /// The headers that a message carries to Apple's and to web devices.
    package func isHeader(_ place: JSONPointer) -> Bool {
        place.tokens.count == 4 && place.tokens[0] == id.name && place.tokens[2] == "headers"
    }

    package var takesRecords: Bool { false }

    package var offersValidation: Bool { true }

    /// A token does not tell Android's devices from others, so a notification needs text that Android shows.
    package func shownTexts(of content: MessageContent) -> ShownTexts {
        let message = (try? content.overrides[.fcm]?.value())?.object
        let android = message?["android"]?.object?["notification"]?.object
        let names = ["title", "body", "title_loc_key", "body_loc_key"]
        let own = (android?.members ?? []).filter { names.contains(FCMSpelling.snakeCase($0.name)) }
        return ShownTexts([.title, .body], patch: message?["notification"], others: own.compactMap(\.value.string))
    }

    package func compile(_ content: MessageContent, message: MessageID) throws(ProviderFault) -> any CompiledPush {
        try FCMMessage.compile(content, message: message)
    }
}

/// The parts of a request beside its body. FCM has no header that names a push: the body's `carillon_id` does.
package enum FCMRequest {
    /// Returns the value of `:path`, the same for every push of a project.
    package static func path(of project: FCMProject) -> String { "/v1/projects/\(project.name)/messages:send" }

    /// The headers that all pushes share, beside the access token's `authorization`.
    package static let headers = [PushBatch.SharedField("content-type", "application/json".utf8)]
}
