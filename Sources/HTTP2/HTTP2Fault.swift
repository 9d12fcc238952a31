/// The reason why a session could not do what was asked.
package enum HTTP2Fault: Error, Equatable, Sendable {
    /// The session takes no more requests: a GOAWAY was sent or received, stream ids ran out, or the connection broke.
    case requestsNotAllowed
    /// The peer's limit or ours on open streams is reached. Later requests may pass.
    case streamLimitReached
    /// The header fields don't fit in one frame (`HeaderList.blockBytesMax`).
    case headersTooLong
    /// The stream is closed or never existed.
    case streamUnknown
    /// The peer broke the protocol beyond repair, or the library refused an argument. The session is over.
    case library(LibraryCode)
}

/// nghttp2's own result code. An open space: new versions add some.
package struct LibraryCode: Hashable, Sendable, CustomStringConvertible {
    package let rawValue: Int32
    package init(rawValue: Int32) { self.rawValue = rawValue }
    package var description: String { "nghttp2 \(rawValue)" }

    package static let outOfMemory = LibraryCode(rawValue: -901)
}

/// The reason why a stream or connection ended, named as in the protocol. An open space.
/// Source: RFC 9113, section 7.
package struct HTTP2ErrorCode: Hashable, Sendable, CustomStringConvertible {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    package static let noError = HTTP2ErrorCode(rawValue: 0)
    package static let internalError = HTTP2ErrorCode(rawValue: 2)
    package static let refusedStream = HTTP2ErrorCode(rawValue: 7)
    package static let cancel = HTTP2ErrorCode(rawValue: 8)

    private static let names = [
        "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
        "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
    ]
    /// Finds a code by its name in the protocol, such as INTERNAL_ERROR.
    package init?(name: String) {
        guard let code = Self.names.firstIndex(of: name) else { return nil }
        self.init(rawValue: UInt32(code))
    }

    package var description: String {
        rawValue < UInt32(Self.names.count) ? Self.names[Int(rawValue)] : "HTTP/2 error \(rawValue)"
    }
}
