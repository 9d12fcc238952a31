import Basis
import Foundation
import JSON
import Logging
import Server
import Synchronization
import Testing

@Suite("A line of the log")
struct LogLineTests {
    private static let noon = WallInstant(microseconds: 1_796_299_200_123_456)

    private func event(
        _ message: String, _ metadata: Logger.Metadata = [:], level: Logger.Level = .info, error: (any Error)? = nil
    ) -> LogEvent {
        LogEvent(
            level: level, message: "\(message)", error: error, metadata: metadata, source: "Delivery", file: "f",
            function: "f", line: 1)
    }

    private func line(
        _ format: LogFormat, _ message: String, _ metadata: Logger.Metadata = [:], error: (any Error)? = nil
    ) -> String {
        let line = LogLine(event(message, error: error), label: "carillon", metadata: metadata, time: Self.noon)
        return String(decoding: line.bytes(format), as: UTF8.self)
    }

    private func parsed(_ message: String, _ metadata: Logger.Metadata = [:]) throws -> JSONObject {
        try #require(try JSONReader.read(Array(line(.json, message, metadata).utf8)).object)
    }

    @Test("consists of one JSON object with time, level, label, module, message and metadata")
    func json() {
        #expect(
            line(.json, "A lane can send", ["credential": "7", "app": "demo"])
                == #"{"time":"2026-12-03T12:00:00.123Z","level":"info","label":"carillon","module":"Delivery","#
                + #""message":"A lane can send","app":"demo","credential":"7"}"# + "\n")
    }

    @Test("begins with the message as text; its values follow, in quotation marks around blanks")
    func text() {
        #expect(
            line(.text, "A lane can send", ["credential": "7", "event": "opened = \"yes\"", "cause": ""])
                == "2026-12-03T12:00:00.123Z info A lane can send  cause=\"\" credential=7 "
                + "event=\"opened = \\\"yes\\\"\"\n")
    }

    @Test("ends with the message as text if there are no values")
    func withoutValues() {
        #expect(line(.text, "A lane can send") == "2026-12-03T12:00:00.123Z info A lane can send\n")
    }

    @Test("lists the members of a structure as text, in order")
    func structureAsText() {
        let whole = line(
            .text, "Started", ["settings": ["LISTEN": "[::1]:80", "DATA_DIR": "a b"], "all": ["x", "y"]])
        #expect(whole.hasSuffix("Started  all=\"x, y\" settings=\"DATA_DIR=\\\"a b\\\" LISTEN=[::1]:80\"\n"))
    }

    private static let hard: [String] = [
        "two\nlines\r\n", "tab\tNUL\0bell\u{7}escape\u{1b}[2J", "quote\" back\\slash \\u0041 \\n", "delete\u{7f}",
        "C1 \u{85}\u{9b}31m", "ends of lines \u{2028}\u{2029}", "turned \u{202e}\u{2066}", "caf\u{e9} 🔔 e\u{301}", "",
        String(decoding: [0x61, 0xff, 0xc3, 0x28, 0xed, 0xa0, 0x80, 0xf0, 0x9f], as: UTF8.self), "</script>{\"a\":1}",
    ]

    @Test("gives every text back from JSON, in printable characters only", arguments: hard)
    func hardJSON(text: String) throws {
        let whole = line(.json, text, ["value": "\(text)", "name \(text)": "v", "list": ["\(text)"]])
        #expect(isOneCleanLine(whole))
        let object = try #require(try JSONReader.read(Array(whole.utf8)).object)
        let given = text.replacing("\0", with: "\u{fffd}")
        #expect(object["message"]?.string == given)
        #expect(object["value"]?.string == given)
        #expect(object["list"] == [.string(given)])
    }

    @Test("stays one line of printable characters as text", arguments: hard)
    func hardText(text: String) {
        #expect(isOneCleanLine(line(.text, text, ["value": "\(text)", "name \(text)": "v"])))
    }

    private func isOneCleanLine(_ line: String) -> Bool {
        line.hasSuffix("\n")
            && line.unicodeScalars.dropLast().allSatisfy { scalar in
                switch scalar.properties.generalCategory {
                case .control, .lineSeparator, .paragraphSeparator, .format: false
                default: true
                }
            }
    }

    @Test("never repeats a member's name, whatever the metadata is called")
    func ownNames() throws {
        let object = try parsed("said", ["message": "m", "time": "t", "level": "l"])
        #expect(
            object.members.map(\.name) == [
                "time", "level", "label", "module", "message", "level_", "message_", "time_",
            ])
        #expect(object["message"]?.string == "said")
    }

    @Test("keeps numbers, booleans and structure in JSON")
    func structure() throws {
        let object = try parsed(
            "m",
            ["count": .stringConvertible(3), "isLast": .stringConvertible(true), "all": ["b": "2", "a": ["x", "y"]]])
        #expect(object["count"]?.integer == 3)
        #expect(object["isLast"] == .bool(true))
        #expect(object["all"] == ["a": ["x", "y"], "b": "2"])
    }

    @Test("shortens an endless text", arguments: LogFormat.allCases)
    func long(format: LogFormat) throws {
        let whole = line(
            format, String(repeating: "\u{e9}", count: 1_000_000), ["v": "\(String(repeating: "x", count: 99_999))"])
        #expect(whole.utf8.count < 3 * LogLine.textBytesMax)
        if format == .json { _ = try JSONReader.read(Array(whole.utf8)) }
    }

    @Test("contains the error that a library adds")
    func error() throws {
        struct Removed: Error {}
        #expect(line(.text, "m", error: Removed()).hasSuffix("m  error=Removed()\n"))
    }

    @Test("contains the metadata of logger and event, and the event's takes precedence")
    func handler() throws {
        let lines = Lines()
        var handler = LineLogHandler(label: "carillon", format: .json) { lines.add($0) }
        handler.metadata = ["process": "1", "app": "none"]
        handler.log(event: event("first", ["app": "demo"], level: .warning))
        handler.log(event: event("second"))
        let objects = try lines.all.map { try #require(try JSONReader.read($0).object) }
        #expect(objects.map { $0["app"]?.string } == ["demo", "none"])
        #expect(objects.map { $0["process"]?.string } == ["1", "1"])
        #expect(objects.map { $0["level"]?.string } == ["warning", "info"])
    }

    private final class Lines: Sendable {
        private let held = Mutex<[[UInt8]]>([])
        func add(_ line: [UInt8]) { held.withLock { $0.append(line) } }
        var all: [[UInt8]] { held.withLock { $0 } }
    }
}
