/// Classes of ASCII characters.
extension UInt8 {
    @inlinable package var isDigit: Bool { self >= 0x30 && self <= 0x39 }
    @inlinable package var isCapital: Bool { self >= 0x41 && self <= 0x5a }
    @inlinable package var isSmallLetter: Bool { self >= 0x61 && self <= 0x7a }
    @inlinable package var isLetter: Bool { isCapital || isSmallLetter }
    /// Whether it is printable, and no space.
    @inlinable package var isVisible: Bool { self > 0x20 && self < 0x7f }
}
