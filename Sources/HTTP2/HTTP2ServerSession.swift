import Basis
import CNGHTTP2

/// The server's side of one HTTP/2 connection: bytes in, events out. It has no socket, TLS or clock.
///
/// Owned by one thread. One round: `receive` what arrived; `nextEvent` until nil, answering with `submitResponse`;
/// `takeOutput` and write it.
@safe package final class HTTP2ServerSession {
    private let native: NativeSession
    /// Freed in `deinit`. `nghttp2_session_del` runs after it and calls no callback.
    private let notes: UnsafeMutablePointer<ServerNotes>
    private var fields: [nghttp2_nv] = unsafe []
    private var eventsRead = 0
    private var isLeaving = false

    package init(_ settings: HTTP2ServerSettings) throws(HTTP2Fault) {
        let notes = UnsafeMutablePointer<ServerNotes>.allocate(capacity: 1)
        unsafe notes.initialize(to: ServerNotes(settings: settings))
        do throws(HTTP2Fault) {
            unsafe native = try NativeSession(ServerCallbacks.make()) { session, callbacks, option in
                unsafe nghttp2_option_set_no_http_messaging(option, settings.keptFields == .pushIdentity ? 1 : 0)
                return unsafe nghttp2_session_server_new2(&session, callbacks, notes, option)
            }
        } catch {
            unsafe notes.pointee.deallocate()
            unsafe notes.deinitialize(count: 1)
            unsafe notes.deallocate()
            throw error
        }
        unsafe self.notes = unsafe notes
        try native.settings([
            .streamsMax(settings.streamLimit), .streamWindowBytes(settings.streamWindowBytes),
            .headerListBytesMax(UInt32(settings.requestHeaderBytesMax)), .noPriorityTree,
        ])
        try native.openWindow(bytes: settings.connectionWindowBytes)
    }

    deinit {
        unsafe notes.pointee.deallocate()
        unsafe notes.deinitialize(count: 1)
        unsafe notes.deallocate()
    }

    package var openStreams: Int { unsafe notes.pointee.slots.openCount }
    /// The last stream that a GOAWAY must name to refuse no stream that has begun.
    package var highestStreamID: Int32 { unsafe notes.pointee.highestStreamID }

    /// Submits a response. Copies everything; `headers` opens with `:status`. A body of up to 16 KiB fits one DATA
    /// frame.
    package func submitResponse(_ streamID: Int32, _ headers: HeaderList, body: Span<UInt8>) throws(HTTP2Fault) {
        guard streamID > 0, !native.isBroken, let place = unsafe SlotMark.place(native.pointer, streamID)
        else { throw .streamUnknown }
        let slot = unsafe notes.pointee.slots.base + place
        unsafe slot.pointee.response.forget()
        unsafe body.withUnsafeBufferPointer { unsafe slot.pointee.response.append($0.baseAddress, $0.count) }
        var provider = unsafe nghttp2_data_provider()
        unsafe provider.source.fd = Int32(place)
        unsafe provider.read_callback = ServerCallbacks.readBody
        let hasBody = !body.isEmpty
        try unsafe headers.withFields(&fields) { fields in
            unsafe withUnsafePointer(to: &provider) { provider in
                unsafe nghttp2_submit_response(
                    native.pointer, streamID, fields.baseAddress, fields.count, hasBody ? provider : nil)
            }
        }.orThrow()
    }

    package func reset(_ streamID: Int32, _ code: HTTP2ErrorCode) throws(HTTP2Fault) {
        try native.reset(streamID, code)
    }

    /// Submits SETTINGS. A lower stream limit refuses the client's further streams; open ones stay.
    package func submitSettings(_ settings: [HTTP2Setting]) throws(HTTP2Fault) { try native.settings(settings) }

    package func submitPing(_ payload: UInt64) throws(HTTP2Fault) { try native.ping(payload) }

    /// Announces a shutdown and refuses no stream yet, not even one on its way to us. Does nothing after a GOAWAY,
    /// because a later one never names a higher stream.
    package func submitShutdownNotice() throws(HTTP2Fault) {
        if !isLeaving { try native.shutdownNotice() }
    }

    /// Submits a GOAWAY. Streams above `lastStreamID` are not processed and close; the others may still be answered.
    package func submitGoAway(
        lastStreamID: Int32, _ code: HTTP2ErrorCode = .noError, debug: [UInt8] = []
    ) throws(HTTP2Fault) {
        isLeaving = true
        try native.goAway(lastStreamID: lastStreamID, code, debug: debug)
    }

    package var wantsWrite: Bool { native.wantsWrite }
    /// Whether no more bytes will come or go: close the socket.
    package var isFinished: Bool { !native.wantsRead && !native.wantsWrite }
    package var goAwaySent: HTTP2ErrorCode? { unsafe notes.pointee.goAwaySent }

    /// Throws if the peer broke the protocol beyond a GOAWAY; then close the socket.
    package func receive(_ bytes: Span<UInt8>) throws(HTTP2Fault) { try native.receive(bytes) }

    /// Appends frames until `output` holds `bytesMax`, exceeding it by at most one frame (16 KiB).
    package func takeOutput(into output: inout [UInt8], atMost bytesMax: Int) throws(HTTP2Fault) {
        while output.count < bytesMax, let frame = unsafe try native.nextFrame() {
            unsafe output.append(contentsOf: frame)
        }
    }

    package func nextEvent() -> HTTP2ServerEvent? {
        if unsafe eventsRead < notes.pointee.events.count {
            eventsRead += 1
            return unsafe notes.pointee.events[eventsRead - 1]
        }
        eventsRead = 0
        unsafe notes.pointee.events.removeAll(keepingCapacity: true)
        unsafe notes.pointee.eventBytes.removeAll(keepingCapacity: true)
        unsafe notes.pointee.eventFields.removeAll(keepingCapacity: true)
        return nil
    }

    /// The value of the request's first field with this name (lower case); nil if there is none.
    package func value(of name: StaticString, in request: HTTP2Request) -> ByteRange? {
        fields(of: request).first { isName($0.name, name) }?.value
    }

    package func fields(of request: HTTP2Request) -> ArraySlice<HeaderList.Field> {
        unsafe notes.pointee.eventFields[request.fieldsStart..<(request.fieldsStart + request.fieldCount)]
    }

    package func withBytes<Result>(_ place: ByteRange, _ read: (Span<UInt8>) throws -> Result) rethrows -> Result {
        try unsafe read(notes.pointee.eventBytes.span.extracting(place.range))
    }

    package func bytes(_ place: ByteRange) -> [UInt8] { unsafe Array(notes.pointee.eventBytes[place.range]) }

    private func isName(_ place: ByteRange, _ name: StaticString) -> Bool {
        guard Int(place.count) == name.utf8CodeUnitCount else { return false }
        return unsafe notes.pointee.eventBytes.withUnsafeBufferPointer {
            unsafe UnsafeBufferPointer(rebasing: $0[place.range]).isText(name)
        }
    }
}

@available(*, unavailable) extension HTTP2ServerSession: Sendable {}
