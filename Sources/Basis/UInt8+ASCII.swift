/// Classes of ASCII characters. Every property is false above 127.
extension UInt8 {
    @inlinable package var isDigit: Bool { self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9") }
    @inlinable package var isCapital: Bool { self >= UInt8(ascii: "A") && self <= UInt8(ascii: "Z") }
    @inlinable package var isSmallLetter: Bool { self >= UInt8(ascii: "a") && self <= UInt8(ascii: "z") }
    @inlinable package var isLetter: Bool { isCapital || isSmallLetter }
    /// Whether it is printable, and no space.
    @inlinable package var isVisible: Bool { self > UInt8(ascii: " ") && self <= UInt8(ascii: "~") }
}
