import JSON
import Model

extension StoredContent {
    /// The bytes at the start of a stored content from which a list reads the common text. They are as long as a
    /// payload, so nearly always they have the whole text.
    package static let excerptBytes = 4_096

    /// Reads the common text, shortened, from the first bytes of what `encode` wrote; nil: the message has none.
    package static func excerpt(_ start: [UInt8]) -> TextInLanguage? {
        var reader = ExcerptReader(start)
        guard reader.skip(#"{"push_type":"#), reader.skipDigits(), reader.skip(#","notification":{"#) else {
            return nil
        }
        var text = NotificationText()
        while let name = reader.string(), reader.skip(":"), let value = reader.string() {
            if let part = NotificationPart(rawValue: name) { text[part] = value }
            guard reader.skip(",") else { break }
        }
        guard [text.title, text.subtitle, text.body].contains(where: { $0?.isEmpty == false }) else { return nil }
        return TextInLanguage(language: nil, title: text.title, body: text.body).shortened
    }
}

/// Reads the beginning of a JSON text, which may end anywhere.
private struct ExcerptReader {
    private var remaining: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { remaining = bytes[...] }

    mutating func skip(_ text: StaticString) -> Bool {
        let bytes = Array(text.description.utf8)
        guard remaining.starts(with: bytes) else { return false }
        remaining = remaining.dropFirst(bytes.count)
        return true
    }

    mutating func skipDigits() -> Bool {
        let others = remaining.drop { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        defer { remaining = others }
        return others.count < remaining.count
    }

    /// Reads a string, or what there is of it.
    mutating func string() -> String? {
        guard skip("\"") else { return nil }
        var end = remaining.startIndex
        while end < remaining.endIndex, remaining[end] != UInt8(ascii: "\"") {
            end += remaining[end] == UInt8(ascii: "\\") ? 2 : 1
        }
        guard end < remaining.endIndex else {
            let text = Self.longest(remaining)
            remaining = []
            return text
        }
        let text = Self.decode(remaining[..<end])
        remaining = remaining[(end + 1)...]
        return text
    }

    /// A surrogate pair in escapes, without its last byte.
    private static let brokenBytesMax = 11

    /// The text without the character at whose bytes it was cut.
    private static func longest(_ cut: ArraySlice<UInt8>) -> String? {
        (0...brokenBytesMax).lazy.compactMap { decode(cut.dropLast($0)) }.first
    }

    private static func decode(_ inside: ArraySlice<UInt8>) -> String? {
        let quote = [UInt8(ascii: "\"")]
        return (try? JSONReader.read(quote + inside + quote, limits: .trusted))?.string
    }
}
