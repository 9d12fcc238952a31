import Basis
import CNGHTTP2
import Glibc

@unsafe struct ClientSlot {
    var tag: UInt64 = 0
    /// The stream's id; 0 if the slot is free.
    var streamID: Int32 = 0
    var status: UInt16 = 0
    /// The peer's END_STREAM was seen.
    var isAnswered = false
    var isUnsent = false
    var isCancelled = false
    var bodyHasBegun = false
    var headerBytes = 0
    /// The header list's bytes. They are kept until the request leaves, when its block is encoded.
    var header = unsafe SlotBuffer()
    var fields: [HeaderList.Field] = []
    var request = unsafe SlotBuffer()
    /// The kept header values, then the body.
    var reply = unsafe SlotBuffer()
    var retryAfter = ByteRange.empty
    var apnsID = ByteRange.empty
    var date = ByteRange.empty
    var bodyStart = 0
    var bodyBytes = 0
}

/// Notes that the callbacks of a client session write. The callbacks never act.
@unsafe struct ClientNotes {
    let settings: HTTP2ClientSettings
    var slots = unsafe SlotTable(blank: ClientSlot())
    var events: [HTTP2ClientEvent] = []
    var eventBytes: [UInt8] = []
    /// Requests leave in the order of their stream ids.
    var highestSentStreamID: Int32 = 0
    var goAwayReceived = false
    var goAwaySent: HTTP2ErrorCode?
    var peerStreamLimit: Int

    init(settings: HTTP2ClientSettings) {
        unsafe self.settings = settings
        unsafe peerStreamLimit = settings.streamLimitAtStart
        unsafe events.reserveCapacity(64)
    }

    /// Takes a slot for a request. `appendBody` adds the body.
    mutating func begin(tag: UInt64, _ headers: HeaderList) -> Int {
        let place = unsafe slots.take()
        let slot = unsafe slots.base + place
        unsafe slot.pointee.tag = tag
        unsafe headers.bytes.withUnsafeBufferPointer { unsafe slot.pointee.header.append($0.baseAddress, $0.count) }
        unsafe slot.pointee.fields.append(contentsOf: headers.fields)
        return place
    }

    mutating func appendBody(_ place: Int, _ piece: Span<UInt8>) {
        let slot = unsafe slots.base + place
        unsafe piece.withUnsafeBufferPointer { unsafe slot.pointee.request.append($0.baseAddress, $0.count) }
    }

    /// Finds a request that was submitted but not sent, for which nghttp2 has no stream yet.
    func place(of streamID: Int32) -> Int? {
        unsafe (0..<slots.usedCount).first { unsafe (slots.base + $0).pointee.streamID == streamID }
    }

    /// Returns the streams of submitted requests that have not left and were not cancelled. They end as unsent.
    mutating func takeUnsent() -> [Int32] {
        var streams: [Int32] = []
        for place in unsafe 0..<slots.usedCount {
            let slot = unsafe slots.base + place
            guard unsafe slot.pointee.streamID > highestSentStreamID, unsafe !slot.pointee.isCancelled,
                unsafe !slot.pointee.isUnsent
            else { continue }
            unsafe slot.pointee.isUnsent = true
            unsafe streams.append(slot.pointee.streamID)
        }
        return streams
    }

    mutating func release(_ place: Int) {
        unsafe (slots.base + place).pointee.free()
        unsafe slots.giveBack(place)
    }

    mutating func end(_ place: Int, _ conclusion: HTTP2Answer.Conclusion) {
        let slot = unsafe slots.base + place
        guard unsafe slot.pointee.streamID != 0 else { return }
        let offset = unsafe eventBytes.count
        unsafe eventBytes.append(slot.pointee.reply)
        let bodyStart = unsafe slot.pointee.bodyHasBegun ? slot.pointee.bodyStart : slot.pointee.reply.count
        let answer = unsafe HTTP2Answer(
            tag: slot.pointee.tag, streamID: slot.pointee.streamID, conclusion: conclusion,
            status: slot.pointee.status >= 200 ? slot.pointee.status : 0,
            retryAfter: slot.pointee.retryAfter.moved(by: offset), apnsID: slot.pointee.apnsID.moved(by: offset),
            date: slot.pointee.date.moved(by: offset),
            body: ByteRange(start: offset + bodyStart, count: slot.pointee.reply.count - bodyStart),
            bodyBytes: slot.pointee.bodyBytes)
        unsafe events.append(.ended(answer))
        unsafe release(place)
    }

    mutating func endAll() {
        for place in unsafe 0..<slots.usedCount {
            let slot = unsafe slots.base + place
            if unsafe slot.pointee.isAnswered && slot.pointee.status >= 200 {
                unsafe end(place, .complete)
            } else {
                let wasSent = unsafe slot.pointee.streamID <= highestSentStreamID && !slot.pointee.isUnsent
                unsafe end(place, .lost(wasSent: wasSent))
            }
        }
    }

