import JSON

/// A stand-in's counts since its start or its last reset.
package struct SimulatorSummary: Equatable, Sendable {
    package struct Refusals: Equatable, Sendable {
        package let status: Int
        package let reason: String
        package var count: Int
    }

    package var connectionsOpened = 0
    package var connectionsOpen = 0
    package var handshakesFailed = 0
    /// Pushes that arrived whole, whatever their result.
    package var requests = 0
    /// Processed, and answered 200 (unless the script or the token loses the answer).
    package var accepted = 0
    /// By status, then reason.
    package var refused: [Refusals] = []
    package var reset = 0
    package var unanswered = 0
    package var goAways = 0
    package var faults = 0
    /// FCM messages that were only validated (`validate_only`) and found valid.
    package var dryRuns = 0
    /// Requests for access tokens: a sender needs one an hour.
    package var accessTokensAsked = 0
    package var accessTokensIssued = 0
    /// Calls of `iid/v1:batchAdd` and `batchRemove`, and of `.../topicSubscriptions`.
    package var topicCalls = 0
    /// Distinct tokens that received something.
    package var tokens = 0
    /// Pushes accepted a second time under the same `apns-id` for the same token.
    package var repeated = 0
    package var kept = 0
    package var forgotten = 0

    package func refused(_ reason: String) -> Int { refused.filter { $0.reason == reason }.reduce(0) { $0 + $1.count } }

    mutating func countRefusal(_ status: Int, _ reason: String) {
        if let place = refused.firstIndex(where: { $0.status == status && $0.reason == reason }) {
            refused[place].count += 1
        } else {
            refused.append(Refusals(status: status, reason: reason, count: 1))
            refused.sort { ($0.status, $0.reason) < ($1.status, $1.reason) }
        }
    }

    var json: [UInt8] {
        let summary: JSONValue = [
            "connections_opened": .integer(connectionsOpened), "connections_open": .integer(connectionsOpen),
            "faults": .integer(faults), "handshakes_failed": .integer(handshakesFailed),
            "requests": .integer(requests), "accepted": .integer(accepted),
            "refused": .array(
                refused.map {
                    ["status": .integer($0.status), "reason": .string($0.reason), "count": .integer($0.count)]
                }),
            "reset": .integer(reset), "unanswered": .integer(unanswered), "goaways": .integer(goAways),
            "dry_runs": .integer(dryRuns), "access_tokens_asked": .integer(accessTokensAsked),
            "access_tokens_issued": .integer(accessTokensIssued), "topic_calls": .integer(topicCalls),
            "tokens": .integer(tokens), "repeated": .integer(repeated), "kept": .integer(kept),
            "forgotten": .integer(forgotten),
        ]
        return summary.bytes
    }
}
