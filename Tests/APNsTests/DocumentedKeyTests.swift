import APNs
import Basis
import Content
import JSON
import Model
import Testing

/// One documented key, with good and bad values.
private struct KeyCase: CustomTestStringConvertible {
    let key: String
    let good: [String]
    let bad: [String]

    var testDescription: String { key }

    init(_ key: String, _ good: [String], not bad: [String]) {
        self.key = key
        self.good = good
        self.bad = bad
    }

    private static func string(_ key: String) -> KeyCase { KeyCase(key, [#""a""#, "\"\""], not: ["1", "{}", "true"]) }
    private static func strings(_ key: String) -> KeyCase {
        KeyCase(key, ["[]", #"["a","b"]"#], not: [#""a""#, "[1]", "{}"])
    }
    private static func flag(_ key: String) -> KeyCase { KeyCase(key, ["1", "0"], not: ["2", "true", #""1""#]) }
    private static func seconds(_ key: String) -> KeyCase {
        KeyCase(key, ["0", "1795348800", "1795348800.5"], not: ["-1", "1795348800250", #""1795348800""#])
    }
    private static func object(_ key: String) -> KeyCase {
        KeyCase(key, ["{}", #"{"a":[1]}"#], not: ["[]", "1", #""a""#])
    }

    /// Source: "Generating a remote notification", "Starting and updating Live Activities".
    static let aps = [
        KeyCase("alert", [#""a""#, "{}", #"{"tomorrow":1}"#], not: ["1", "[]", "true"]),
        KeyCase("badge", ["0", "99", "2147483647"], not: ["-1", "1.5", "2147483648", #""1""#]),
        KeyCase(
            "sound", [#""default""#, "{}", #"{"critical":1,"name":"default","volume":0}"#, #"{"volume":1}"#],
            not: [
                "1", #"{"critical":true}"#, #"{"name":1}"#, #"{"volume":1.1}"#, #"{"volume":-0.1}"#, #"{"volume":"1"}"#,
            ]),
        string("thread-id"), string("category"), string("target-content-id"), string("filter-criteria"),
        flag("content-available"), flag("mutable-content"), flag("input-push-token"), string("input-push-channel"),
        KeyCase(
            "interruption-level", [#""passive""#, #""active""#, #""time-sensitive""#, #""critical""#],
            not: [#""loud""#, "1", #""Active""#]),
        KeyCase("relevance-score", ["0", "0.5", "1"], not: ["1.1", "-1", #""1""#]), seconds("timestamp"),
        seconds("stale-date"), seconds("dismissal-date"),
        KeyCase("event", [#""start""#, #""update""#, #""end""#], not: [#""stop""#, "1"]), object("content-state"),
        object("attributes"), string("attributes-type"), KeyCase("content-changed", ["true"], not: ["1", #""true""#]),
        strings("url-args"), KeyCase("tomorrow", ["1", "{}", "[]", #""a""#, "true"], not: []),
    ]

    static let alert = [
        string("title"), string("subtitle"), string("body"), string("launch-image"), string("title-loc-key"),
        strings("title-loc-args"), string("subtitle-loc-key"), strings("subtitle-loc-args"), string("loc-key"),
        strings("loc-args"), string("action-loc-key"), string("action"), string("summary-arg"),
        KeyCase("summary-arg-count", ["0", "3"], not: ["-1", #""3""#]),
        KeyCase("tomorrow", ["1", "{}", "[]", #""a""#, "true"], not: []),
    ]
}

/// Returns the place of the refusal, or nil if the content is accepted.
private func refused(aps: String, _ type: PushType = .alert) throws -> String? {
    let content = MessageContent(
        sound: type == .alert ? "default" : nil, options: MessageOptions(pushType: type),
        overrides: [.apns: JSONText(try JSONReader.read(Array(#"{"aps":\#(aps)}"#.utf8)))])
    do throws(ProviderFault) {
        _ = try APNsNotification.compile(content, message: MessageID(UniversalID(high: 1, low: 2)))
        return nil
    } catch {
        #expect(error.code == "invalid_value")
        return error.pointer?.description
    }
}

@Suite("A documented key of the apns object")
struct DocumentedKeyTests {
    @Test("takes only values of its documented type inside aps", arguments: KeyCase.aps)
    private func aps(wanted: KeyCase) throws {
        for good in wanted.good { #expect(try refused(aps: #"{"\#(wanted.key)":\#(good)}"#) == nil, "\(good)") }
        for bad in wanted.bad {
            let place = try #require(try refused(aps: #"{"\#(wanted.key)":\#(bad)}"#), "\(bad)")
            #expect(place.hasPrefix("/apns/aps/\(wanted.key)"))
        }
    }

    @Test("takes only values of its documented type inside an alert", arguments: KeyCase.alert)
    private func alert(wanted: KeyCase) throws {
        for good in wanted.good {
            #expect(try refused(aps: #"{"alert":{"\#(wanted.key)":\#(good)}}"#) == nil, "\(good)")
        }
        for bad in wanted.bad {
            #expect(
                try refused(aps: #"{"alert":{"\#(wanted.key)":\#(bad)}}"#) == "/apns/aps/alert/\(wanted.key)", "\(bad)")
        }
    }

    @Test("takes values in a Live Activity that an alert may not have")
    func activity() throws {
        for good in [
            #""relevance-score":75.5"#, #""relevance-score":-1"#,
            #""alert":{"title":{"loc-key":"K","loc-args":["a"]}}"#,
            #""alert":{"body":{"loc-key":"K"},"sound":"horn"}"#,
        ] {
            #expect(try refused(aps: #"{"event":"end",\#(good)}"#, .liveActivity) == nil, "\(good)")
        }
        for (bad, place) in [
            (#"{"title":{"loc-key":1}}"#, "title/loc-key"),
            (#"{"title":{"loc-key":"K","loc-args":[1]}}"#, "title/loc-args"),
            (#"{"body":{}}"#, "body"), (#"{"subtitle":{"loc-key":"K"}}"#, "subtitle"),
        ] {
            #expect(
                try refused(aps: #"{"event":"end","alert":\#(bad)}"#, .liveActivity) == "/apns/aps/alert/\(place)")
        }
    }
}
