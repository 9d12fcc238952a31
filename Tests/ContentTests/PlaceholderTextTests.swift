import Content
import JSON
import TestSupport
import Testing

@Suite("JSON with placeholders")
struct PlaceholderTextTests {
    private static let pieces = [
        "", "a", "\"", "\\", "\n", "\u{1}", "\u{7f}", "ä", "€", "\u{2028}", "\u{2029}", "🔔", "{{", "}}", "\u{fdcf}",
        "\u{fdf0}", "\u{ffff}", "/", "</script>", "\r\t\u{8}\u{c}", "\u{fffd}", " ",
    ]

    private static func text(_ random: inout SeededGenerator) -> String {
        (0..<Int.random(in: 0...6, using: &random)).map { _ in
            pieces[Int.random(in: 0..<pieces.count, using: &random)]
        }.joined()
    }

    private static func escaped(_ text: String) -> [UInt8] {
        var bytes: [UInt8] = []
        JSONWriter.append(escaping: Array(text.utf8).span, to: &bytes)
        return bytes
    }

    /// A value with marks in its texts, and the same value with the texts that the marks stand for.
    private static func values(
        _ values: [String], depth: Int, _ random: inout SeededGenerator
    ) -> (marked: JSONValue, filled: JSONValue) {
        switch Int.random(in: 0..<(depth > 0 ? 5 : 3), using: &random) {
        case 0: return (.number(.whole(7)), .number(.whole(7)))
        case 1, 2:
            var (marked, filled) = ("", "")
            for _ in 0..<Int.random(in: 0...4, using: &random) {
                let literal = text(&random)
                let placeholder = Int.random(in: 0..<values.count, using: &random)
                marked += literal + PlaceholderMark.text(placeholder)
                filled += literal + values[placeholder]
            }
            return (.string(marked), .string(filled))
        case 3:
            let inner = (0..<3).map { _ in Self.values(values, depth: depth - 1, &random) }
            return (.array(inner.map(\.marked)), .array(inner.map(\.filled)))
        default:
            let inner = (0..<3).map { _ in Self.values(values, depth: depth - 1, &random) }
            let names = (0..<3).map { "\($0)" + text(&random) }
            return (
                .object(JSONObject(zip(names, inner).map { JSONMember($0, $1.marked) })),
                .object(JSONObject(zip(names, inner).map { JSONMember($0, $1.filled) }))
            )
        }
    }

    @Test(
        "yields valid JSON with the values in its strings, of the predicted size",
        arguments: 1...20 as ClosedRange<UInt64>)
    func filled(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<200 {
            // Numbers of one digit and of two.
            var texts = (0..<70).map { _ in "" }
            for place in texts.indices where place % 7 == 0 { texts[place] = Self.text(&random) }
            let (marked, filled) = Self.values(texts, depth: 3, &random)
            let text = PlaceholderText(marked: marked.bytes)
            let own = text.places.map { place -> [UInt8] in
                guard case .placeholder(let number, isNested: false) = place else { return Array("!".utf8) }
                return Self.escaped(texts[number])
            }
            let bytes = text.bytes(filledWith: own)
            #expect(bytes == filled.bytes, "seed \(seed)")
            #expect(try JSONReader.read(bytes, limits: .trusted) == filled)
            let size = zip(text.occurrences, own).reduce(text.fixedBytes) { $0 + $1.0 * $1.1.count }
            #expect(size == bytes.count)
        }
    }

    @Test("escapes values twice inside a string that itself holds JSON", arguments: 1...20 as ClosedRange<UInt64>)
    func nested(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<100 {
            let texts = (0..<40).map { _ in Self.text(&random) }
            let (marked, filled) = Self.values(texts, depth: 2, &random)
            let outer = JSONValue.string(PlaceholderMark.nesting(String(decoding: marked.bytes, as: UTF8.self)))
            let text = PlaceholderText(marked: outer.bytes)
            let own = text.places.map { place -> [UInt8] in
                guard case .placeholder(let number, isNested: true) = place else { return [0] }
                return Self.escaped(String(decoding: Self.escaped(texts[number]), as: UTF8.self))
            }
            let read = try JSONReader.read(text.bytes(filledWith: own), limits: .trusted)
            let inner = try #require(read.string)
            #expect(try JSONReader.read(Array(inner.utf8), limits: .trusted) == filled, "seed \(seed)")
        }
    }

    @Test("distinguishes every placeholder mark from the others and from ordinary text")
    func marks() {
        let all = (0..<PlaceholderMark.placeholdersMax).map(PlaceholderMark.text)
        let text = PlaceholderText(marked: JSONValue.string(all.joined()).bytes)
        #expect(text.places == (0..<PlaceholderMark.placeholdersMax).map { .placeholder($0, isNested: false) })
        #expect(all.allSatisfy { $0.unicodeScalars.allSatisfy(PlaceholderMark.isPart) })
        #expect(!Self.pieces.joined().unicodeScalars.contains(where: PlaceholderMark.isPart))
    }
}
