import Basis

/// An event of a server session. Byte ranges are valid until `nextEvent()` returns nil.
package enum HTTP2ServerEvent: Sendable {
    /// A whole request has arrived, to be answered with `submitResponse`.
    case request(HTTP2Request)
    /// The stream is over: answered, or reset by either side. It takes no more frames.
    case closed(streamID: Int32, code: HTTP2ErrorCode)
    case goAway(lastStreamID: Int32, code: HTTP2ErrorCode, debugBytes: ByteRange)
    /// The client applies the oldest submitted SETTINGS that it had not yet acknowledged.
    case settingsAcknowledged
    case pingAnswered(payload: UInt64)
}

/// One request, read to its end. `HTTP2ServerSession.value(of:in:)` finds its fields.
package struct HTTP2Request: Sendable {
    package let streamID: Int32
    /// The request's first field within the session's event fields.
    let fieldsStart: Int
    package let fieldCount: Int
    /// The kept body, at most `requestBodyBytesMax`.
    package let body: ByteRange
    /// The size of the whole body, kept or not.
    package let bodyBytes: Int
}

package struct HTTP2ServerSettings: Sendable {
    package enum KeptFields: Sendable {
        case all
        /// Keeps `apns-id`, and a `:method` or `:path` that shows that the request is no push (not POST, not below
        /// `/3/`). Requests are not checked against HTTP's rules either: for a server that only has to be fast.
        case pushIdentity
    }

    package var keptFields = KeptFields.all
    /// The limit announced in the first SETTINGS.
    package var streamLimit: UInt32 = 1_000
    /// The kept part of a request's body. Further bytes are counted and dropped.
    package var requestBodyBytesMax: Int = 16_384
    /// The announced limit, counting name, value and 32 bytes per field. A larger request is reset.
    package var requestHeaderBytesMax: Int = 8_000
    package var streamWindowBytes: UInt32 = 65_535
    package var connectionWindowBytes: Int32 = 1_048_576
    package init() {}
}
