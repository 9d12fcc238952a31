import Basis

/// One non-null cell in PostgreSQL's binary format, borrowed from the owner of the bytes. Readers return nil if the
/// bytes can't have the requested type.
@safe struct BinaryCell {
    private let bytes: UnsafeRawBufferPointer

    init(_ bytes: UnsafeRawBufferPointer) { unsafe self.bytes = bytes }

    var count: Int { unsafe bytes.count }

    var bool: Bool? { unsafe count == 1 && bytes[0] <= 1 ? bytes[0] == 1 : nil }
    var int16: Int16? { integer() }
    var int32: Int32? { integer() }
    var int64: Int64? { integer() }
    var instant: WallInstant? { int64.map { WallInstant(microseconds: PostgresEpoch.decode($0)) } }

    var uuid: UniversalID? {
        guard count == 16 else { return nil }
        return UniversalID(high: unsafe load(at: 0), low: unsafe load(at: 8))
    }

    var raw: [UInt8] { unsafe Array(bytes) }
    var text: String? { unsafe String(validating: bytes, as: UTF8.self) }

    var json: [UInt8]? {
        guard count >= 1, unsafe bytes[0] == CellWriter.jsonbVersion else { return nil }
        return unsafe Array(bytes.dropFirst())
    }

    /// Reads an array of one dimension without nulls.
    func elements<Element>(_ type: ElementType, _ read: (BinaryCell) -> Element?) -> [Element]? {
        elements(type, null: nil, read)
    }

    /// Reads an array of one dimension. A null element is nil.
    func optionalElements<Element>(_ type: ElementType, _ read: (BinaryCell) -> Element?) -> [Element?]? {
        elements(type, null: .some(nil)) { cell in read(cell).map { .some($0) } }
    }

    /// - Parameter null: stands for null elements; nil: there may be none.
    private func elements<Element>(
        _ type: ElementType, null: Element?, _ read: (BinaryCell) -> Element?
    ) -> [Element]? {
        guard count >= 12 else { return nil }
        let dimensions: Int32 = unsafe load(at: 0)
        let objectID: UInt32 = unsafe load(at: 8)
        guard type.reads(objectID) else { return nil }
        if dimensions == 0 { return count == 12 ? [] : nil }
        guard dimensions == 1, count >= 20 else { return nil }
        let announced: Int32 = unsafe load(at: 12)
        // Each element takes at least four bytes, so a false count can't make us allocate.
        guard announced >= 0, Int(announced) <= (count - 20) / 4 else { return nil }
        return walk(Int(announced), null: null, read)
    }

    private func walk<Element>(
        _ announced: Int, null: Element?, _ read: (BinaryCell) -> Element?
    ) -> [Element]? {
        var elements: [Element] = []
        elements.reserveCapacity(announced)
        var offset = 20
        for _ in 0..<announced {
            guard count - offset >= 4 else { return nil }
            let length: Int32 = unsafe load(at: offset)
            offset += 4
            if length == -1, let null {
                elements.append(null)
                continue
            }
            guard length >= 0, Int(length) <= count - offset else { return nil }
            let slice = unsafe UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + Int(length)])
            guard let element = unsafe read(BinaryCell(slice)) else { return nil }
            elements.append(element)
            offset += Int(length)
        }
        return offset == count ? elements : nil
    }

    func append(to buffer: inout [UInt8]) { unsafe buffer.append(contentsOf: bytes) }

    private func integer<Integer: FixedWidthInteger>() -> Integer? {
        guard count == MemoryLayout<Integer>.size else { return nil }
        return unsafe load(at: 0)
    }

    /// The caller checks the bounds.
    @unsafe private func load<Integer: FixedWidthInteger>(at offset: Int) -> Integer {
        unsafe Integer(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Integer.self))
    }
}
