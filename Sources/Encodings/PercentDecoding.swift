/// A path segment's own bytes, from its percent-encoded form. Done once, and never to a whole path.
package enum PercentDecoding {
    /// nil for a percent sign without two digits, for what is not UTF-8, and for a NUL.
    ///
    /// A plus sign stays one: it means a space in forms only.
    package static func decode(_ segment: some StringProtocol) -> String? {
        var bytes: [UInt8] = []
        var digits: [UInt8]?
        for byte in segment.utf8 {
            switch (digits, byte) {
            case (nil, UInt8(ascii: "%")): digits = []
            case (nil, _): bytes.append(byte)
            case (let first?, _):
                guard Hexadecimal.value(of: byte) != nil else { return nil }
                if first.isEmpty {
                    digits = [byte]
                } else {
                    guard let pair = Hexadecimal.decode(first + [byte]) else { return nil }
                    bytes.append(contentsOf: pair)
                    digits = nil
                }
            }
        }
        guard digits == nil, !bytes.contains(0) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }
}
