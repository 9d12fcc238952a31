import Model

/// Whether a text shows anything on a screen.
///
/// White space, control characters and what Unicode calls ignorable by default show nothing: joiners, marks of direction,
/// variation selectors, Hangul's fillers, the byte order mark. Nor do a few characters whose glyph is empty. Unknown
/// characters count as visible, because a later Unicode may give them a glyph.
package enum VisibleText {
    /// Braille's pattern without dots, and music's note without a head.
    private static let emptyGlyphs: [UInt32] = [0x2800, 0x1_d159]
    /// The anchors of annotations, and the place of an object that the text lacks.
    private static let anchors: ClosedRange<UInt32> = 0xfff9...0xfffc

    package static func isVisible(_ text: String) -> Bool { text.unicodeScalars.contains(where: isVisible) }

    /// - Parameter text: UTF-8. Other bytes count as visible. Allocates nothing.
    package static func isVisible(_ text: Span<UInt8>) -> Bool {
        let valid: UTF8Span
        do { valid = try UTF8Span(validating: text) } catch { return true }
        var scalars = valid.makeUnicodeScalarIterator()
        while let scalar = scalars.next() { if isVisible(scalar) { return true } }
        return false
    }

    private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
        // Most texts begin with one of these: no table is searched for them.
        if (0x21...0x7e).contains(scalar.value) { return true }
        let properties = scalar.properties
        guard !properties.isWhitespace, !properties.isDefaultIgnorableCodePoint, !properties.isNoncharacterCodePoint,
            properties.generalCategory != .control
        else { return false }
        return !anchors.contains(scalar.value) && !emptyGlyphs.contains(scalar.value)
    }
}

extension NotificationText {
    /// Its texts that are given, empty ones too.
    package var given: [String] { [title, subtitle, body].compactMap(\.self) }

    package var isGiven: Bool { !given.isEmpty }
}
