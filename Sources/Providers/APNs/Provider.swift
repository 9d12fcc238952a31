import Basis
import Content
import Encodings
import JSON
import Model
import ProviderInterface

package struct APNsProvider: PushProvider {
    package let id = Provider.apns
    package let title = "APNs"
    package let environments = PushEnvironment.allCases
    package let kinds = TokenKind.allCases
    package let hasTopics = true
    /// Apple does not say when a token is stale.
    package let staleDays: Int32? = nil

    package init() {}

    /// Reads hexadecimal digits. Their number varies: Apple lengthens tokens without notice.
    package func readToken(_ text: String) throws(ProviderFault) -> DeviceToken {
        guard text.utf8.count <= 2 * APNsLimits.tokenBytesMax else {
            throw ProviderFault(
                "invalid_token",
                "The token has \(text.utf8.count) digits; the limit is \(2 * APNsLimits.tokenBytesMax).")
        }
        guard !text.isEmpty, let bytes = Hexadecimal.decode(text) else {
            throw ProviderFault(
                "invalid_token",
                "An APNs token is an even number of hexadecimal digits, without spaces or brackets: the bytes of "
                    + "the device token that iOS gave the app.")
        }
        return DeviceToken(bytes: bytes)
    }

    package func text(of token: DeviceToken) -> String { Hexadecimal.text(token.bytes) }

    /// Returns the bundle id. The suffix of a kind is taken off here, because sending adds it.
    package func readTopic(_ text: String, kind: TokenKind?) throws(ProviderFault) -> String {
        // The underscore stands in some old bundle ids.
        guard text.utf8.allSatisfy({ $0.isLetter || $0.isDigit || ".-_".utf8.contains($0) }) else {
            throw ProviderFault(
                "invalid_value",
                "A topic is a bundle id such as com.example.app, in letters, digits, dots, hyphens and underscores. "
                    + "It is not a URL and has no wildcard.")
        }
        guard let kind else { return APNsPushTypes.bundleID(ofTopic: text) }
        guard let bundleID = APNsPushTypes.bundleID(ofTopic: text, kind: kind) else {
            throw ProviderFault(
                "invalid_value",
                "This topic is for tokens of another kind. Use the bundle id "
                    + "\(APNsPushTypes.bundleID(ofTopic: text)), or give the token's kind if it is not \(kind.name).")
        }
        return bundleID
    }

    /// APNs has a token of its own for most types.
    package func tokenKinds(of type: PushType) -> [TokenKind] {
        let row = APNsPushTypes.row(for: type)
        return row.startTokenKind == row.tokenKind ? [row.tokenKind] : [row.tokenKind, row.startTokenKind]
    }

    /// The sender's `apns` object is payload throughout: all headers come from the options.
    package func isHeader(_ place: JSONPointer) -> Bool { false }

    package var takesRecords: Bool { true }

    package var offersValidation: Bool { false }

    package func shownTexts(of content: MessageContent) -> ShownTexts {
        let alert = (try? content.overrides[.apns]?.value())?.object?["aps"]?.object?["alert"]
        let keys = ["title-loc-key", "subtitle-loc-key", "loc-key"]
        return ShownTexts(
            [.title, .subtitle, .body], patch: alert, others: keys.compactMap { alert?.object?[$0]?.string })
    }

    package func compile(_ content: MessageContent, message: MessageID) throws(ProviderFault) -> any CompiledPush {
        try APNsNotification.compile(content, message: message)
    }
}
