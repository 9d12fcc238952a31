import CNGHTTP2

/// nghttp2 makes the frames; `HeaderEncoder` makes their header blocks.
extension HTTP2ClientSession {
    /// Every peer accepts frames of this payload. Source: RFC 9113, section 4.2.
    static let headerBlockBytesMax = 16_384

    /// Appends frames until `output` holds `bytesMax`, exceeding it by at most one frame (16 KiB).
    package func takeOutput(into output: inout [UInt8], atMost bytesMax: Int) throws(HTTP2Fault) {
        while output.count < bytesMax, let frame = unsafe try native.nextFrame() {
            guard let header = unsafe FrameHeader(frame) else {
                unsafe output.append(contentsOf: frame)
                continue
            }
            switch UInt32(header.type) {
            case NGHTTP2_HEADERS.rawValue: unsafe appendRequest(frame, header, to: &output)
            case NGHTTP2_GOAWAY.rawValue:
                unsafe notes.pointee.goAwaySent = HTTP2ErrorCode(rawValue: frame.bigEndian32(at: FrameHeader.bytes + 4))
                unsafe output.append(contentsOf: frame)
            default: unsafe output.append(contentsOf: frame)
            }
        }
    }

    /// Appends the frame's header with the new length, the table size changes that nghttp2 announces, and our block.
    private func appendRequest(_ frame: UnsafeBufferPointer<UInt8>, _ header: FrameHeader, to output: inout [UInt8]) {
        guard let place = unsafe SlotMark.place(native.pointer, header.streamID) else {
            preconditionFailure("every request has a slot")
        }
        unsafe notes.pointee.highestSentStreamID = header.streamID
        let start = output.count
        unsafe output.append(contentsOf: frame.prefix(FrameHeader.bytes))
        unsafe appendTableChanges(UnsafeBufferPointer(rebasing: frame.dropFirst(FrameHeader.bytes)), to: &output)
        let slot = unsafe notes.pointee.slots.base + place
        if let bytes = unsafe slot.pointee.header.base {
            unsafe slot.pointee.fields.withUnsafeBufferPointer { unsafe encoder.append($0, in: bytes, to: &output) }
        }
        let length = output.count - start - FrameHeader.bytes
        output[start] = UInt8(truncatingIfNeeded: length >> 16)
        output[start + 1] = UInt8(truncatingIfNeeded: length >> 8)
        output[start + 2] = UInt8(truncatingIfNeeded: length)
    }

    /// Copies the table size changes that open a block. Source: RFC 7541, section 6.3.
    private func appendTableChanges(_ block: UnsafeBufferPointer<UInt8>, to output: inout [UInt8]) {
        var place = 0
        while unsafe place < block.count && block[place] & 0xe0 == 0x20 {
            let start = place
            guard let bytesMax = unsafe HPACKInteger.read(block, at: &place, prefixBits: 5) else { return }
            encoder.changeTable(bytesMax: bytesMax)
            unsafe output.append(contentsOf: block[start..<place])
        }
    }
}

/// Length, type, flags and stream of a frame. Source: RFC 9113, section 4.1.
struct FrameHeader {
    static let bytes = 9
    let type: UInt8
    let streamID: Int32

    /// Returns nil for the client's preface, which is not a frame.
    init?(_ frame: UnsafeBufferPointer<UInt8>) {
        let prefaceStart = UInt8(ascii: "P")
        guard frame.count >= FrameHeader.bytes, unsafe frame[0] != prefaceStart else { return nil }
        unsafe type = frame[3]
        unsafe streamID = Int32(bitPattern: frame.bigEndian32(at: 5) & 0x7fff_ffff)
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Returns 0 beyond the end.
    func bigEndian32(at place: Int) -> UInt32 {
        guard place + 4 <= count else { return 0 }
        return (place..<place + 4).reduce(0) { unsafe $0 << 8 | UInt32(self[$1]) }
    }
}

/// The field that nghttp2 gets for each request. It is in the static table, so nghttp2's own dynamic table stays empty.
enum StandIn {
    static func withField(_ submit: (UnsafePointer<nghttp2_nv>) -> Int32) -> Int32 {
        let name: StaticString = ":method"
        let value: StaticString = "POST"
        var field = unsafe nghttp2_nv(
            name: UnsafeMutablePointer(mutating: name.utf8Start),
            value: UnsafeMutablePointer(mutating: value.utf8Start),
            namelen: name.utf8CodeUnitCount, valuelen: value.utf8CodeUnitCount,
            flags: UInt8(NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue))
        return unsafe submit(&field)
    }
}
