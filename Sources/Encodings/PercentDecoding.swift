/// Decodes one percent-encoded path segment. Decode once, and never a whole path.
package enum PercentDecoding {
    /// Returns nil for a percent sign without two digits, for invalid UTF-8, and for a NUL.
    ///
    /// A plus sign stays one: it means a space in forms only.
    package static func decode(_ segment: some StringProtocol) -> String? {
        // Nearly all segments need no decoding.
        if !segment.utf8.contains(where: { $0 == UInt8(ascii: "%") || $0 == 0 }) { return String(segment) }
        var plain: [UInt8] = []
        plain.reserveCapacity(segment.utf8.count)
        var bytes = segment.utf8.makeIterator()
        while let byte = bytes.next() {
            guard byte == UInt8(ascii: "%") else {
                plain.append(byte)
                continue
            }
            guard let high = bytes.next().flatMap(Hexadecimal.value(of:)),
                let low = bytes.next().flatMap(Hexadecimal.value(of:))
            else { return nil }
            plain.append(high << 4 | low)
        }
        guard !plain.contains(0) else { return nil }
        return String(validating: plain, as: UTF8.self)
    }
}
