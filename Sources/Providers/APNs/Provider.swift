import Content
import JSON
import Model
import ProviderInterface

/// Apple's push notification service.
package struct APNsProvider: PushProvider {
    package let id = Provider.apns

    package init() {}

    /// APNs has a token of its own for most types.
    package func tokenKinds(of type: PushType) -> [TokenKind] {
        let row = APNsPushTypes.row(for: type)
        return row.startTokenKind == row.tokenKind ? [row.tokenKind] : [row.tokenKind, row.startTokenKind]
    }

    /// The sender's `apns` object is payload throughout: all headers come from the options.
    package func isHeader(_ place: JSONPointer) -> Bool { false }

    package var takesRecords: Bool { true }

    package var offersValidation: Bool { false }

    package func compile(
        _ content: MessageContent, message: MessageID
    ) throws(ProviderContentFault) -> any CompiledPush {
        do throws(APNsContentFault) { return try APNsNotification.compile(content, message: message) } catch {
            throw ProviderContentFault(code: error.code, pointer: error.pointer, detail: error.detail)
        }
    }
}
