import CNGHTTP2

enum ServerCallbacks {
    static func make() -> OpaquePointer? {
        var callbacks: OpaquePointer?
        guard unsafe nghttp2_session_callbacks_new(&callbacks) == 0 else { return nil }
        unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, onHeadersBegin)
        unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks, onHeader)
        unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, onBody)
        unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, onFrameReceived)
        unsafe nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, onFrameSent)
        unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, onStreamClosed)
        return unsafe callbacks
    }

    private static func notes(_ user: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<ServerNotes>? {
        unsafe user?.assumingMemoryBound(to: ServerNotes.self)
    }

    private static let onHeadersBegin: nghttp2_on_begin_headers_callback = { session, frame, user in
        guard let notes = unsafe ServerCallbacks.notes(user), let frame = unsafe frame,
            unsafe frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST
        else { return 0 }
        let streamID = unsafe frame.pointee.hd.stream_id
        let place = unsafe notes.pointee.begin(streamID)
        return unsafe nghttp2_session_set_stream_user_data(session, streamID, SlotMark.pointer(place))
    }

    private static let onHeader: nghttp2_on_header_callback = {
        session, frame, name, nameCount, value, valueCount, _, user in
        guard let notes = unsafe ServerCallbacks.notes(user), let frame = unsafe frame,
            unsafe frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST,
            let place = unsafe SlotMark.place(session, frame.pointee.hd.stream_id)
        else { return 0 }
        let isBounded = unsafe notes.pointee.header(
            place, UnsafeBufferPointer(start: name, count: nameCount),
            UnsafeBufferPointer(start: value, count: valueCount))
        return isBounded ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
    }

    private static let onBody: nghttp2_on_data_chunk_recv_callback = { session, _, streamID, bytes, count, user in
        guard let notes = unsafe ServerCallbacks.notes(user), let place = unsafe SlotMark.place(session, streamID)
        else { return 0 }
        unsafe notes.pointee.bodyArrived(place, bytes, count)
        return 0
    }

    private static let onFrameReceived: nghttp2_on_frame_recv_callback = { session, frame, user in
        guard let notes = unsafe ServerCallbacks.notes(user), let frame = unsafe frame else { return 0 }
        let header = unsafe frame.pointee.hd
        let isAck = UInt32(header.flags) & NGHTTP2_FLAG_ACK.rawValue != 0
        switch UInt32(header.type) {
        case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
            guard UInt32(header.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0,
                let place = unsafe SlotMark.place(session, header.stream_id)
            else { return 0 }
            unsafe notes.pointee.requestEnded(place)
        case NGHTTP2_SETTINGS.rawValue where isAck: unsafe notes.pointee.events.append(.settingsAcknowledged)
        case NGHTTP2_PING.rawValue where isAck:
            unsafe notes.pointee.events.append(.pingAnswered(payload: PingPayload.read(frame.pointee.ping)))
        case NGHTTP2_GOAWAY.rawValue: unsafe notes.pointee.goAway(frame.pointee.goaway)
        default: break
        }
        return 0
    }

    private static let onFrameSent: nghttp2_on_frame_send_callback = { _, frame, user in
        guard let notes = unsafe ServerCallbacks.notes(user), let frame = unsafe frame,
            unsafe UInt32(frame.pointee.hd.type) == NGHTTP2_GOAWAY.rawValue
        else { return 0 }
        unsafe notes.pointee.goAwaySent = HTTP2ErrorCode(rawValue: frame.pointee.goaway.error_code)
        return 0
    }

    private static let onStreamClosed: nghttp2_on_stream_close_callback = { session, streamID, code, user in
        guard let notes = unsafe ServerCallbacks.notes(user), let place = unsafe SlotMark.place(session, streamID)
        else { return 0 }
        unsafe notes.pointee.closed(place, code)
        return 0
    }

    static let readBody: nghttp2_data_source_read_callback = { _, _, bytes, bytesMax, flags, source, user in
        guard let notes = unsafe ServerCallbacks.notes(user), let source = unsafe source, let bytes = unsafe bytes
        else { return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue) }
        let slot = unsafe notes.pointee.slots.base + Int(source.pointee.fd)
        return unsafe slot.pointee.response.read(into: bytes, atMost: bytesMax, flags)
    }
}
