import Signing

/// Changes integers inside DER, and the lengths of all enclosing elements.
enum DERTree {
    /// The bytes with one INTEGER replaced.
    ///
    /// - Parameters:
    ///   - old: its contents, and the contents of those before it that stay.
    ///   - place: how many of the same contents come before it.
    static func replacing(_ old: [UInt8], _ place: Int, with new: [UInt8], in der: [UInt8]) -> [UInt8] {
        var left = place
        return rewritten(der) { contents in
            guard contents == old else { return contents }
            left -= 1
            return left == -1 ? new : contents
        }
    }

    /// A PKCS#12 file without its MAC, which is the last of its three elements and may be missing.
    static func withoutMAC(_ file: [UInt8]) -> [UInt8] {
        guard let outer = elements(file)?.first, let parts = elements(outer.contents) else { return file }
        let kept = parts.prefix(2).flatMap { DERWriter.element($0.tag, $0.contents) }
        return DERWriter.element(outer.tag, kept)
    }

    private static func rewritten(_ der: [UInt8], _ change: (([UInt8]) -> [UInt8])) -> [UInt8] {
        (elements(der) ?? []).flatMap { element in
            if element.tag == DERTag.integer { return DERWriter.element(element.tag, change(element.contents)) }
            // Safes and bags are DER inside octet strings.
            let mayHold = element.tag & 0x20 != 0 || element.tag == DERTag.octetString
            guard mayHold, elements(element.contents) != nil else {
                return DERWriter.element(element.tag, element.contents)
            }
            return DERWriter.element(element.tag, rewritten(element.contents, change))
        }
    }

    /// Returns nil if the bytes are not DER from beginning to end.
    private static func elements(_ der: [UInt8]) -> [(tag: UInt8, contents: [UInt8])]? {
        var elements: [(tag: UInt8, contents: [UInt8])] = []
        var remaining = der[...]
        while let tag = remaining.first {
            var header = remaining.dropFirst()
            guard let first = header.popFirst() else { return nil }
            var length = Int(first)
            if first >= 0x80 {
                let count = Int(first & 0x7f)
                guard (1...2).contains(count), header.count >= count else { return nil }
                length = header.prefix(count).reduce(0) { $0 << 8 | Int($1) }
                header = header.dropFirst(count)
            }
            guard header.count >= length else { return nil }
            elements.append((tag, Array(header.prefix(length))))
            remaining = header.dropFirst(length)
        }
        return elements
    }
}
