import Basis

/// A request line and its fields, parsed or refused as a whole.
/// Source: RFC 9112, sections 2 to 6; RFC 9110, section 5.6.2 for the bytes of a token.
struct HTTP1Head {
    enum Framing: Equatable {
        case none
        case length(Int)
        case chunked
    }

    private(set) var method = ""
    private(set) var path = ""
    /// Names in lower case, in order.
    private(set) var fields: [HeaderLine] = []
    private(set) var framing = Framing.none

    /// An empty head, for answers before a head was parsed.
    init() {}

    /// - Parameter bytes: all lines, including the empty one at the end.
    init(_ bytes: ArraySlice<UInt8>) throws(HTTP1Session.Fault) {
        var lines = try HTTP1Head.lines(bytes)
        guard !lines.isEmpty else { throw .malformed }
        try read(requestLine: lines.removeFirst())
        guard lines.count <= HTTP1Session.fieldsMax else { throw .headTooLarge }
        for line in lines { fields.append(try HTTP1Head.field(line)) }
        // The host must be named exactly once. Source: RFC 9112, section 3.2.
        guard fields.count(where: { $0.name == "host" }) == 1 else { throw .malformed }
        framing = try readFraming()
    }

    func value(_ name: String) -> String? { fields.first { $0.name == name }?.value }

    var keepsAlive: Bool { value("connection")?.lowercased() != "close" }
    var expectsContinue: Bool { value("expect")?.lowercased() == "100-continue" }

    private static func lines(_ bytes: ArraySlice<UInt8>) throws(HTTP1Session.Fault) -> [ArraySlice<UInt8>] {
        var lines: [ArraySlice<UInt8>] = []
        var remaining = bytes
        while let end = remaining.firstIndex(of: 0x0a) {
            guard end > remaining.startIndex, remaining[end - 1] == 0x0d else { throw .malformed }
            let line = remaining[remaining.startIndex..<(end - 1)]
            guard !line.contains(0x0d), !line.contains(0) else { throw .malformed }
            if !line.isEmpty { lines.append(line) }
            remaining = remaining[(end + 1)...]
        }
        return lines
    }

    private mutating func read(requestLine line: ArraySlice<UInt8>) throws(HTTP1Session.Fault) {
        let parts = line.split(separator: 0x20, omittingEmptySubsequences: false)
        guard parts.count == 3, !parts[0].isEmpty, parts[0].allSatisfy(HTTP1Head.isTokenByte),
            parts[1].first == UInt8(ascii: "/"), parts[1].allSatisfy(\.isVisible)
        else { throw .malformed }
        guard parts[2].elementsEqual("HTTP/1.1".utf8) else {
            throw parts[2].starts(with: "HTTP/".utf8) ? .versionUnknown : .malformed
        }
        method = String(decoding: parts[0], as: UTF8.self)
        path = String(decoding: parts[1], as: UTF8.self)
    }

    private static func field(_ line: ArraySlice<UInt8>) throws(HTTP1Session.Fault) -> HeaderLine {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex else { throw .malformed }
        let name = line[line.startIndex..<colon]
        // White space before the colon, or at the beginning (a folded line), is no token byte.
        guard name.allSatisfy(isTokenByte) else { throw .malformed }
        var value = line[(colon + 1)...]
        while let first = value.first, first == 0x20 || first == 0x09 { value = value.dropFirst() }
        while let last = value.last, last == 0x20 || last == 0x09 { value = value.dropLast() }
        guard value.allSatisfy({ $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 }),
            let text = String(validating: value, as: UTF8.self)
        else { throw .malformed }
        return HeaderLine(name: String(decoding: name, as: UTF8.self).lowercased(), value: text)
    }

    private func readFraming() throws(HTTP1Session.Fault) -> Framing {
        let lengths = fields.filter { $0.name == "content-length" }
        let encodings = fields.filter { $0.name == "transfer-encoding" }
        if let encoding = encodings.first {
            // Both together allow request smuggling.
            guard lengths.isEmpty, encodings.count == 1 else { throw .malformed }
            guard encoding.value.lowercased() == "chunked" else { throw .encodingUnknown }
            return .chunked
        }
        guard let length = lengths.first else { return .none }
        guard lengths.count == 1, !length.value.isEmpty, length.value.utf8.count <= 18,
            length.value.utf8.allSatisfy(\.isDigit), let count = Int(length.value)
        else { throw .malformed }
        return .length(count)
    }

    static func isName(_ text: String) -> Bool { !text.isEmpty && text.utf8.allSatisfy(isTokenByte) }
    static func isValue(_ text: String) -> Bool { text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f } }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        byte.isLetter || byte.isDigit || "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
}
