import CNGHTTP2

/// The owner of one `nghttp2_session`: the parts that client and server share.
///
/// Lives on one thread. The notes that the callbacks write outlive it (see the two sessions).
@safe final class NativeSession {
    let pointer: OpaquePointer
    /// Whether nghttp2 gave up because the protocol was broken. No further call is allowed then.
    private(set) var isBroken = false

    /// - Parameters:
    ///   - callbacks: nghttp2's callbacks, which are freed here; nil: there was no memory for them.
    ///   - create: sets further options, and calls nghttp2's function for a client or a server.
    init(
        _ callbacks: OpaquePointer?,
        _ create: (_ session: inout OpaquePointer?, _ callbacks: OpaquePointer, _ option: OpaquePointer?) -> Int32
    ) throws(HTTP2Fault) {
        guard let callbacks = unsafe callbacks else { throw .library(.outOfMemory) }
        defer { unsafe nghttp2_session_callbacks_del(callbacks) }
        var option: OpaquePointer?
        try unsafe nghttp2_option_new(&option).orThrow()
        defer { unsafe nghttp2_option_del(option) }
        unsafe nghttp2_option_set_no_closed_streams(option, 1)
        var session: OpaquePointer?
        try unsafe create(&session, callbacks, option).orThrow()
        guard let session = unsafe session else { throw .library(.outOfMemory) }
        unsafe pointer = unsafe session
    }

    deinit { unsafe nghttp2_session_del(pointer) }

    var wantsRead: Bool { unsafe !isBroken && nghttp2_session_want_read(pointer) != 0 }
    var wantsWrite: Bool { unsafe !isBroken && nghttp2_session_want_write(pointer) != 0 }

    func receive(_ bytes: Span<UInt8>) throws(HTTP2Fault) {
        guard !isBroken else { throw .requestsNotAllowed }
        let count = unsafe bytes.withUnsafeBufferPointer {
            unsafe nghttp2_session_mem_recv(pointer, $0.baseAddress, $0.count)
        }
        if count < 0 {
            isBroken = true
            throw .library(LibraryCode(rawValue: Int32(truncatingIfNeeded: count)))
        }
    }

    /// The next frame to send (or the client's preface), valid until the next call; nil if there is none.
    func nextFrame() throws(HTTP2Fault) -> UnsafeBufferPointer<UInt8>? {
        guard !isBroken else { return nil }
        var frame: UnsafePointer<UInt8>?
        let count = unsafe nghttp2_session_mem_send(pointer, &frame)
        if count < 0 {
            isBroken = true
            throw .library(LibraryCode(rawValue: Int32(truncatingIfNeeded: count)))
        }
        return unsafe count > 0 ? UnsafeBufferPointer(start: frame, count: count) : nil
    }

    func ping(_ payload: UInt64) throws(HTTP2Fault) {
        var payload = payload.bigEndian
        try unsafe withUnsafeBytes(of: &payload) { bytes in
            unsafe nghttp2_submit_ping(
                pointer, UInt8(NGHTTP2_FLAG_NONE.rawValue), bytes.baseAddress?.assumingMemoryBound(to: UInt8.self))
        }.orThrow()
    }

    func goAway(lastStreamID: Int32, _ code: HTTP2ErrorCode, debug: [UInt8]) throws(HTTP2Fault) {
        try unsafe nghttp2_submit_goaway(
            pointer, UInt8(NGHTTP2_FLAG_NONE.rawValue), lastStreamID, code.rawValue, debug, debug.count
        ).orThrow()
    }

    func shutdownNotice() throws(HTTP2Fault) { try unsafe nghttp2_submit_shutdown_notice(pointer).orThrow() }

    func reset(_ streamID: Int32, _ code: HTTP2ErrorCode) throws(HTTP2Fault) {
        guard streamID > 0 else { throw .streamUnknown }
        try unsafe nghttp2_submit_rst_stream(pointer, UInt8(NGHTTP2_FLAG_NONE.rawValue), streamID, code.rawValue)
            .orThrow()
    }

    func settings(_ settings: [HTTP2Setting]) throws(HTTP2Fault) {
        let entries = settings.map { nghttp2_settings_entry(settings_id: Int32($0.id), value: $0.value) }
        try unsafe nghttp2_submit_settings(pointer, UInt8(NGHTTP2_FLAG_NONE.rawValue), entries, entries.count).orThrow()
    }

    /// Sets the connection's receive window. SETTINGS hold that of a stream.
    func openWindow(bytes: Int32) throws(HTTP2Fault) {
        try unsafe nghttp2_session_set_local_window_size(pointer, UInt8(NGHTTP2_FLAG_NONE.rawValue), 0, bytes).orThrow()
    }
}

extension Int32 {
    /// Throws unless this nghttp2 result code is 0, which means success.
    func orThrow() throws(HTTP2Fault) {
        if self != 0 { throw .library(LibraryCode(rawValue: self)) }
    }
}

/// One entry of a SETTINGS frame. Source: RFC 9113, section 6.5.2; RFC 9218, section 2.1.
package struct HTTP2Setting: Equatable, Sendable {
    package let id: UInt16
    package let value: UInt32
    package init(id: UInt16, value: UInt32) { (self.id, self.value) = (id, value) }

    package static let pushDisabled = HTTP2Setting(id: 2, value: 0)
    package static func streamsMax(_ value: UInt32) -> HTTP2Setting { HTTP2Setting(id: 3, value: value) }
    package static func streamWindowBytes(_ value: UInt32) -> HTTP2Setting { HTTP2Setting(id: 4, value: value) }
    package static func headerListBytesMax(_ value: UInt32) -> HTTP2Setting { HTTP2Setting(id: 6, value: value) }
    /// Neither side uses RFC 7540's priority tree, whose upkeep costs instructions with every request.
    package static let noPriorityTree = HTTP2Setting(id: 9, value: 1)
}
