import JSON
import Testing
import WakeUpRules

@Suite("The payload of a wake-up")
struct WakeUpShapingTests {
    private static func address(_ path: String = "/some/webcom/path") -> WakeUpAddress {
        WakeUpAddress(app: "toto", path: NodePath(stored: path))
    }

    private static func text(_ payload: WakeUpPayload) -> String { String(decoding: payload.bytes, as: UTF8.self) }

    private static func value(_ json: String, fits: WakeUpShaping.Fits = { _ in true }) -> WakeUpPayload {
        WakeUpShaping.value(.json(Array(json.utf8)), of: address(), fits: fits)
    }

    @Test("has the structure and the 114 bytes of the document's example")
    func example() {
        let payload = Self.value(#"{"a":"WGj2WtQWVEjQGhQqb7r678xW3PwWmB4Z3zj"}"#)
        let example =
            #"{"s":"OK","t":"value","app":"toto","sp":"/some/webcom/path","#
            + #""d":"{\"a\":\"WGj2WtQWVEjQGhQqb7r678xW3PwWmB4Z3zj\"}"}"#
        #expect(Self.text(payload) == example)
        #expect(payload.bytes.count == 114)
    }

    @Test(
        "holds a value whole up to 4,063 bytes as they are sent, with escapes",
        arguments: ["x", "é", "🔔", "\"", "\\", "\n", "/", "\u{1}"])
    func border(letter: String) throws {
        func payload(_ count: Int, _ filling: Int) -> WakeUpPayload {
            let text = String(repeating: letter, count: count) + String(repeating: "x", count: filling)
            return Self.value(String(decoding: JSONValue.string(text).bytes, as: UTF8.self))
        }
        let empty = payload(0, 0).bytes.count
        let perLetter = payload(1, 0).bytes.count - empty
        let (count, filling) = (4_063 - empty).quotientAndRemainder(dividingBy: perLetter)
        let whole = payload(count, filling)
        #expect(whole.bytes.count == 4_063)
        #expect(Self.text(whole).hasPrefix(#"{"s":"OK""#))
        #expect(
            Self.text(payload(count, filling + 1))
                == #"{"s":"TooBig","t":"value","app":"toto","sp":"/some/webcom/path"}"#)
    }

    @Test("holds no value if the provider takes less, or the data was not read")
    func provider() {
        let refused = Self.value("1") { !Self.text($0).contains("OK") }
        #expect(Self.text(refused) == #"{"s":"TooBig","t":"value","app":"toto","sp":"/some/webcom/path"}"#)
        #expect(WakeUpShaping.value(.tooBig, of: Self.address(), fits: { _ in true }) == refused)
    }

    private static func changes(_ count: Int, _ json: String = "1") -> ChildChanges {
        var changes = ChildChanges()
        for number in 0..<count {
            changes.note("\(1_000 + number)", existed: number.isMultiple(of: 2), now: .json(Array(json.utf8)))
        }
        return changes
    }

    @Test("holds children, then their keys alone, then the news alone, as they become more")
    func children() {
        func status(_ changes: ChildChanges?) -> String? {
            let payload = WakeUpShaping.childEvent(changes, of: Self.address(), fits: { _ in true })
            return payload.members.first { $0.name == "s" }?.value.string
        }
        // `\"1000\":1,` has 11 bytes, and `\"1000\":true,` 14; the rest is the frame.
        #expect(status(Self.changes(359)) == "OK")
        #expect(status(Self.changes(360)) == "TooBig")
        #expect(status(Self.changes(282, "123456")) == "OnlyKeys")
        #expect(status(Self.changes(283, "123456")) == "TooBig")
        #expect(status(Self.changes(1, String(repeating: "1", count: 4_063))) == "OnlyKeys")
        #expect(status(nil) == "TooBig")
    }

    @Test("names no children if they are too many")
    func tooMany() {
        let payload = WakeUpShaping.childEvent(nil, of: Self.address("/"), fits: { _ in true })
        #expect(
            Self.text(payload)
                == #"{"s":"TooBig","t":"childEvent","app":"toto","sp":"/","added":"{}","removed":"[]","changed":"{}"}"#)
    }

    @Test("names a child that came and went, because the app may have read it")
    func fleeting() {
        var changes = ChildChanges()
        changes.note("a", existed: false, now: nil)
        changes.note("b", existed: true, now: nil)
        #expect(changes.removed == ["a", "b"])
        #expect(changes.added.isEmpty && changes.changed.isEmpty)
    }
}
