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
    /// An app has few unfinished messages: its backlog of broadcasts ends at a thousand by default.
    private static let searchedMax = 1_000
    private static let unfinished = ["accepted", "scheduled", "planning", "sending", "paused"]

    /// The id of the unfinished broadcast that was accepted last, else of the last message to named receivers: an app
    /// may send many of those meanwhile. The id does not tell: it has the time of sending.
    ///
    /// - Parameter path: the app's messages.
    func newestUnfinished(_ path: String) async throws(CommandFault) -> String {
        var found: [JSONValue] = []
        for state in Self.unfinished {
            found += try await list(path, [("state", state)], of: .message, limit: Self.searchedMax).items
        }
        let open = found.filter { Self.unfinished.contains($0.shown("state")) }
        let broadcasts = open.filter(\.isBroadcast)
        let candidates = broadcasts.isEmpty ? open : broadcasts
        guard let newest = candidates.max(by: { Self.acceptance($0) < Self.acceptance($1) }) else {
            throw CommandFault(.failed, "no message to cancel: every one of the app's messages has ended")
        }
        return newest.shown("id")
    }

    /// The time without its Z: a text with fewer digits comes first then, as the time does.
    private static func acceptance(_ message: JSONValue) -> Substring { message.shown("accepted_at").dropLast() }
}

extension JSONValue {
    /// Whether a listed message is for an audience that names no receivers. An older gateway does not tell.
    fileprivate var isBroadcast: Bool {
        guard let asked = object?["asked"]?.object else { return false }
        return ["installations", "users", "tokens"].allSatisfy { asked[$0] == nil }
    }
}
