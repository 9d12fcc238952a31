import CNGHTTP2

enum ClientCallbacks {
    /// Creates the callbacks. The caller frees them with `nghttp2_session_callbacks_del`.
    static func make() -> OpaquePointer? {
        var callbacks: OpaquePointer?
        guard unsafe nghttp2_session_callbacks_new(&callbacks) == 0 else { return nil }
        unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks, onHeader)
        unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, onBody)
        unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, onFrameReceived)
        unsafe nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, onFrameNotSent)
        unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, onStreamClosed)
        return unsafe callbacks
    }

    private static func notes(_ user: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<ClientNotes>? {
        unsafe user?.assumingMemoryBound(to: ClientNotes.self)
    }

    private static let onHeader: nghttp2_on_header_callback = {
        session, frame, name, nameCount, value, valueCount, _, user in
        guard let notes = unsafe ClientCallbacks.notes(user), let frame = unsafe frame,
            let place = unsafe SlotMark.place(session, frame.pointee.hd.stream_id)
        else { return 0 }
        let isBounded = unsafe notes.pointee.header(
            place, UnsafeBufferPointer(start: name, count: nameCount),
            UnsafeBufferPointer(start: value, count: valueCount))
        return isBounded ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
    }

    private static let onBody: nghttp2_on_data_chunk_recv_callback = { session, _, streamID, bytes, count, user in
        guard let notes = unsafe ClientCallbacks.notes(user), let place = unsafe SlotMark.place(session, streamID)
        else { return 0 }
        unsafe notes.pointee.bodyArrived(place, bytes, count)
        return 0
    }

    private static let onFrameReceived: nghttp2_on_frame_recv_callback = { session, frame, user in
        guard let notes = unsafe ClientCallbacks.notes(user), let frame = unsafe frame else { return 0 }
        let header = unsafe frame.pointee.hd
        switch UInt32(header.type) {
        case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
            guard UInt32(header.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0,
                let place = unsafe SlotMark.place(session, header.stream_id)
            else { return 0 }
            unsafe (notes.pointee.slots.base + place).pointee.isAnswered = true
        case NGHTTP2_SETTINGS.rawValue where UInt32(header.flags) & NGHTTP2_FLAG_ACK.rawValue == 0:
            let limit = unsafe nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
            unsafe notes.pointee.peerStreamLimit = Int(limit)
            unsafe notes.pointee.events.append(.settingsChanged(streamLimit: Int(limit)))
        case NGHTTP2_PING.rawValue where UInt32(header.flags) & NGHTTP2_FLAG_ACK.rawValue != 0:
            unsafe notes.pointee.events.append(.pingAnswered(payload: PingPayload.read(frame.pointee.ping)))
        case NGHTTP2_GOAWAY.rawValue: unsafe notes.pointee.goAway(frame.pointee.goaway)
        default: break
        }
        return 0
    }

    private static let onFrameNotSent: nghttp2_on_frame_not_send_callback = { session, frame, _, user in
        guard let notes = unsafe ClientCallbacks.notes(user), let frame = unsafe frame else { return 0 }
        let header = unsafe frame.pointee.hd
        guard UInt32(header.type) == NGHTTP2_HEADERS.rawValue,
            let place = unsafe SlotMark.place(session, header.stream_id)
        else { return 0 }
        unsafe (notes.pointee.slots.base + place).pointee.isUnsent = true
        return 0
    }

    private static let onStreamClosed: nghttp2_on_stream_close_callback = { session, streamID, code, user in
        guard let notes = unsafe ClientCallbacks.notes(user), let place = unsafe SlotMark.place(session, streamID)
        else { return 0 }
        unsafe notes.pointee.streamClosed(place, code)
        return 0
    }

    /// Hands the request's body to nghttp2. The source's `fd` carries the slot's place.
    static let readBody: nghttp2_data_source_read_callback = { _, _, bytes, bytesMax, flags, source, user in
        guard let notes = unsafe ClientCallbacks.notes(user), let source = unsafe source, let bytes = unsafe bytes
        else { return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue) }
        let slot = unsafe notes.pointee.slots.base + Int(source.pointee.fd)
        return unsafe slot.pointee.request.read(into: bytes, atMost: bytesMax, flags)
    }
}

enum PingPayload {
    static func read(_ frame: nghttp2_ping) -> UInt64 {
        var frame = frame
        return unsafe withUnsafeBytes(of: &frame.opaque_data) {
            unsafe UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self))
        }
    }
}
