import Basis

/// What a server session has to tell. Byte ranges are valid until the events are used up (`nextEvent()` gave nil).
package enum HTTP2ServerEvent: Sendable {
    /// A whole request is here, to be answered with `submitResponse`.
    case request(HTTP2Request)
    /// The stream is over: answered, or reset by either side. Nothing can be submitted on it any more.
    case closed(streamID: Int32, code: HTTP2ErrorCode)
    case goAway(lastStreamID: Int32, code: HTTP2ErrorCode, debugBytes: ByteRange)
    /// The client follows the SETTINGS that were submitted first among those not yet acknowledged.
    case settingsAcknowledged
    case pingAnswered(payload: UInt64)
}

/// One request, read to its end. `HTTP2ServerSession.value(of:in:)` finds its fields.
package struct HTTP2Request: Sendable {
    package let streamID: Int32
    /// Which of the session's event fields are this request's.
    let fieldsStart: Int
    package let fieldCount: Int
    /// At most `requestBodyBytesMax`.
    package let body: ByteRange
    /// Of the whole body, kept or not.
    package let bodyBytes: Int
}

package struct HTTP2ServerSettings: Sendable {
    package enum KeptFields: Sendable {
        case all
        /// `apns-id`, and what tells a request that is no push (`:method` other than POST, `:path` not below `/3/`).
        /// Requests are not checked against HTTP's rules either: for a server that only has to be fast.
        case pushIdentity
    }

    package var keptFields = KeptFields.all
    /// Announced in the first SETTINGS.
    package var streamLimit: UInt32 = 1_000
    /// What is kept of a request's body; more is counted and dropped.
    package var requestBodyBytesMax: Int = 16_384
    /// Announced; name, value and 32 bytes a field. A request beyond it is reset.
    package var requestHeaderBytesMax: Int = 8_000
    package var streamWindowBytes: UInt32 = 65_535
    package var connectionWindowBytes: Int32 = 1_048_576
    package init() {}
}