    /// Returns false if the header is too large: the stream must be refused.
    mutating func header(_ place: Int, _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Bool
    {
        let slot = unsafe slots.base + place
        unsafe slot.pointee.headerBytes += name.count + value.count + 32
        guard unsafe slot.pointee.headerBytes <= settings.responseHeaderBytesMax else { return false }
        if unsafe name.isText(":status") {
            unsafe slot.pointee.forgetReply()
            unsafe slot.pointee.status = value.decimal
            return true
        }
        let isSuccess = unsafe slot.pointee.status == 200
        guard unsafe !slot.pointee.bodyHasBegun && (!isSuccess || settings.keepsHeadersOfSuccess) else { return true }
        if unsafe name.isText("apns-id") {
            unsafe slot.pointee.apnsID = slot.pointee.append(value)
        } else if unsafe name.isText("retry-after") {
            unsafe slot.pointee.retryAfter = slot.pointee.append(value)
        } else if unsafe name.isText("date") {
            unsafe slot.pointee.date = slot.pointee.append(value)
        }
        return true
    }

    mutating func bodyArrived(_ place: Int, _ bytes: UnsafePointer<UInt8>?, _ count: Int) {
        let slot = unsafe slots.base + place
        if unsafe !slot.pointee.bodyHasBegun {
            unsafe slot.pointee.bodyHasBegun = true
            unsafe slot.pointee.bodyStart = slot.pointee.reply.count
        }
        let kept = unsafe slot.pointee.reply.count - slot.pointee.bodyStart
        unsafe slot.pointee.reply.append(bytes, min(count, settings.responseBodyBytesMax - kept))
        unsafe slot.pointee.bodyBytes += count
    }

    mutating func streamClosed(_ place: Int, _ code: UInt32) {
        let slot = unsafe slots.base + place
        if unsafe slot.pointee.isAnswered && slot.pointee.status >= 200 {
            unsafe end(place, .complete)
        } else if unsafe slot.pointee.isUnsent {
            unsafe end(place, .unsent)
        } else if unsafe slot.pointee.isCancelled {
            unsafe end(place, .cancelled)
        } else if unsafe code == NGHTTP2_REFUSED_STREAM.rawValue && slot.pointee.status == 0 {
            unsafe end(place, .refused)
        } else {
            unsafe end(place, .reset(HTTP2ErrorCode(rawValue: code)))
        }
    }

    mutating func goAway(_ frame: nghttp2_goaway) {
        unsafe goAwayReceived = true
        let debug = unsafe eventBytes.appendDebugData(of: frame)
        let code = unsafe HTTP2ErrorCode(rawValue: frame.error_code)
        unsafe events.append(.goAway(lastStreamID: frame.last_stream_id, code: code, debugBytes: debug))
    }

    mutating func deallocate() {
        for place in unsafe 0..<slots.usedCount {
            unsafe (slots.base + place).pointee.header.free()
            unsafe (slots.base + place).pointee.request.free()
            unsafe (slots.base + place).pointee.reply.free()
        }
        unsafe slots.deallocate()
    }
}

extension ClientSlot {
    /// Headers that we understand are never longer.
    private static let headerValueBytesMax = 256

    /// Ends the slot's use. The buffers keep their memory for the next request.
    mutating func free() {
        unsafe header.forget()
        unsafe fields.removeAll(keepingCapacity: true)
        unsafe request.forget()
        unsafe reply.forget()
        unsafe self = ClientSlot(header: header, fields: fields, request: request, reply: reply)
    }

    /// Discards the answer so far, because the next header block replaces an interim (1xx) one.
    mutating func forgetReply() {
        unsafe reply.forget()
        unsafe retryAfter = .empty
        unsafe apnsID = .empty
        unsafe date = .empty
        unsafe bodyHasBegun = false
        unsafe bodyStart = 0
        unsafe bodyBytes = 0
    }

    mutating func append(_ value: UnsafeBufferPointer<UInt8>) -> ByteRange {
        guard unsafe value.count <= ClientSlot.headerValueBytesMax else { return .empty }
        let start = unsafe reply.count
        unsafe reply.append(value.baseAddress, value.count)
        return ByteRange(start: start, count: value.count)
    }
}

extension ByteRange {
    func moved(by offset: Int) -> ByteRange {
        isEmpty ? .empty : ByteRange(start: Int(start) + offset, count: Int(count))
    }
}

extension UnsafeBufferPointer<UInt8> {
    func isText(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount, let base = baseAddress else { return false }
        return unsafe memcmp(base, text.utf8Start, count) == 0
    }

    /// Whether the bytes at `other`, of at least this count, are the same.
    func holds(_ other: UnsafePointer<UInt8>) -> Bool {
        guard let base = baseAddress else { return true }
        return unsafe memcmp(base, other, count) == 0
    }

    /// The status of three digits; 0 for any other text.
    var decimal: UInt16 {
        guard count == 3 else { return 0 }
        var sum: UInt16 = 0
        for place in 0..<count {
            let digit = unsafe self[place]
            guard digit.isDigit else { return 0 }
            sum = sum * 10 + UInt16(digit - 0x30)
        }
        return sum
    }
}
