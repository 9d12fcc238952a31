/// A path segment's own bytes, from its percent-encoded form. Done once, and never to a whole path.
package enum PercentDecoding {
    /// nil for a percent sign without two digits, for what is not UTF-8, and for a NUL.
    ///
    /// A plus sign stays one: it means a space in forms only.
    package static func decode(_ segment: some StringProtocol) -> String? {
        // As nearly all are.
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
