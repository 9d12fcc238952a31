// Each reads borrowed bytes while `self` stays alive; nothing else does.
extension ResultSet {
    @inline(__always)
    func read<Value>(
        _ row: Int, _ column: Int, _ type: ElementType, _ decode: (BinaryCell) -> Value?
    ) throws(PostgresError) -> Value {
        let cell = try cell(row, column) { type.reads($0) }
        guard let value = withExtendedLifetime(self, { decode(cell) }) else { throw shape(column) }
        return value
    }

    func array<Element>(
        _ row: Int, _ column: Int, _ type: ElementType, _ decode: (BinaryCell) -> Element?
    ) throws(PostgresError) -> [Element] {
        let cell = try cell(row, column) { type.readsArray($0) }
        guard let elements = withExtendedLifetime(self, { cell.elements(type, decode) }) else { throw shape(column) }
        return elements
    }

    func optionalTexts(_ row: Int, _ column: Int) throws(PostgresError) -> [String?] {
        let cell = try cell(row, column) { ElementType.text.readsArray($0) }
        guard let texts = withExtendedLifetime(self, { cell.optionalElements(.text) { $0.text } }) else {
            throw shape(column)
        }
        return texts
    }

    /// Appends the bytes of a text, bytea or jsonb (without its version byte). Returns their number.
    func append(_ row: Int, _ column: Int, to buffer: inout [UInt8]) throws(PostgresError) -> Int {
        let before = buffer.count
        if isJSON(column) {
            buffer.append(contentsOf: try read(row, column, .json) { $0.json })
        } else {
            let cell = try cell(row, column) { $0 != 0 }
            withExtendedLifetime(self) { cell.append(to: &buffer) }
        }
        return buffer.count - before
    }
}
