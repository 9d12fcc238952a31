import Content
import JSON
import Model
import ProviderInterface

/// Google's Firebase Cloud Messaging.
package struct FCMProvider: PushProvider {
    package let id = Provider.fcm

    package init() {}

    /// An installation has one token for every type of push that FCM has.
    package func tokenKinds(of type: PushType) -> [TokenKind] { FCMMessage.serves(type) ? [.alert] : [] }

    /// The headers that a message carries to Apple's and to web devices.
    package func isHeader(_ place: JSONPointer) -> Bool {
        place.tokens.count == 4 && place.tokens[0] == id.name && place.tokens[2] == "headers"
    }

    package var takesRecords: Bool { false }

    package var offersValidation: Bool { true }

    package func compile(
        _ content: MessageContent, message: MessageID
    ) throws(ProviderContentFault) -> any CompiledPush {
        do throws(FCMContentFault) { return try FCMMessage.compile(content, message: message) } catch {
            throw ProviderContentFault(code: error.code, pointer: error.pointer, detail: error.detail)
        }
    }
}
