extension Span<UInt8> {
    /// Copies the bytes for readers that take arrays: not on the common path.
    package func copied() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(addingCapacity: count) { (copy: inout OutputSpan<UInt8>) in
            for index in indices { copy.append(self[index]) }
        }
        return bytes
    }
}
