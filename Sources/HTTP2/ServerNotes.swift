import Basis
import CNGHTTP2

@unsafe struct ServerSlot {
    var streamID: Int32 = 0
    var isRequested = false
    var headerBytes = 0
    /// Names and values, one after the other.
    var header = unsafe SlotBuffer()
    var fields: [HeaderList.Field] = []
    var body = unsafe SlotBuffer()
    var bodyBytes = 0
    var response = unsafe SlotBuffer()
}

/// Notes that the callbacks of a server session write. The callbacks never act.
@unsafe struct ServerNotes {
    let settings: HTTP2ServerSettings
    var slots = unsafe SlotTable(blank: ServerSlot())
    var events: [HTTP2ServerEvent] = []
    var eventBytes: [UInt8] = []
    var eventFields: [HeaderList.Field] = []
    var highestStreamID: Int32 = 0
    var goAwaySent: HTTP2ErrorCode?

    init(settings: HTTP2ServerSettings) {
        unsafe self.settings = settings
        unsafe events.reserveCapacity(64)
    }

    mutating func begin(_ streamID: Int32) -> Int {
        let place = unsafe slots.take()
        unsafe (slots.base + place).pointee.streamID = streamID
        unsafe highestStreamID = max(highestStreamID, streamID)
        return place
    }

    mutating func header(_ place: Int, _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Bool
    {
        let slot = unsafe slots.base + place
        unsafe slot.pointee.headerBytes += name.count + value.count + 32
        guard unsafe slot.pointee.headerBytes <= settings.requestHeaderBytesMax else { return false }
        guard unsafe settings.keptFields == .all || name.isKept(value) else { return true }
        let start = unsafe slot.pointee.header.count
        unsafe slot.pointee.header.append(name.baseAddress, name.count)
        unsafe slot.pointee.header.append(value.baseAddress, value.count)
        unsafe slot.pointee.fields.append(
            HeaderList.Field(
                name: ByteRange(start: start, count: name.count),
                value: ByteRange(start: start + name.count, count: value.count), isIndexed: true))
        return true
    }

    mutating func bodyArrived(_ place: Int, _ bytes: UnsafePointer<UInt8>?, _ count: Int) {
        let slot = unsafe slots.base + place
        let room = unsafe settings.requestBodyBytesMax - slot.pointee.body.count
        unsafe slot.pointee.body.append(bytes, min(count, room))
        unsafe slot.pointee.bodyBytes += count
    }

    /// Handles the client's END_STREAM. Moves the request into the event's bytes, so that it outlives its stream.
    mutating func requestEnded(_ place: Int) {
        let slot = unsafe slots.base + place
        guard unsafe !slot.pointee.isRequested else { return }
        unsafe slot.pointee.isRequested = true
        let offset = unsafe eventBytes.count
        let fieldsStart = unsafe eventFields.count
        unsafe eventBytes.append(slot.pointee.header)
        for field in unsafe slot.pointee.fields {
            unsafe eventFields.append(
                HeaderList.Field(
                    name: field.name.moved(by: offset), value: field.value.moved(by: offset), isIndexed: true))
        }
        let bodyStart = unsafe eventBytes.count
        unsafe eventBytes.append(slot.pointee.body)
        let request = unsafe HTTP2Request(
            streamID: slot.pointee.streamID, fieldsStart: fieldsStart, fieldCount: slot.pointee.fields.count,
            body: ByteRange(start: bodyStart, count: slot.pointee.body.count), bodyBytes: slot.pointee.bodyBytes)
        unsafe slot.pointee.header.forget()
        unsafe slot.pointee.body.forget()
        unsafe events.append(.request(request))
    }

    mutating func closed(_ place: Int, _ code: UInt32) {
        let slot = unsafe slots.base + place
        let streamID = unsafe slot.pointee.streamID
        guard streamID != 0 else { return }
        unsafe events.append(.closed(streamID: streamID, code: HTTP2ErrorCode(rawValue: code)))
        unsafe slot.pointee.free()
        unsafe slots.giveBack(place)
    }

    mutating func goAway(_ frame: nghttp2_goaway) {
        let debug = unsafe eventBytes.appendDebugData(of: frame)
        let code = unsafe HTTP2ErrorCode(rawValue: frame.error_code)
        unsafe events.append(.goAway(lastStreamID: frame.last_stream_id, code: code, debugBytes: debug))
    }

    mutating func deallocate() {
        for place in unsafe 0..<slots.usedCount {
            unsafe (slots.base + place).pointee.header.free()
            unsafe (slots.base + place).pointee.body.free()
            unsafe (slots.base + place).pointee.response.free()
        }
        unsafe slots.deallocate()
    }
}

extension ServerSlot {
    mutating func free() {
        unsafe header.forget()
        unsafe fields.removeAll(keepingCapacity: true)
        unsafe body.forget()
        unsafe response.forget()
        unsafe self = ServerSlot(header: header, fields: fields, body: body, response: response)
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Whether `pushIdentity` keeps a field with this name and value.
    fileprivate func isKept(_ value: UnsafeBufferPointer<UInt8>) -> Bool {
        switch count {
        case 7: unsafe isText("apns-id") || (isText(":method") && !value.isText("POST"))
        case 5: unsafe isText(":path") && !value.prefix(3).elementsEqual("/3/".utf8)
        default: false
        }
    }
}

extension [UInt8] {
    mutating func appendDebugData(of frame: nghttp2_goaway) -> ByteRange {
        let start = count
        if let bytes = unsafe frame.opaque_data {
            unsafe append(contentsOf: UnsafeBufferPointer(start: bytes, count: frame.opaque_data_len))
        }
        return ByteRange(start: start, count: count - start)
    }

    mutating func append(_ buffer: SlotBuffer) {
        guard let base = unsafe buffer.base else { return }
        unsafe append(contentsOf: UnsafeBufferPointer(start: base, count: buffer.count))
    }
}
