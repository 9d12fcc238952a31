import Basis
import Calendar
import CommandLine
import JSON
import Logging

/// The form of the log: for people, or for log collectors.
package enum LogFormat: String, CaseIterable, Sendable {
    /// `time level message  name=value name=value`
    case text
    /// One object per line: `time`, `level`, `label`, `module` and `message`, and a member for each field.
    case json
}

/// One event in the log: one line, whatever its texts contain.
///
/// Control characters, line ends and marks that turn the direction of text are escaped: no text can forge a line.
package struct LogLine {
    private let time: WallInstant
    private let label: String
    private let module: String
    private let level: Logger.Level
    private let message: String
    private let metadata: [(name: String, value: Logger.MetadataValue)]

    /// The length at which a text is cut: what a peer wrote may be long, and a line is held in memory.
    package static let textBytesMax = 8_192
    /// The members of every object. Metadata with such a name gets an underscore behind it.
    private static let ownNames: Set<String> = ["time", "level", "label", "module", "message"]

    package init(_ event: LogEvent, label: String, metadata: Logger.Metadata, time: WallInstant) {
        // RFC 3339 with milliseconds: fewer digits say less, and more would appear only on some lines.
        self.time = WallInstant(microseconds: time.microseconds / 1_000 * 1_000)
        self.label = label
        module = event.source
        level = event.level
        message = event.message.description
        var all = metadata.map { (name: $0.key, value: $0.value) }
        if let error = event.error { all.append(("error", "\(error)")) }
        self.metadata = all.sorted { $0.name < $1.name }
    }

    /// The line, with the line feed at its end.
    package func bytes(_ format: LogFormat) -> [UInt8] {
        switch format {
        case .text: Array((text + "\n").utf8)
        case .json: json + [UInt8(ascii: "\n")]
        }
    }

    /// The message comes first, because a person reads it first. Label and module stand in JSON only.
    private var text: String {
        let sentence = "\(RFC3339.format(time)) \(level.rawValue) \(Self.clean(message))"
        let fields = Self.fields(metadata)
        return fields.isEmpty ? sentence : "\(sentence)  \(fields)"
    }

    private static func fields(_ metadata: [(name: String, value: Logger.MetadataValue)]) -> String {
        metadata.map { "\(clean($0.name))=\(quoted(shown($0.value)))" }.joined(separator: " ")
    }

    private static func shown(_ value: Logger.MetadataValue) -> String {
        switch value {
        case .string, .stringConvertible: value.description
        case .array(let elements): elements.map(shown).joined(separator: ", ")
        case .dictionary(let members):
            fields(members.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) })
        }
    }

    private static func clean(_ text: String) -> String { TerminalText.clean(cut(text)) }

    /// The text, in quotation marks if its end would not be visible otherwise.
    private static func quoted(_ text: String) -> String {
        let clean = clean(text)
        guard clean.isEmpty || clean.contains(where: { $0 == " " || $0 == "\"" || $0 == "=" }) else { return clean }
        return "\"\(clean.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
    }

    private static func cut(_ text: String) -> String {
        guard text.utf8.count > textBytesMax else { return text }
        // A character that is cut in two becomes the replacement character.
        return String(decoding: text.utf8.prefix(textBytesMax), as: UTF8.self) + "..."
    }

    private var json: [UInt8] {
        JSONWriter.body { writer in
            writer.member("time", RFC3339.format(time))
            writer.member("level", level.rawValue)
            for (name, text) in [("label", label), ("module", module), ("message", message)] {
                writer.member(name, raw: Self.quoted(text))
            }
            for (name, value) in metadata {
                Self.write(Self.ownNames.contains(name) ? name + "_" : name, value, &writer)
            }
        }
    }

    private static func write(_ name: String, _ value: Logger.MetadataValue, _ writer: inout JSONWriter) {
        // A name is escaped like a text; the writer only knows names that need less.
        writer.name(TerminalText.clean(cut(name)))
        write(value, &writer)
    }

    private static func write(_ value: Logger.MetadataValue, _ writer: inout JSONWriter) {
        switch value {
        case .string(let text): writer.raw(quoted(text))
        case .stringConvertible(let number as any BinaryInteger): writer.integer(number)
        case .stringConvertible(let claim as Bool): writer.bool(claim)
        case .stringConvertible(let other): writer.raw(quoted(other.description))
        case .array(let elements):
            writer.beginArray()
            for element in elements { write(element, &writer) }
            writer.endArray()
        case .dictionary(let members):
            writer.object {
                for (name, value) in members.sorted(by: { $0.key < $1.key }) { write(name, value, &$0) }
            }
        }
    }

    /// JSON asks for escapes below U+0020 only. Readers that split lines, and terminals, act on more characters.
    private static func quoted(_ text: String) -> [UInt8] {
        var bytes: [UInt8] = []
        // Some log stores stumble over a NUL, PostgreSQL for one.
        JSONWriter.append(quoted: cut(text).replacing("\0", with: "\u{fffd}"), to: &bytes)
        let quoted = String(decoding: bytes, as: UTF8.self)
        guard quoted.unicodeScalars.contains(where: TerminalText.isHostile) else { return bytes }
        bytes.removeAll(keepingCapacity: true)
        for scalar in quoted.unicodeScalars {
            if TerminalText.isHostile(scalar) {
                // All of them have at most four digits.
                let digits = String(scalar.value, radix: 16)
                bytes += Array(("\\u" + String(repeating: "0", count: 4 - digits.count) + digits).utf8)
            } else {
                bytes += UTF8.encode(scalar).map(Array.init) ?? []
            }
        }
        return bytes
    }
}
