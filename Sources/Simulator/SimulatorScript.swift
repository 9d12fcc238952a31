import HTTP2
import JSON

/// A script of misbehaviours. Replaced as a whole, at any moment, also for connections that are open.
package struct SimulatorScript: Sendable {
    package var answerDelay: Duration = .zero
    /// Added to the stand-in's clock: to let provider tokens and access tokens age.
    package var clockOffset: Duration = .zero
    package var faults: [ScriptedFault] = []

    package init(answerDelay: Duration = .zero, clockOffset: Duration = .zero, faults: [ScriptedFault] = []) {
        (self.answerDelay, self.clockOffset, self.faults) = (answerDelay, clockOffset, faults)
    }
}

/// The stand-in's endpoint that a fault hits. Requests are counted separately for each.
package enum ScriptedEndpoint: Int, CaseIterable, Sendable {
    /// `/3/device/...`, `messages:send`.
    case push
    /// Google's `/token`.
    case accessToken
    /// Google's `iid/v1:batchAdd` and `batchRemove`, and `.../topicSubscriptions`.
    case topics
}

/// One misbehaviour, at certain requests of each connection.
///
/// Requests are counted per connection and endpoint, from 1, since the script was given. The faulty request itself is
/// not processed, unless its kind says otherwise. HTTP/1.1 has no frames: there a GOAWAY and a reset stream close the
/// connection, and a stream limit has no effect.
package struct ScriptedFault: Sendable {
    package enum Kind: Sendable {
        case goAway(ScriptedGoAway)
        case reset(HTTP2ErrorCode)
        /// A SETTINGS frame with this stream limit; the request is processed.
        case streamLimit(UInt32)
        case answer(ScriptedAnswer)
        case slow(Duration)
        /// Processed and kept, but never answered.
        case silence
        /// Neither reads nor answers from now on; the connection stays open.
        case stall
        case close
        case drop
        case garbage
        /// The beginning of a DATA frame that is never completed; then the connection stalls.
        case halfFrame
        /// An answer with 60,000 bytes of header.
        case hugeHeader
    }

    package var kind: Kind
    package var endpoint = ScriptedEndpoint.push
    /// The first request that it hits. 0: the connection's opening, before any request is processed (goAway,
    /// streamLimit, stall, close, drop, garbage).
    package var first: Int
    /// The interval, in requests of the same connection, of further hits; nil: one hit per connection.
    package var every: Int?
    /// The most hits over all connections; nil: no limit.
    package var times: Int?

    package init(
        _ kind: Kind, endpoint: ScriptedEndpoint = .push, at first: Int, every: Int? = nil, times: Int? = nil
    ) {
        precondition(first >= 0 && (every ?? 1) > 0 && (times ?? 1) > 0)
        (self.kind, self.endpoint, self.first, self.every, self.times) = (kind, endpoint, first, every, times)
    }

    func hits(request number: Int) -> Bool {
        guard number > first, first > 0, let every else { return number == first }
        return (number - first) % every == 0
    }
}

package struct ScriptedAnswer: Equatable, Sendable {
    package var status: Int
    /// The reason in the summary, and in the body if the script gives none.
    package var reason: String
    package var headers: [HeaderLine]
    /// nil: the provider's own form.
    package var body: [UInt8]?

    package init(status: Int, reason: String = "", headers: [HeaderLine] = [], body: [UInt8]? = nil) {
        (self.status, self.reason, self.headers, self.body) = (status, reason, headers, body)
    }
}

/// A script's immediate action, once, on every open connection except the one that asks and those that never asked
/// the provider, but the stand-in's own endpoints.
package enum ScriptedAction: Sendable {
    case fault(ScriptedFault.Kind)
    case revokeAccessTokens
}

package struct ScriptedGoAway: Sendable {
    package enum Closing: Sendable {
        /// The socket stays open until the client closes it.
        case never
        case whenAnswered
        /// Requests without an answer never get one.
        case atOnce
    }

    /// Becomes `{"reason":"..."}`.
    package var reason: String?
    package var code: HTTP2ErrorCode
    /// The time between a shutdown notice and the GOAWAY; requests that arrive until then are processed.
    package var noticeBefore: Duration?
    package var closing: Closing

    package init(
        reason: String? = nil, code: HTTP2ErrorCode = .noError, noticeBefore: Duration? = nil,
        closing: Closing = .whenAnswered
    ) { (self.reason, self.code, self.noticeBefore, self.closing) = (reason, code, noticeBefore, closing) }

    var debug: [UInt8] { reason.map { (["reason": .string($0)] as JSONValue).bytes } ?? [] }
}
