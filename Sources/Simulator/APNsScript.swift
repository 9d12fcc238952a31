import HTTP2
import PushModel

/// How a stand-in misbehaves, and when. Replaced as a whole, at any moment, also for connections that are open.
package struct APNsScript: Sendable {
    /// Every answer comes so late.
    package var answerDelay: Duration = .zero
    /// Added to the stand-in's clock: to let provider tokens age.
    package var clockOffset: Duration = .zero
    package var faults: [ScriptedFault] = []

    package init(
        answerDelay: Duration = .zero, clockOffset: Duration = .zero, faults: [ScriptedFault] = []
    ) {
        self.answerDelay = answerDelay
        self.clockOffset = clockOffset
        self.faults = faults
    }
}

/// One misbehaviour, at certain requests of each connection.
///
/// Requests are counted per connection, from 1, since the script was given. The faulty request itself is not
/// processed, except where its kind says otherwise.
package struct ScriptedFault: Sendable {
    package enum Kind: Sendable {
        case goAway(ScriptedGoAway)
        /// RST_STREAM on this request.
        case reset(HTTP2ErrorCode)
        /// A SETTINGS frame with this stream limit; the request is processed.
        case streamLimit(UInt32)
        /// This refusal instead of a judgement.
        case refuse(APNsRefusal)
        /// Processed and kept, but never answered.
        case silence
        /// Neither reads nor answers from now on; the connection stays open.
        case stall
        /// Closes without a word.
        case close
        /// A TCP reset.
        case drop
        /// Bytes that are no frames.
        case garbage
        /// The beginning of a DATA frame whose rest never comes; stalls.
        case halfFrame
        /// An answer with 60,000 bytes of header.
        case hugeHeader
    }

    package var kind: Kind
    /// The first request that it hits. 0: the connection's opening, before any request (goAway, streamLimit, stall,
    /// close, drop, garbage).
    package var first: Int
    /// Then every so many requests of the same connection; nil: once a connection.
    package var every: Int?
    /// Over all connections; nil: no end.
    package var times: Int?

    package init(_ kind: Kind, at first: Int, every: Int? = nil, times: Int? = nil) {
        precondition(first >= 0 && (every ?? 1) > 0 && (times ?? 1) > 0)
        self.kind = kind
        self.first = first
        self.every = every
        self.times = times
    }

    func hits(request number: Int) -> Bool {
        guard number > first, first > 0, let every else { return number == first }
        return (number - first) % every == 0
    }
}

package struct ScriptedGoAway: Sendable {
    package enum Closing: Sendable {
        /// The socket stays open: the client's to close.
        case never
        case whenAnswered
        /// What was not answered yet never is.
        case atOnce
    }

    /// Becomes `{"reason":"..."}`.
    package var reason: String?
    package var code: HTTP2ErrorCode
    /// Says first that a goodbye comes, and processes what arrives until then.
    package var noticeBefore: Duration?
    package var closing: Closing

    package init(
        reason: String? = nil, code: HTTP2ErrorCode = .noError, noticeBefore: Duration? = nil,
        closing: Closing = .whenAnswered
    ) {
        self.reason = reason
        self.code = code
        self.noticeBefore = noticeBefore
        self.closing = closing
    }

    var debug: [UInt8] { reason.map { Array(#"{"reason":"\#($0)"}"#.utf8) } ?? [] }
}
