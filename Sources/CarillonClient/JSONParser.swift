extension JSON {
    /// The deepest nesting of arrays and objects that the parser accepts.
    ///
    /// No payload of the gateway is deeper. A level of objects takes eight of its 4,063 bytes (`{\"a\":` and `}`), and
    /// arrays nest at most 32 levels. Swift frees a value recursively, and a thread of an app may have no more than
    /// 512 KB of stack.
    public static let depthMax = 600

    /// Parses JSON strictly: RFC 8259, no duplicate names, no lone surrogates, at most `depthMax` levels.
    ///
    /// The text must hold one value, with nothing but white space around it.
    public init(parsing text: String) throws(ParsingError) {
        var parser = JSONParser(utf8: Array(text.utf8))
        self = try parser.parse()
    }

    /// Parses JSON strictly, as `init(parsing:)` of a text does, and refuses bytes that are not UTF-8.
    public init(parsing bytes: [UInt8]) throws(ParsingError) {
        // Decoding replaces invalid sequences, so that the copy differs from the first of them on.
        let copy = Array(String(decoding: bytes, as: UTF8.self).utf8)
        if copy != bytes {
            let valid = zip(copy, bytes).prefix { $0 == $1 }.count
            throw ParsingError(.notUTF8, at: valid)
        }
        var parser = JSONParser(utf8: copy)
        self = try parser.parse()
    }
}

/// Parses one JSON value without recursion: the containers that are not closed yet stand in an array.
struct JSONParser {
    /// Valid UTF-8. A slice between two ASCII characters is therefore valid, too.
    private let bytes: [UInt8]
    private var index = 0
    private var open: [OpenContainer] = []

    /// An array or object whose end has not been read.
    private struct OpenContainer {
        let isObject: Bool
        /// The names of an object, one more than its values while a value is being read; empty for an array.
        var names: [(text: String, offset: Int)] = []
        var values: [JSON] = []
    }

    init(utf8 bytes: [UInt8]) { self.bytes = bytes }

    mutating func parse() throws(JSON.ParsingError) -> JSON {
        skipWhiteSpace()
        while true {
            guard let value = try readValueOrOpen() else { continue }
            guard let document = try attach(value) else { continue }
            skipWhiteSpace()
            guard index == bytes.count else { throw JSON.ParsingError(.trailingBytes, at: index) }
            return document
        }
    }

    /// Reads a scalar or an empty container. nil after the beginning of a container: its first value comes next.
    private mutating func readValueOrOpen() throws(JSON.ParsingError) -> JSON? {
        switch try peek() {
        case UInt8(ascii: "{"):
            try open(isObject: true)
            if take(UInt8(ascii: "}")) { return try close() }
            try readName()
            return nil
        case UInt8(ascii: "["):
            try open(isObject: false)
            return take(UInt8(ascii: "]")) ? try close() : nil
        case UInt8(ascii: "\""): return .string(try readString())
        case UInt8(ascii: "t"): return try readLiteral("true", .bool(true))
        case UInt8(ascii: "f"): return try readLiteral("false", .bool(false))
        case UInt8(ascii: "n"): return try readLiteral("null", .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try readNumber())
        default: throw JSON.ParsingError(.unexpectedByte, at: index)
        }
    }

    /// Puts the value into its container and closes all containers that end behind it.
    ///
    /// Returns the whole document once no container is open, and nil if another value follows.
    private mutating func attach(_ value: JSON) throws(JSON.ParsingError) -> JSON? {
        var value = value
        while let isObject = open.last?.isObject {
            open[open.count - 1].values.append(value)
            skipWhiteSpace()
            if take(UInt8(ascii: ",")) {
                skipWhiteSpace()
                if isObject { try readName() }
                return nil
            }
            try expect(isObject ? UInt8(ascii: "}") : UInt8(ascii: "]"))
            value = try close()
        }
        return value
    }

    private mutating func open(isObject: Bool) throws(JSON.ParsingError) {
        guard open.count < JSON.depthMax else { throw JSON.ParsingError(.tooDeep, at: index) }
        open.append(OpenContainer(isObject: isObject))
        index += 1
        skipWhiteSpace()
    }

    /// Only called while a container is open.
    private mutating func close() throws(JSON.ParsingError) -> JSON {
        let container = open.removeLast()
        guard container.isObject else { return .array(container.values) }
        try refuseDuplicates(container.names)
        return .object(JSON.Object(unique: zip(container.names, container.values).map { ($0.text, $1) }))
    }

