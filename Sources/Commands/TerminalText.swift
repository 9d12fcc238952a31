/// Text of others (names of devices, a gateway's words, file names) as a terminal may be given it.
package enum TerminalText {
    /// Control characters, which would move the cursor, clear the screen or forge a line, and characters that turn the
    /// direction of what follows, become visible.
    package static func clean(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isHostile) else { return text }
        var clean = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if isHostile(scalar) {
                clean.append(contentsOf: "\\u{\(String(scalar.value, radix: 16))}".unicodeScalars)
            } else {
                clean.append(scalar)
            }
        }
        return String(clean)
    }

    package static func isHostile(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        // C0, DEL and C1; ends of lines and paragraphs; marks, embeddings, overrides and isolates of direction.
        case 0..<0x20, 0x7f..<0xa0, 0x2028, 0x2029, 0x061c, 0x200e, 0x200f, 0x202a...0x202e, 0x2066...0x2069: true
        default: false
        }
    }
}
