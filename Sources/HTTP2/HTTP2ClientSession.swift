import Basis
import CNGHTTP2

/// The client's side of one HTTP/2 connection: bytes in, events out. It has no socket, TLS or clock.
///
/// Owned by one thread. One round: `submitRequest` while `mayOpen`; `takeOutput` and write it; `receive` what arrived;
/// then `nextEvent` until nil. When the connection is gone, `connectionLost()` ends every open request.
@safe package final class HTTP2ClientSession {
    let native: NativeSession
    /// Freed in `deinit`. `nghttp2_session_del` runs after it and calls no callback.
    let notes: UnsafeMutablePointer<ClientNotes>
    var encoder = HeaderEncoder()
    private var eventsRead = 0
    private var isLeaving = false

    package init(_ settings: HTTP2ClientSettings) throws(HTTP2Fault) {
        let notes = UnsafeMutablePointer<ClientNotes>.allocate(capacity: 1)
        unsafe notes.initialize(to: ClientNotes(settings: settings))
        do throws(HTTP2Fault) {
            unsafe native = try NativeSession(ClientCallbacks.make()) { session, callbacks, option in
                unsafe nghttp2_option_set_peer_max_concurrent_streams(option, UInt32(settings.streamLimitAtStart))
                return unsafe nghttp2_session_client_new2(&session, callbacks, notes, option)
            }
        } catch {
            unsafe notes.pointee.deallocate()
            unsafe notes.deinitialize(count: 1)
            unsafe notes.deallocate()
            throw error
        }
        unsafe self.notes = unsafe notes
        try native.settings([
            .pushDisabled, .streamWindowBytes(settings.streamWindowBytes),
            .headerListBytesMax(UInt32(settings.responseHeaderBytesMax)), .noPriorityTree,
        ])
        try native.openWindow(bytes: settings.connectionWindowBytes)
    }

    deinit {
        unsafe notes.pointee.deallocate()
        unsafe notes.deinitialize(count: 1)
        unsafe notes.deallocate()
    }

    /// Requests that have not ended.
    package var openStreams: Int { unsafe notes.pointee.slots.openCount }

    /// The peer's limit on concurrent streams; huge if it set none.
    package var peerStreamLimit: Int { unsafe notes.pointee.peerStreamLimit }

    /// The number of requests that may be submitted now; 0 after a GOAWAY of either side.
    package var room: Int {
        guard !native.isBroken, !isLeaving, unsafe !notes.pointee.goAwayReceived,
            unsafe nghttp2_session_check_request_allowed(native.pointer) != 0
        else { return 0 }
        return unsafe max(0, min(notes.pointee.peerStreamLimit, notes.pointee.settings.streamsMax) - openStreams)
    }
    package var mayOpen: Bool { room > 0 }

    /// The stream ids left of about a billion. At 0 the connection has to be replaced.
    package var streamIDsLeft: Int {
        let next = unsafe nghttp2_session_get_next_stream_id(native.pointer)
        return next > UInt32(Int32.max) ? 0 : (Int(Int32.max) - Int(next)) / 2 + 1
    }

    /// Submits a request. Copies everything; `tag` comes back with the request's end.
    @discardableResult
    package func submitRequest(_ headers: HeaderList, body: Span<UInt8>, tag: UInt64) throws(HTTP2Fault) -> Int32 {
        try submitRequest(headers, prefix: Span(), body: body, suffix: Span(), tag: tag)
    }

    /// Submits a request whose body has three parts. The outer parts are shared by many requests.
    package func submitRequest(
        _ headers: HeaderList, prefix: Span<UInt8>, body: Span<UInt8>, suffix: Span<UInt8>, tag: UInt64
    ) throws(HTTP2Fault) -> Int32 {
        guard mayOpen else {
            throw unsafe native.isBroken || isLeaving || notes.pointee.goAwayReceived || streamIDsLeft == 0
                ? .requestsNotAllowed : .streamLimitReached
        }
        guard headers.blockBytesMax <= HTTP2ClientSession.headerBlockBytesMax else { throw .headersTooLong }
        let place = unsafe notes.pointee.begin(tag: tag, headers)
        unsafe notes.pointee.appendBody(place, prefix)
        unsafe notes.pointee.appendBody(place, body)
        unsafe notes.pointee.appendBody(place, suffix)
        let isEmpty = prefix.isEmpty && body.isEmpty && suffix.isEmpty
        var provider = unsafe nghttp2_data_provider()
        unsafe provider.source.fd = Int32(place)
        unsafe provider.read_callback = ClientCallbacks.readBody
        // nghttp2 gets one stand-in field; `takeOutput` replaces it with the real header block.
        let streamID = unsafe StandIn.withField { field in
            unsafe withUnsafePointer(to: &provider) { provider in
                unsafe nghttp2_submit_request(
                    native.pointer, nil, field, 1, isEmpty ? nil : provider, SlotMark.pointer(place))
            }
        }
        guard streamID > 0 else {
            unsafe notes.pointee.release(place)
            throw .library(LibraryCode(rawValue: streamID))
        }
        unsafe (notes.pointee.slots.base + place).pointee.streamID = streamID
        return streamID
    }

    /// The final status of an answer that has begun; 0 if none has arrived or the request is unknown.
    package func status(of streamID: Int32) -> UInt16 {
        guard streamID > 0, let place = unsafe notes.pointee.place(of: streamID) else { return 0 }
        let status = unsafe (notes.pointee.slots.base + place).pointee.status
        return status >= 200 ? status : 0
    }

    /// Cancels a request; repeated calls do nothing. It ends as `cancelled` once the output has taken the RST_STREAM.
    package func reset(_ streamID: Int32, _ code: HTTP2ErrorCode = .cancel) throws(HTTP2Fault) {
        guard streamID > 0, !native.isBroken,
            let place = unsafe SlotMark.place(native.pointer, streamID) ?? notes.pointee.place(of: streamID)
        else { throw .streamUnknown }
        // A first reset takes back a request that has not left. A second one would make nghttp2 reset a stream that the
        // peer never saw, which ends the connection.
        let slot = unsafe notes.pointee.slots.base + place
        if unsafe slot.pointee.isCancelled || slot.pointee.isUnsent { return }
        unsafe slot.pointee.isCancelled = true
        try native.reset(streamID, code)
    }

    /// Whether the output has taken the request, so that bytes of it may have left. A request reset before that never
    /// leaves.
    package func wasTaken(_ streamID: Int32) -> Bool { unsafe streamID <= notes.pointee.highestSentStreamID }

    /// Ends every open request, because the connection is gone. The session is of no further use.
    package func connectionLost() { unsafe notes.pointee.endAll() }

    package var wantsWrite: Bool { native.wantsWrite }
    /// Whether no more bytes will come or go: close the socket. If the peer broke the protocol, requests may still be
    /// open, and `connectionLost()` ends them.
    package var isFinished: Bool { !native.wantsRead && !native.wantsWrite }
    /// The code of the GOAWAY that we sent, if any: `noError`, or the rule that the peer broke.
    package var goAwaySent: HTTP2ErrorCode? { unsafe notes.pointee.goAwaySent }

    /// Throws if the peer broke the protocol beyond a GOAWAY; then call `connectionLost()`.
    package func receive(_ bytes: Span<UInt8>) throws(HTTP2Fault) { try native.receive(bytes) }

    package func submitPing(_ payload: UInt64) throws(HTTP2Fault) { try native.ping(payload) }

    /// Announces that no request of ours follows. Requests that have not left are taken back, because peers ignore
    /// requests behind a GOAWAY.
    package func submitGoAway(_ code: HTTP2ErrorCode = .noError) throws(HTTP2Fault) {
        isLeaving = true
        for streamID in unsafe notes.pointee.takeUnsent() { try native.reset(streamID, .cancel) }
        try native.goAway(lastStreamID: 0, code, debug: [])
    }

    package func nextEvent() -> HTTP2ClientEvent? {
        if unsafe eventsRead < notes.pointee.events.count {
            eventsRead += 1
            return unsafe notes.pointee.events[eventsRead - 1]
        }
        eventsRead = 0
        unsafe notes.pointee.events.removeAll(keepingCapacity: true)
        unsafe notes.pointee.eventBytes.removeAll(keepingCapacity: true)
        return nil
    }

    /// Calls `read` with the bytes that an event points at, which it must not keep.
    package func withBytes<Result>(_ place: ByteRange, _ read: (Span<UInt8>) throws -> Result) rethrows -> Result {
        try unsafe read(notes.pointee.eventBytes.span.extracting(place.range))
    }

    package func bytes(_ place: ByteRange) -> [UInt8] { unsafe Array(notes.pointee.eventBytes[place.range]) }
}

@available(*, unavailable) extension HTTP2ClientSession: Sendable {}
