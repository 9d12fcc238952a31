/// HPACK for requests: encodes a header list into a header block, in step with the peer's dynamic table.
///
/// nghttp2's own encoder writes `authorization` as a fresh Huffman-coded literal with each request, which costs a third
/// of all instructions of a push. This one puts repeating fields into the dynamic table, where each costs one byte. The
/// provider token is among them, as Apple's newer page advises. Varying fields are written without Huffman coding.
///
/// It must encode the blocks in the order in which they leave. Source: RFC 7541.
@safe struct HeaderEncoder: ~Copyable {
    @unsafe private struct Entry {
        /// The name, then the value. Freed when the entry is evicted.
        let bytes: UnsafeMutablePointer<UInt8>
        let nameCount: Int
        let valueCount: Int
        var tableBytes: Int { unsafe nameCount + valueCount + HeaderEncoder.entryOverheadBytes }
    }

    /// The dynamic table, oldest entry first.
    private var entries: [Entry] = unsafe []
    private var tableBytes = 0
    private var tableBytesMax = HeaderEncoder.tableBytesAtStart
    /// The number of entries evicted before `entries[0]`. An entry's ordinal never changes, its index does.
    private var evictedCount = 0
    /// The ordinal of the entry last used, per place in the list: lists of one batch differ in few places.
    private var guesses: [Int] = []

    /// The size that both sides assume at first. Source: section 4.2 and RFC 9113, section 6.5.2.
    private static let tableBytesAtStart = 4_096
    /// The overhead that each entry counts. Source: section 4.1.
    private static let entryOverheadBytes = 32
    /// The index of the newest dynamic entry. Source: section 2.3.3.
    private static let dynamicIndexMin = 62

    deinit {
        for place in unsafe entries.indices { unsafe entries[place].bytes.deallocate() }
    }

    /// Changes the table's size, as nghttp2 announced at the start of the next block.
    mutating func changeTable(bytesMax: Int) {
        tableBytesMax = bytesMax
        evict(downTo: bytesMax)
    }

    /// Appends the block of `fields`, whose names and values lie in `bytes`.
    mutating func append(
        _ fields: UnsafeBufferPointer<HeaderList.Field>, in bytes: UnsafePointer<UInt8>, to block: inout [UInt8]
    ) {
        while guesses.count < fields.count { guesses.append(0) }
        for place in fields.indices {
            let field = unsafe fields[place]
            let name = unsafe UnsafeBufferPointer(start: bytes + Int(field.name.start), count: Int(field.name.count))
            let value = unsafe UnsafeBufferPointer(start: bytes + Int(field.value.start), count: Int(field.value.count))
            if field.isIndexed {
                unsafe appendRepeating(name, value, place, &block)
            } else {
                unsafe appendVarying(name, value, place, &block)
            }
        }
    }

    private mutating func appendRepeating(
        _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>, _ place: Int, _ block: inout [UInt8]
    ) {
        if let found = unsafe entry(name, value, guess: guesses[place]) {
            guesses[place] = evictedCount + found
            return HPACKInteger.append(index(of: found), prefixBits: 7, pattern: 0x80, to: &block)
        }
        if let whole = unsafe StaticTable.field(name, value) {
            return HPACKInteger.append(whole, prefixBits: 7, pattern: 0x80, to: &block)
        }
        unsafe insert(name, value, place, &block)
    }

    private mutating func appendVarying(
        _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>, _ place: Int, _ block: inout [UInt8]
    ) {
        if let known = unsafe StaticTable.name(name) {
            HPACKInteger.append(known, prefixBits: 4, pattern: 0, to: &block)
        } else if let found = unsafe entry(name, nil, guess: guesses[place]) {
            guesses[place] = evictedCount + found
            HPACKInteger.append(index(of: found), prefixBits: 4, pattern: 0, to: &block)
        } else {
            // Index it the first time, so that the name gets an index.
            return unsafe insert(name, value, place, &block)
        }
        unsafe HPACKInteger.appendText(value, to: &block)
    }

