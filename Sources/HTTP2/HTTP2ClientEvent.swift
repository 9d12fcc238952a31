import Basis

/// What a client session has to tell. Byte ranges are valid until the events are used up (`nextEvent()` gave nil).
package enum HTTP2ClientEvent: Sendable {
    /// A request has ended. Each submitted request ends exactly once, this way.
    case ended(HTTP2Answer)
    /// The peer opens no door for new requests. Its streams above `lastStreamID` end as `refused` right after this.
    case goAway(lastStreamID: Int32, code: HTTP2ErrorCode, debugBytes: ByteRange)
    /// A SETTINGS frame of the peer: this many streams at once.
    case settingsChanged(streamLimit: Int)
    case pingAnswered(payload: UInt64)
}

/// How one request ended.
package struct HTTP2Answer: Sendable {
    package enum Conclusion: Equatable, Sendable {
        /// The whole answer is here.
        case complete
        /// The peer says that it processed nothing: REFUSED_STREAM, or above the last stream of a GOAWAY.
        case refused
        /// The request never became bytes: the connection went away or ran out before.
        case unsent
        /// The peer reset the stream; or broke the protocol on it, and nghttp2 did.
        case reset(HTTP2ErrorCode)
        /// We reset it ourselves.
        case cancelled
        /// The connection ended first. Where the request `wasSent`, nobody knows what became of it.
        case lost(wasSent: Bool)
    }

    /// What the caller gave with the request.
    package let tag: UInt64
    package let streamID: Int32
    package let conclusion: Conclusion
    /// 0 where no final status arrived; may be there although the ending is not `complete`.
    package let status: UInt16
    package let retryAfter: ByteRange
    package let apnsID: ByteRange
    package let date: ByteRange
    /// At most `responseBodyBytesMax`.
    package let body: ByteRange
    /// Of the whole body, kept or not.
    package let bodyBytes: Int
}

package struct HTTP2ClientSettings: Sendable {
    /// Streams to open before the peer's first SETTINGS: 1 towards APNs with a provider token.
    package var streamLimitAtStart: Int = 1
    /// Our own bound on open streams, whatever the peer allows.
    package var streamsMax: Int = 1_000
    /// What is kept of an answer's body; more is counted and dropped.
    package var responseBodyBytesMax: Int = 4_096
    /// Name, value and 32 bytes a field. An answer beyond it is reset.
    package var responseHeaderBytesMax: Int = 16_384
    /// `apns-id`, `retry-after` and `date` of answers with status 200 too. Off: only of others, a copy less per push.
    package var keepsHeadersOfSuccess = false
    package var streamWindowBytes: UInt32 = 262_144
    package var connectionWindowBytes: Int32 = 1_048_576
    package init() {}
}
