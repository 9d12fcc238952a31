/// Reads JSON strictly: RFC 8259, UTF-8 without a byte order mark, no duplicate names, within limits.
///
/// Two programs that read the same bytes differently make request smuggling possible.
package struct JSONReader {
    private let bytes: [UInt8]
    private let limits: JSONLimits
    private var index = 0
    private var depth = 0
    private var values = 0

    package static func read(_ bytes: [UInt8], limits: JSONLimits = .standard) throws(JSONError) -> JSONValue {
        guard bytes.count <= limits.bytesMax else { throw JSONError(.tooLarge(bytesMax: limits.bytesMax), at: 0) }
        do { return try readAll(bytes, limits) } catch {
            // Check the encoding only after a failure: in valid JSON only strings can hold such bytes.
            guard error.mayBeEncoding, String(validating: bytes, as: UTF8.self) == nil else { throw error }
            throw JSONError(.notUTF8, at: error.offset)
        }
    }

    private static func readAll(_ bytes: [UInt8], _ limits: JSONLimits) throws(JSONError) -> JSONValue {
        var reader = JSONReader(bytes: bytes, limits: limits)
        reader.skipWhiteSpace()
        let value = try reader.readValue()
        reader.skipWhiteSpace()
        guard reader.index == bytes.count else { throw JSONError(.trailingBytes, at: reader.index) }
        return value
    }

    private mutating func readValue() throws(JSONError) -> JSONValue {
        values += 1
        guard values <= limits.valuesMax else {
            throw JSONError(.tooManyValues(valuesMax: limits.valuesMax), at: index)
        }
        switch try peek() {
        case UInt8(ascii: "{"): return .object(try nested { (reader) throws(JSONError) in try reader.readObject() })
        case UInt8(ascii: "["): return .array(try nested { (reader) throws(JSONError) in try reader.readArray() })
        case UInt8(ascii: "\""): return .string(try readString())
        case UInt8(ascii: "t"): return try readLiteral("true", .bool(true))
        case UInt8(ascii: "f"): return try readLiteral("false", .bool(false))
        case UInt8(ascii: "n"): return try readLiteral("null", .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try readNumber())
        case let byte: throw JSONError(.unexpectedByte(byte), at: index)
        }
    }

    private mutating func nested<Value>(
        _ read: (inout JSONReader) throws(JSONError) -> Value
    ) throws(JSONError) -> Value {
        depth += 1
        guard depth <= limits.depthMax else { throw JSONError(.tooDeep(depthMax: limits.depthMax), at: index) }
        index += 1
        skipWhiteSpace()
        let value = try read(&self)
        depth -= 1
        return value
    }

    private mutating func readObject() throws(JSONError) -> JSONObject {
        var members: [JSONMember] = []
        var names = SeenNames()
        if take(UInt8(ascii: "}")) { return JSONObject() }
        while true {
            skipWhiteSpace()
            let start = index
            let quote = try peek()
            guard quote == UInt8(ascii: "\"") else { throw JSONError(.unexpectedByte(quote), at: index) }
            let name = try readString()
            guard names.add(name, among: members) else { throw JSONError(.duplicateName, at: start) }
            skipWhiteSpace()
            try expect(UInt8(ascii: ":"))
            skipWhiteSpace()
            members.append(JSONMember(name, try readValue()))
            skipWhiteSpace()
            if take(UInt8(ascii: "}")) { return JSONObject(members) }
            try expect(UInt8(ascii: ","))
        }
    }

    private mutating func readArray() throws(JSONError) -> [JSONValue] {
        var elements: [JSONValue] = []
        if take(UInt8(ascii: "]")) { return elements }
        while true {
            skipWhiteSpace()
            elements.append(try readValue())
            skipWhiteSpace()
            if take(UInt8(ascii: "]")) { return elements }
            try expect(UInt8(ascii: ","))
        }
    }

    private mutating func readLiteral(_ literal: StaticString, _ value: JSONValue) throws(JSONError) -> JSONValue {
        for byte in literal.description.utf8 { try expect(byte) }
        return value
    }
}