    /// Appends a literal that enters the table, or a plain one if it would fill most of the table.
    private mutating func insert(
        _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>, _ place: Int, _ block: inout [UInt8]
    ) {
        let size = name.count + value.count + HeaderEncoder.entryOverheadBytes
        let isKept = size <= tableBytesMax / 4 * 3
        let known = unsafe StaticTable.name(name) ?? entry(name, nil, guess: 0).map { index(of: $0) }
        HPACKInteger.append(known ?? 0, prefixBits: isKept ? 6 : 4, pattern: isKept ? 0x40 : 0, to: &block)
        if known == nil { unsafe HPACKInteger.appendText(name, to: &block) }
        unsafe HPACKInteger.appendText(value, to: &block)
        guard isKept else { return }
        evict(downTo: tableBytesMax - size)
        let copy = UnsafeMutablePointer<UInt8>.allocate(capacity: name.count + value.count + 1)
        if let base = name.baseAddress { unsafe copy.update(from: base, count: name.count) }
        if let base = value.baseAddress { unsafe (copy + name.count).update(from: base, count: value.count) }
        unsafe entries.append(Entry(bytes: copy, nameCount: name.count, valueCount: value.count))
        tableBytes += size
        guesses[place] = unsafe evictedCount + entries.count - 1
    }

    private func index(of place: Int) -> Int { unsafe HeaderEncoder.dynamicIndexMin + entries.count - 1 - place }

    /// The place of the entry with this name, and with this value if one is given.
    private func entry(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>?, guess: Int) -> Int? {
        let guessed = guess - evictedCount
        if guessed >= 0, unsafe guessed < entries.count, unsafe matches(entries[guessed], name, value) {
            return guessed
        }
        return unsafe entries.indices.last { unsafe matches(entries[$0], name, value) }
    }

    private func matches(
        _ entry: Entry, _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>?
    ) -> Bool {
        guard unsafe entry.nameCount == name.count, unsafe name.holds(entry.bytes) else { return false }
        guard let value = unsafe value else { return true }
        return unsafe entry.valueCount == value.count && value.holds(entry.bytes + entry.nameCount)
    }

    private mutating func evict(downTo bytesMax: Int) {
        var count = 0
        while tableBytes > bytesMax, unsafe count < entries.count {
            unsafe tableBytes -= entries[count].tableBytes
            unsafe entries[count].bytes.deallocate()
            count += 1
        }
        guard count > 0 else { return }
        unsafe entries.removeFirst(count)
        evictedCount += count
    }
}

/// Integers with a prefix, and strings without Huffman coding. Source: section 5.
enum HPACKInteger {
    static func append(_ value: Int, prefixBits: Int, pattern: UInt8, to block: inout [UInt8]) {
        let prefixMax = (1 << prefixBits) - 1
        guard value >= prefixMax else { return block.append(pattern | UInt8(value)) }
        block.append(pattern | UInt8(prefixMax))
        var remaining = value - prefixMax
        while remaining >= 128 {
            block.append(UInt8(remaining & 0x7f) | 0x80)
            remaining >>= 7
        }
        block.append(UInt8(remaining))
    }

    static func appendText(_ text: UnsafeBufferPointer<UInt8>, to block: inout [UInt8]) {
        append(text.count, prefixBits: 7, pattern: 0, to: &block)
        unsafe block.append(contentsOf: text)
    }

    /// Reads the integer at `place` and moves `place` past it. Returns nil if it is cut short or larger than any table.
    static func read(_ block: UnsafeBufferPointer<UInt8>, at place: inout Int, prefixBits: Int) -> Int? {
        guard place < block.count else { return nil }
        let prefixMax = (1 << prefixBits) - 1
        var value = unsafe Int(block[place]) & prefixMax
        place += 1
        guard value == prefixMax else { return value }
        var shift = 0
        while place < block.count, shift <= 28 {
            let octet = unsafe block[place]
            place += 1
            value += Int(octet & 0x7f) << shift
            if octet & 0x80 == 0 { return value }
            shift += 7
        }
        return nil
    }
}

/// The entries of the static table that a push can use. Source: RFC 7541, appendix A.
enum StaticTable {
    static func field(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Int? {
        switch (name.count, value.count) {
        case (7, 3): unsafe name.isText(":method") && value.isText("GET") ? 2 : nil
        case (7, 4):
            if unsafe name.isText(":method") && value.isText("POST") {
                3
            } else {
                unsafe name.isText(":scheme") && value.isText("http") ? 6 : nil
            }
        case (7, 5): unsafe name.isText(":scheme") && value.isText("https") ? 7 : nil
        default: nil
        }
    }

    static func name(_ name: UnsafeBufferPointer<UInt8>) -> Int? {
        switch name.count {
        case 5: unsafe name.isText(":path") ? 4 : nil
        case 7: unsafe name.isText(":method") ? 2 : name.isText(":scheme") ? 6 : nil
        case 10: unsafe name.isText(":authority") ? 1 : name.isText("user-agent") ? 58 : nil
        case 12: unsafe name.isText("content-type") ? 31 : nil
        case 13: unsafe name.isText("authorization") ? 23 : nil
        case 14: unsafe name.isText("content-length") ? 28 : nil
        default: nil
        }
    }
}
