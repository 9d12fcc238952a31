/// Writes minimal JSON into one growing buffer: no white space, and only the escapes that RFC 8259 requires.
///
/// The writer sets the commas. The caller must alternate names and values.
package struct JSONWriter: Sendable {
    package private(set) var bytes: [UInt8] = []
    /// Whether this object or array already holds a value, so that a comma must precede the next one.
    private var needsComma = false

    package init(capacity: Int = 256) { bytes.reserveCapacity(capacity) }

    package mutating func beginObject() { open(UInt8(ascii: "{")) }
    package mutating func endObject() { close(UInt8(ascii: "}")) }
    package mutating func beginArray() { open(UInt8(ascii: "[")) }
    package mutating func endArray() { close(UInt8(ascii: "]")) }

    package mutating func name(_ name: String) {
        separate()
        Self.append(quoted: name, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    package mutating func string(_ text: String) {
        separate()
        Self.append(quoted: text, to: &bytes)
    }

    package mutating func integer(_ integer: some BinaryInteger) {
        separate()
        bytes.append(contentsOf: String(integer).utf8)
    }

    package mutating func bool(_ claim: Bool) {
        separate()
        bytes.append(contentsOf: (claim ? "true" : "false").utf8)
    }

    package mutating func null() {
        separate()
        bytes.append(contentsOf: "null".utf8)
    }

    package mutating func raw(_ json: [UInt8]) {
        separate()
        bytes.append(contentsOf: json)
    }

    package mutating func value(_ value: JSONValue) {
        switch value {
        case .null: null()
        case .bool(let claim): bool(claim)
        case .number(.whole(let whole)): integer(whole)
        case .number(.literal(let text)): raw(Array(text.utf8))
        case .string(let text): string(text)
        case .array(let elements):
            beginArray()
            for element in elements { self.value(element) }
            endArray()
        case .object(let object):
            self.object { writer in
                for member in object.members { writer.member(member.name, member.value) }
            }
        }
    }

    private mutating func open(_ bracket: UInt8) {
        separate()
        bytes.append(bracket)
        needsComma = false
    }

    private mutating func close(_ bracket: UInt8) {
        bytes.append(bracket)
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
    }
}

extension JSONWriter {
    package mutating func member(_ name: String, _ text: String) {
        self.name(name)
        string(text)
    }

    package mutating func member(_ name: String, _ integer: some BinaryInteger) {
        self.name(name)
        self.integer(integer)
    }

    package mutating func member(_ name: String, _ claim: Bool) {
        self.name(name)
        bool(claim)
    }

    package mutating func member(_ name: String, raw json: [UInt8]) {
        self.name(name)
        raw(json)
    }

    package mutating func member(_ name: String, _ value: JSONValue) {
        self.name(name)
        self.value(value)
    }
}

extension JSONWriter {
    /// Appends the text with its quotation marks.
    package static func append(quoted text: String, to bytes: inout [UInt8]) {
        let letters = text.utf8.span
        guard hasToEscape(letters) else {
            return bytes.append(addingCapacity: letters.count + 2) { (room: inout OutputSpan<UInt8>) in
                room.append(UInt8(ascii: "\""))
                for place in letters.indices { room.append(letters[place]) }
                room.append(UInt8(ascii: "\""))
            }
        }
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 { append(escaped: byte, to: &bytes) }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func hasToEscape(_ text: Span<UInt8>) -> Bool {
        for place in text.indices where needsEscape(text[place]) { return true }
        return false
    }

    static func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    static func append(escaped byte: UInt8, to bytes: inout [UInt8]) {
        guard needsEscape(byte) else { return bytes.append(byte) }
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case 0x08: bytes.append(UInt8(ascii: "b"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        case 0x0a: bytes.append(UInt8(ascii: "n"))
        case 0x0c: bytes.append(UInt8(ascii: "f"))
        case 0x0d: bytes.append(UInt8(ascii: "r"))
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(byte)
        default:
            bytes.append(contentsOf: "u00".utf8)
            bytes.append(hexadecimalDigit(byte >> 4))
            bytes.append(hexadecimalDigit(byte & 0x0f))
        }
    }

    private static func hexadecimalDigit(_ digit: UInt8) -> UInt8 {
        digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
    }
}

extension JSONValue {
    package var bytes: [UInt8] {
        var writer = JSONWriter()
        writer.value(self)
        return writer.bytes
    }
}

extension JSONWriter {
    /// Appends decimal digits without an intermediate String.
    package static func append(_ number: UInt32, to buffer: inout [UInt8]) {
        var divisor: UInt32 = 1
        while number / divisor >= 10 { divisor *= 10 }
        while divisor > 0 {
            buffer.append(UInt8(ascii: "0") + UInt8(number / divisor % 10))
            divisor /= 10
        }
    }

    /// Appends the inside of a JSON string. Text without escapes, the common case, is copied in one go.
    package static func append(escaping text: Span<UInt8>, to buffer: inout [UInt8]) {
        var index = 0
        buffer.append(addingCapacity: text.count) { (copy: inout OutputSpan<UInt8>) in
            while index < text.count, !needsEscape(text[index]) {
                copy.append(text[index])
                index += 1
            }
        }
        while index < text.count {
            append(escaped: text[index], to: &buffer)
            index += 1
        }
    }
}