    /// Sorts the names, because comparing all with all would take quadratic time.
    private func refuseDuplicates(_ names: [(text: String, offset: Int)]) throws(JSON.ParsingError) {
        let sorted = names.sorted { $0.text.precedesInBytes($1.text) }
        for (name, following) in zip(sorted, sorted.dropFirst()) where name.text.hasSameBytes(as: following.text) {
            throw JSON.ParsingError(.duplicateName, at: max(name.offset, following.offset))
        }
    }

    /// Reads a name and its colon, up to the value.
    private mutating func readName() throws(JSON.ParsingError) {
        let start = index
        guard try peek() == UInt8(ascii: "\"") else { throw JSON.ParsingError(.unexpectedByte, at: index) }
        let name = try readString()
        skipWhiteSpace()
        try expect(UInt8(ascii: ":"))
        skipWhiteSpace()
        open[open.count - 1].names.append((name, start))
    }
}

extension JSONParser {
    private mutating func readLiteral(_ literal: String, _ value: JSON) throws(JSON.ParsingError) -> JSON {
        for byte in literal.utf8 { try expect(byte) }
        return value
    }

    private mutating func readNumber() throws(JSON.ParsingError) -> JSON.Number {
        guard let end = JSON.Number.end(in: bytes, from: index) else { throw JSON.ParsingError(.badNumber, at: index) }
        defer { index = end }
        return JSON.Number(checked: String(decoding: bytes[index..<end], as: UTF8.self))
    }

    private mutating func readString() throws(JSON.ParsingError) -> String {
        index += 1
        var text: [UInt8] = []
        while true {
            let byte = try peek()
            switch byte {
            case UInt8(ascii: "\""):
                index += 1
                return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"): text.append(contentsOf: try readEscape())
            case 0..<0x20: throw JSON.ParsingError(.controlCharacter, at: index)
            default:
                text.append(byte)
                index += 1
            }
        }
    }

    private mutating func readEscape() throws(JSON.ParsingError) -> [UInt8] {
        let start = index
        index += 1
        let letter = try peek()
        index += 1
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [letter]
        case UInt8(ascii: "b"): return [0x08]
        case UInt8(ascii: "f"): return [0x0c]
        case UInt8(ascii: "n"): return [0x0a]
        case UInt8(ascii: "r"): return [0x0d]
        case UInt8(ascii: "t"): return [0x09]
        case UInt8(ascii: "u"): return Array(String(Character(try readEscapedScalar(from: start))).utf8)
        default: throw JSON.ParsingError(.badEscape, at: start)
        }
    }

    /// Reads the digits of one escape, or of the two that make a surrogate pair.
    private mutating func readEscapedScalar(from start: Int) throws(JSON.ParsingError) -> Unicode.Scalar {
        let first = try readFourHexDigits(from: start)
        if let scalar = Unicode.Scalar(first) { return scalar }
        // A number that is no scalar value is a surrogate; the pair begins with a high one.
        guard first < 0xdc00, take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else {
            throw JSON.ParsingError(.loneSurrogate, at: start)
        }
        let second = try readFourHexDigits(from: start)
        guard (0xdc00...0xdfff).contains(second),
            let scalar = Unicode.Scalar(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00))
        else { throw JSON.ParsingError(.loneSurrogate, at: start) }
        return scalar
    }

    private mutating func readFourHexDigits(from start: Int) throws(JSON.ParsingError) -> UInt32 {
        var number: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = Character(Unicode.Scalar(try peek())).hexDigitValue else {
                throw JSON.ParsingError(.badEscape, at: start)
            }
            number = number << 4 | UInt32(digit)
            index += 1
        }
        return number
    }

    private func peek() throws(JSON.ParsingError) -> UInt8 {
        guard index < bytes.count else { throw JSON.ParsingError(.endsEarly, at: index) }
        return bytes[index]
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard index < bytes.count, bytes[index] == byte else { return false }
        index += 1
        return true
    }

    private mutating func expect(_ byte: UInt8) throws(JSON.ParsingError) {
        guard try peek() == byte else { throw JSON.ParsingError(.unexpectedByte, at: index) }
        index += 1
    }

    private mutating func skipWhiteSpace() {
        while index < bytes.count {
            switch bytes[index] {
            case 0x20, 0x09, 0x0a, 0x0d: index += 1
            default: return
            }
        }
    }
}
