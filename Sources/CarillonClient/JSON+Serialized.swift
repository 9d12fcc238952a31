extension JSON {
    /// The value as compact JSON: no white space, and only the escapes that RFC 8259 requires.
    ///
    /// Parsing the text gives an equal value. Numbers and the order of members are as they were written.
    public var serialized: String {
        var bytes: [UInt8] = []
        // Parts wait in an array, the next one last, because recursion into the deepest value could overflow the stack.
        var pending = [Pending.value(self)]
        while let next = pending.popLast() {
            switch next {
            case .mark(let mark): bytes.append(mark)
            case .name(let name): Self.append(quoted: name, to: &bytes)
            case .value(.null): bytes.append(contentsOf: "null".utf8)
            case .value(.bool(let flag)): bytes.append(contentsOf: (flag ? "true" : "false").utf8)
            case .value(.number(let number)): bytes.append(contentsOf: number.text.utf8)
            case .value(.string(let text)): Self.append(quoted: text, to: &bytes)
            case .value(.array(let elements)): pending += Self.parts(of: elements).reversed()
            case .value(.object(let members)): pending += Self.parts(of: members).reversed()
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A part of the text that is not written yet.
    private enum Pending {
        case mark(UInt8)
        case name(String)
        case value(JSON)
    }

    private static func parts(of elements: [JSON]) -> [Pending] {
        var parts = [Pending.mark(UInt8(ascii: "["))]
        for (index, element) in elements.enumerated() {
            if index > 0 { parts.append(.mark(UInt8(ascii: ","))) }
            parts.append(.value(element))
        }
        return parts + [.mark(UInt8(ascii: "]"))]
    }

    private static func parts(of members: Object) -> [Pending] {
        var parts = [Pending.mark(UInt8(ascii: "{"))]
        for (index, member) in members.enumerated() {
            if index > 0 { parts.append(.mark(UInt8(ascii: ","))) }
            parts += [.name(member.name), .mark(UInt8(ascii: ":")), .value(member.value)]
        }
        return parts + [.mark(UInt8(ascii: "}"))]
    }

    private static func append(quoted text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""): bytes.append(contentsOf: #"\""#.utf8)
            case UInt8(ascii: "\\"): bytes.append(contentsOf: #"\\"#.utf8)
            case 0x08: bytes.append(contentsOf: #"\b"#.utf8)
            case 0x09: bytes.append(contentsOf: #"\t"#.utf8)
            case 0x0a: bytes.append(contentsOf: #"\n"#.utf8)
            case 0x0c: bytes.append(contentsOf: #"\f"#.utf8)
            case 0x0d: bytes.append(contentsOf: #"\r"#.utf8)
            case 0..<0x20:
                bytes.append(contentsOf: (byte < 0x10 ? #"\u000"# : #"\u00"#).utf8)
                bytes.append(contentsOf: String(byte, radix: 16).utf8)
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}

extension JSON: CustomStringConvertible {
    public var description: String { serialized }
}
