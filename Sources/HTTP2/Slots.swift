import CNGHTTP2

/// Bytes that a stream's slot reuses for the next stream. It grows on demand. The slot's owner frees it.
@unsafe struct SlotBuffer {
    private(set) var base: UnsafeMutablePointer<UInt8>?
    private var capacity = 0
    private(set) var count = 0
    /// The bytes that nghttp2 has read.
    private var readCount = 0

    /// A larger buffer is freed after its stream, so that one giant request doesn't keep its memory.
    static let keptBytesMax = 16_384
    private static let firstBytes = 512

    mutating func append(_ source: UnsafePointer<UInt8>?, _ added: Int) {
        guard added > 0, let source = unsafe source else { return }
        unsafe reserve(count + added)
        guard let base = unsafe base else { return }
        unsafe (base + count).update(from: source, count: added)
        unsafe count += added
    }

    /// Hands the next bytes to nghttp2, which sends them in a DATA frame.
    mutating func read(
        into frame: UnsafeMutablePointer<UInt8>, atMost bytesMax: Int, _ flags: UnsafeMutablePointer<UInt32>?
    ) -> Int {
        let remaining = unsafe count - readCount
        let taken = min(remaining, bytesMax)
        if let base = unsafe base, taken > 0 { unsafe frame.update(from: base + readCount, count: taken) }
        unsafe readCount += taken
        if taken == remaining { unsafe flags?.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
        return taken
    }

    /// Empties the buffer for the next stream.
    mutating func forget() {
        unsafe (count, readCount) = (0, 0)
        if unsafe capacity > SlotBuffer.keptBytesMax { unsafe free() }
    }

    mutating func free() {
        unsafe base?.deallocate()
        unsafe base = nil
        unsafe capacity = 0
        unsafe count = 0
    }

    private mutating func reserve(_ wanted: Int) {
        guard unsafe wanted > capacity else { return }
        let grown = unsafe max(wanted, capacity * 2, SlotBuffer.firstBytes)
        let fresh = UnsafeMutablePointer<UInt8>.allocate(capacity: grown)
        if let base = unsafe base {
            unsafe fresh.update(from: base, count: count)
            unsafe base.deallocate()
        }
        unsafe base = fresh
        unsafe capacity = grown
    }
}

/// The state of each open stream of a session, in one array. nghttp2 gives a stream's place back as its user data
/// (`SlotMark`).
@unsafe struct SlotTable<Slot> {
    private(set) var base: UnsafeMutablePointer<Slot>
    private(set) var capacity: Int
    /// Places below this one were used at least once, and hold an initialised slot.
    private(set) var usedCount = 0
    private var unusedPlaces: [Int32] = []
    private let blank: Slot

    private static var firstCapacity: Int { 32 }

    init(blank: Slot) {
        unsafe self.blank = blank
        unsafe capacity = Self.firstCapacity
        unsafe base = .allocate(capacity: Self.firstCapacity)
    }

    /// The number of streams that have a slot.
    var openCount: Int { unsafe usedCount - unusedPlaces.count }

    /// Takes a place for a stream. The array may move, which makes earlier pointers to slots invalid.
    mutating func take() -> Int {
        if let place = unsafe unusedPlaces.popLast() { return Int(place) }
        if unsafe usedCount == capacity {
            let grown = unsafe UnsafeMutablePointer<Slot>.allocate(capacity: capacity * 2)
            unsafe grown.moveInitialize(from: base, count: usedCount)
            unsafe base.deallocate()
            unsafe base = grown
            unsafe capacity *= 2
        }
        unsafe (base + usedCount).initialize(to: blank)
        unsafe usedCount += 1
        return unsafe usedCount - 1
    }

    /// The slot has been emptied for the next stream.
    mutating func giveBack(_ place: Int) { unsafe unusedPlaces.append(Int32(place)) }

    /// Frees the array. The caller has freed the slots' own buffers.
    mutating func deallocate() {
        unsafe base.deinitialize(count: usedCount)
        unsafe base.deallocate()
    }
}

/// A slot's place in the form that nghttp2 carries: plus one, so that the first is not NULL.
enum SlotMark {
    static func pointer(_ place: Int) -> UnsafeMutableRawPointer? {
        unsafe UnsafeMutableRawPointer(bitPattern: place + 1)
    }
    /// Returns nil for a stream without a slot.
    static func place(_ session: OpaquePointer?, _ streamID: Int32) -> Int? {
        unsafe nghttp2_session_get_stream_user_data(session, streamID).map { Int(bitPattern: $0) - 1 }
    }
}
