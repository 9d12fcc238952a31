/// Makes text from outside safe for a terminal: names of devices, a gateway's answers, file names.
package enum TerminalText {
    /// Makes hostile characters visible: control characters, which would move the cursor, clear the screen or forge a
    /// line, and characters that change the direction of the text after them.
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

    /// The number of terminal columns that a text takes.
    ///
    /// By East Asian Width, as terminals draw it: ideographs, kana, hangul and emoji take two columns, combining marks
    /// none. Source: Unicode Standard Annex 11, version 15.
    package static func columns(_ text: some StringProtocol) -> Int { text.reduce(0) { $0 + columns(of: $1) } }

    /// The longest prefix that takes at most so many columns.
    package static func prefix(_ text: Substring, columns columnsMax: Int) -> Substring {
        var columns = 0
        for place in text.indices {
            columns += Self.columns(of: text[place])
            if columns > columnsMax { return text[..<place] }
        }
        return text
    }

    /// The text, or its beginning and an ellipsis in so many columns.
    package static func cut(_ text: String, columns columnsMax: Int) -> String {
        guard columns(text) > columnsMax else { return text }
        return String(prefix(text[...], columns: columnsMax - 1)) + "…"
    }

    private static func columns(of character: Character) -> Int {
        let scalars = character.unicodeScalars
        guard let first = scalars.first else { return 0 }
        // An emoji of several scalars, such as a flag, a family or a digit in a box, is drawn as one.
        if scalars.count > 1, scalars.contains(where: { $0.value == 0xfe0f || isRegional($0) }) { return 2 }
        switch first.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: return first.properties.isEmojiPresentation || isWide(first.value) ? 2 : 1
        }
    }

    private static func isRegional(_ scalar: Unicode.Scalar) -> Bool { (0x1f1e6...0x1f1ff).contains(scalar.value) }

    private static func isWide(_ scalar: UInt32) -> Bool {
        switch scalar {
        // Hangul; radicals, kana, bopomofo, ideographs; Yi; compatibility forms; full width forms.
        case 0x1100...0x115f, 0xa960...0xa97c, 0xac00...0xd7a3, 0x2e80...0x303e, 0x3041...0x4dbf, 0x4e00...0xa4c6,
            0xf900...0xfaff, 0xfe10...0xfe19, 0xfe30...0xfe6b, 0xff01...0xff60, 0xffe0...0xffe6:
            true
        // Tangut, Khitan, old kana; enclosed ideographs; the supplementary ideographic planes.
        case 0x16fe0...0x18d08, 0x1aff0...0x1b2fb, 0x1f200...0x1f265, 0x20000...0x3fffd: true
        default: false
        }
    }
}