extension JSONReader {
    private mutating func readString() throws(JSONError) -> String {
        let start = index
        index += 1
        var runStart = index
        var unescaped: [UInt8]?
        while true {
            let byte = try peek()
            if byte == UInt8(ascii: "\"") { break }
            guard byte >= 0x20 else { throw JSONError(byte == 0 ? .nulInString : .controlCharacterInString, at: index) }
            if byte == UInt8(ascii: "\\") {
                var text = unescaped.take() ?? []
                text.append(contentsOf: bytes[runStart..<index])
                try readEscape(into: &text)
                unescaped = text
                runStart = index
            } else {
                index += 1
            }
        }
        let run = runStart..<index
        index += 1
        // Most strings are one run without escapes and need no copy.
        guard let unescaped else { return try text(bytes.span.extracting(run), at: start) }
        let whole = unescaped + bytes[run]
        return try text(whole.span, at: start)
    }

    private func text(_ run: Span<UInt8>, at start: Int) throws(JSONError) -> String {
        do { return String(copying: try UTF8Span(validating: run)) } catch { throw JSONError(.notUTF8, at: start) }
    }

    private mutating func readEscape(into text: inout [UInt8]) throws(JSONError) {
        let start = index
        index += 1
        let letter = try peek()
        index += 1
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(letter)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0c)
        case UInt8(ascii: "n"): text.append(0x0a)
        case UInt8(ascii: "r"): text.append(0x0d)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"):
            let scalar = try readEscapedScalar(from: start)
            if scalar.value == 0, limits.refusesNUL { throw JSONError(.nulInString, at: start) }
            text.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
        default: throw JSONError(.badEscape, at: start)
        }
    }

    /// Reads one escape, or the two of a surrogate pair.
    private mutating func readEscapedScalar(from start: Int) throws(JSONError) -> Unicode.Scalar {
        let first = try readFourHexDigits(from: start)
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard first < 0xdc00, take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else {
            throw JSONError(.loneSurrogate, at: start)
        }
        let second = try readFourHexDigits(from: start)
        guard (0xdc00...0xdfff).contains(second),
            let scalar = Unicode.Scalar(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00))
        else { throw JSONError(.loneSurrogate, at: start) }
        return scalar
    }

    private mutating func readFourHexDigits(from start: Int) throws(JSONError) -> UInt32 {
        var number: UInt32 = 0
        for _ in 0..<4 {
            let byte = try peek()
            let digit: UInt8
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = byte - UInt8(ascii: "A") + 10
            default: throw JSONError(.badEscape, at: start)
            }
            number = number << 4 | UInt32(digit)
            index += 1
        }
        return number
    }
}

extension JSONReader {
    private mutating func readNumber() throws(JSONError) -> JSONNumber {
        let start = index
        var isWhole = true
        let isNegative = take(UInt8(ascii: "-"))
        if take(UInt8(ascii: "0")) {
            isWhole = !isNegative
        } else {
            try readDigits(of: start)
        }
        if take(UInt8(ascii: ".")) {
            isWhole = false
            try readDigits(of: start)
        }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            isWhole = false
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            try readDigits(of: start)
        }
        guard index - start <= limits.numberBytesMax else {
            throw JSONError(.numberTooLong(bytesMax: limits.numberBytesMax), at: start)
        }
        let text = String(decoding: bytes[start..<index], as: UTF8.self)
        if isWhole, let integer = Int64(text) { return .whole(integer) }
        return .literal(text)
    }

    private mutating func readDigits(of start: Int) throws(JSONError) {
        let first = index
        while index < bytes.count, bytes[index] >= UInt8(ascii: "0"), bytes[index] <= UInt8(ascii: "9") { index += 1 }
        if index == first { throw JSONError(index < bytes.count ? .badNumber : .endsEarly, at: start) }
    }

    private func peek() throws(JSONError) -> UInt8 {
        guard index < bytes.count else { throw JSONError(.endsEarly, at: index) }
        return bytes[index]
    }

    private mutating func expect(_ byte: UInt8) throws(JSONError) {
        let found = try peek()
        guard found == byte else { throw JSONError(.unexpectedByte(found), at: index) }
        index += 1
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard index < bytes.count, bytes[index] == byte else { return false }
        index += 1
        return true
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

/// The names of one object so far. Many are hashed, so that a client can't cause quadratic time.
private struct SeenNames {
    private var hashed: Set<[UInt8]> = []  // lookup only

    /// Returns false if the name was there before.
    mutating func add(_ name: String, among members: [JSONMember]) -> Bool {
        if members.count < JSONObject.fewMembersMax { return !members.contains { $0.name.hasSameBytes(as: name) } }
        if hashed.isEmpty {
            for member in members { hashed.insert(Array(member.name.utf8)) }
        }
        return hashed.insert(Array(name.utf8)).inserted
    }
}
