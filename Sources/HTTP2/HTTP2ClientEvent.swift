import Basis

/// An event of a client session. Byte ranges are valid until `nextEvent()` returns nil.
package enum HTTP2ClientEvent: Sendable {
    /// A request has ended. Each submitted request ends exactly once, this way.
    case ended(HTTP2Answer)
    /// The peer accepts no new requests. Streams above `lastStreamID` end as `refused` right after this event.
    case goAway(lastStreamID: Int32, code: HTTP2ErrorCode, debugBytes: ByteRange)
    /// The peer's SETTINGS frame allows this many concurrent streams.
    case settingsChanged(streamLimit: Int)
    case pingAnswered(payload: UInt64)
}

package struct HTTP2Answer: Sendable {
    package enum Conclusion: Equatable, Sendable {
        /// The whole answer has arrived.
        case complete
        /// The peer did not process the request: it sent REFUSED_STREAM, or a GOAWAY with a lower last stream.
        case refused
        /// No byte of the request left: the connection was lost or exhausted before.
        case unsent
        /// The peer reset the stream, or nghttp2 did because the peer broke the protocol on it.
        case reset(HTTP2ErrorCode)
        /// The caller reset the stream.
        case cancelled
        /// The connection ended first. If the request `wasSent`, its result is unknown.
        case lost(wasSent: Bool)
    }

    /// The tag that the caller gave with the request.
    package let tag: UInt64
    package let streamID: Int32
    package let conclusion: Conclusion
    /// The final status, or 0 if none arrived. It may be set even if the conclusion is not `complete`.
    package let status: UInt16
    package let retryAfter: ByteRange
    package let apnsID: ByteRange
    package let date: ByteRange
    /// The kept body, at most `responseBodyBytesMax`.
    package let body: ByteRange
    /// The size of the whole body, kept or not.
    package let bodyBytes: Int
}

package struct HTTP2ClientSettings: Sendable {
    /// The stream limit before the peer's first SETTINGS: 1 towards APNs with a provider token.
    package var streamLimitAtStart: Int = 1
    /// Our own limit on open streams, applied below the peer's.
    package var streamsMax: Int = 1_000
    /// The kept part of an answer's body. Further bytes are counted and dropped.
    package var responseBodyBytesMax: Int = 4_096
    /// Counts name, value and 32 bytes per field. A larger answer is reset.
    package var responseHeaderBytesMax: Int = 16_384
    /// Whether answers with status 200 also keep `apns-id`, `retry-after` and `date`. Off saves a copy per push.
    package var keepsHeadersOfSuccess = false
    package var streamWindowBytes: UInt32 = 262_144
    package var connectionWindowBytes: Int32 = 1_048_576
    package init() {}
}
