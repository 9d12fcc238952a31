import Foundation
import JSON

/// Names a message before it is cancelled.
package struct CancellationText {
    private let message: JSONValue
    private let zone: TimeZone

    package init(_ message: JSONValue, zone: TimeZone = .current) { (self.message, self.zone) = (message, zone) }

    package var lines: [String] {
        let sent = AudienceCount.grouped(message.reached)
        let whole = message.object?["audience"]?.integer.map { " of \(AudienceCount.grouped($0))" } ?? ""
        return ["message \(message.shown("id"))  \(message.shown("state"))"]
            + MessageSummary(message, zone: zone).lines + ["  pushes sent so far: \(sent)\(whole)"]
    }

    package var question: String {
        "Cancel the message \(message.shown("id")), \(MessageSummary(message, zone: zone).title)? Pushes that were not "
            + "sent yet will not be sent."
    }
}

extension GatewayClient {
    /// Unfinished messages are among the newest ones, so the search ends after so many.
    private static let searchedMax = 1_000
    private static let searchedAtOnce = 100

    /// The id of the newest message that has not ended.
    ///
    /// - Parameter path: the app's messages.
    func newestUnfinished(_ path: String) async throws(CommandFault) -> String {
        var cursor: String?
        var searched = 0
        repeat {
            let page = try await list(path, of: .message, from: cursor, limit: Self.searchedAtOnce)
            let ended = ["finished", "cancelled"]
            if let found = page.items.first(where: { !ended.contains($0.shown("state")) }) { return found.shown("id") }
            searched += Self.searchedAtOnce
            cursor = page.next
        } while cursor != nil && searched < Self.searchedMax
        throw CommandFault(.failed, "no message to cancel: every one of the newest messages has ended")
    }
}
