import JSON
import Model
import Requests
import Testing
import TriggerRules

@Suite("An activation that is not valid")
struct ActivationRefusalTests {
    private static func with(_ members: String, _ code: ProblemCode, _ pointer: String? = nil) -> Refusal {
        Refusal(ActivationRequestTests.activation(members), code, pointer)
    }

    private static func list(_ count: Int) -> String {
        "[" + (0..<count).map { "\"n\($0)\"" }.joined(separator: ",") + "]"
    }

    static let scope: [Refusal] = [
        Refusal("", .malformedJSON), Refusal("{}", .missingMember, "/items"),
        Refusal(#"{"items": ["i"]}"#, .missingMember, "/fields"), Refusal(#"{"items": "i"}"#, .wrongType, "/items"),
        Refusal(#"{"items": []}"#, .invalidValue, "/items"), Refusal(#"{"items": [1]}"#, .wrongType, "/items/0"),
        Refusal(#"{"items": ["a", "a"]}"#, .invalidValue, "/items/1"),
        Refusal(#"{"items": ["a/b"]}"#, .invalidValue, "/items/0"),
        Refusal(#"{"items": [""]}"#, .invalidValue, "/items/0"),
        Refusal(#"{"items": \#(list(51))}"#, .valueTooLong, "/items"),
        Refusal(#"{"items": ["i"], "fields": \#(list(51))}"#, .valueTooLong, "/fields"),
        Refusal(#"{"items": ["i"], "fields": ["a", "{b}"]}"#, .invalidValue, "/fields/1"),
        Refusal(
            #"{"items": ["\#(String(repeating: "n", count: ItemName.bytesMax + 1))"]}"#, .valueTooLong, "/items/0"),
        with(#""mode": "COMMAND""#, .modeNotSupported, "/mode"), with(#""mode": "RAW""#, .modeNotSupported, "/mode"),
        with(#""mode": "UNFILTERED""#, .modeNotSupported, "/mode"), with(#""mode": "merge""#, .invalidValue, "/mode"),
        with(#""selector": "price > 1""#, .modeNotSupported, "/selector"), with(#""mode": 1"#, .wrongType, "/mode"),
        with(#""coalescing": "true""#, .wrongType, "/coalescing"),
        with(#""pause_seconds": -1"#, .invalidValue, "/pause_seconds"),
        with(#""pause_seconds": 86401"#, .invalidValue, "/pause_seconds"),
        with(#""when_paused": "oldest""#, .invalidValue, "/when_paused"),
        with(#""expires_at": "2026-12-01T12:00:00Z""#, .invalidValue, "/expires_at"),
        with(#""expires_at": "tomorrow""#, .invalidValue, "/expires_at"),
        with(#""device": {"provider": "apns", "token": "xx"}"#, .invalidToken, "/device/token"),
        with(#""device": 1"#, .wrongType, "/device"), with(#""snapshot": true"#, .unknownMember, "/snapshot"),
    ]

    static let pushes: [Refusal] = [
        with(#""badge": "auto""#, .invalidValue, "/badge"), with(#""badge": -1"#, .invalidValue, "/badge"),
        with(#""badge": true"#, .invalidValue, "/badge"), with(#""badge": "1.5""#, .invalidValue, "/badge"),
        with(#""delay_while_idle": "yes""#, .invalidValue, "/delay_while_idle"),
        with(#""delay_while_idle": 1"#, .wrongType, "/delay_while_idle"),
        with(#""time_to_live": "2419201""#, .invalidValue, "/time_to_live"),
        with(#""time_to_live": "5 min""#, .wrongType, "/time_to_live"),
        with(#""collapse_key": """#, .invalidValue, "/collapse_key"),
        with(#""category": "a", "notification": {"title": "a", "category": "b"}"#, .invalidValue, "/category"),
        with(#""thread": "a", "notification": {"title": "a", "thread": "a"}"#, .invalidValue, "/thread"),
        with(#""notification": {"text": "a"}"#, .unknownMember, "/notification/text"),
        with(#""data": {"aps": {}}"#, .reservedKey, "/data/aps"), with(#""data": []"#, .wrongType, "/data"),
        with(#""apns": [{}]"#, .wrongType, "/apns"), with(#""hms": {}"#, .notSupported, "/hms"),
        with(#""fcm": {"notification": {"title": "a"}}"#, .notForBackground, "/fcm/notification"),
        with(#""fcm": {"android": {"notification": {}}}"#, .notForBackground, "/fcm/android/notification"),
        with(
            #""badge": 1, "fcm": {"webpush": {"notification": {"tag": "a"}}}"#, .notForBackground,
            "/fcm/webpush/notification"),
        with(#""data": {"a": "\#(String(repeating: "x", count: 65_536))"}"#, .valueTooLong, ""),
    ]

    static let texts: [Refusal] = [
        with(#""notification": {"title": "${nam}"}"#, .fieldNotSubscribed, "/notification/title"),
        with(#""notification": {"title": "a", "thread": "$[2]"}"#, .fieldNotSubscribed, "/notification/thread"),
        with(
            #""notification": {"localizations": {"fr": {"body": "$[0]"}}}"#, .fieldNotSubscribed,
            "/notification/localizations/fr/body"),
        with(#""category": "${nam}""#, .fieldNotSubscribed, "/category"),
        with(#""sound": "${nam}.caf""#, .fieldNotSubscribed, "/sound"),
        with(#""collapse_key": "${nam}""#, .fieldNotSubscribed, "/collapse_key"),
        with(#""data": {"a": [{"b": "${nam}"}]}"#, .fieldNotSubscribed, "/data/a/0/b"),
        with(#""apns": {"aps": {"alert": "${nam}"}}"#, .fieldNotSubscribed, "/apns/aps/alert"),
        with(#""fcm": {"data": {"a": "${nam}"}}"#, .fieldNotSubscribed, "/fcm/data/a"),
        with(#""notification": {"title": "${price"}"#, .invalidTemplate, "/notification/title"),
        with(#""notification": {"title": "${}"}"#, .invalidTemplate, "/notification/title"),
        with(#""data": {"a": "$[price]"}"#, .invalidTemplate, "/data/a"),
        with(#""notification": {"body": "Dear {{user}}"}"#, .invalidTemplate, "/notification/body"),
        with(#""data": {"a": "{{"}"#, .invalidTemplate, "/data/a"),
        with(#""collapse_key": "${price""#, .invalidTemplate, "/collapse_key"),
    ]

    private static let deep = String(repeating: "(", count: 17) + "1 > 0" + String(repeating: ")", count: 17)
    private static let long = "1 > 0" + String(repeating: " ", count: TriggerLimits.textBytesMax)

    static let triggers: [Refusal] = [
        with(#""trigger": 1"#, .wrongType, "/trigger"), with(#""trigger": """#, .invalidTrigger, "/trigger"),
        with(#""trigger": "Double.parseDouble(${price})""#, .invalidTrigger, "/trigger"),
        with(#""trigger": "Double.parseDouble(${nam}) > 1""#, .fieldNotSubscribed, "/trigger"),
        with(#""trigger": "Math.abs(${price}) > 1""#, .invalidTrigger, "/trigger"),
        with(#""trigger": "${price} == \"a\"""#, .invalidTrigger, "/trigger"),
        with(#""trigger": "Double.parseDouble(${price}) > NaN""#, .invalidTrigger, "/trigger"),
        with(#""trigger": "Double.parseDouble(${price}) > 1e999""#, .invalidTrigger, "/trigger"),
        with(#""trigger": "Double.parseDouble(${price) > 1""#, .invalidTrigger, "/trigger"),
        with(#""trigger": "\#(deep)""#, .invalidTrigger, "/trigger"),
        with(#""trigger": "\#(long)""#, .invalidTrigger, "/trigger"),
    ]

    @Test("fails with a problem code and a pointer to the wrong member", arguments: scope + pushes)
    func members(refusal: Refusal) {
        refusal.check { (bytes) throws(Problem) in
            try ActivationRequest.read(bytes, installation: "phone", now: noon)
        }
    }

    @Test("fails with a problem code and a pointer to the wrong text or trigger", arguments: texts + triggers)
    func languages(refusal: Refusal) {
        refusal.check { (bytes) throws(Problem) in
            try ActivationRequest.read(bytes, installation: "phone", now: noon)
        }
    }

    @Test(
        "says at which character of a text or a trigger the error is",
        arguments: [
            (#""notification": {"title": "é ${x}"}"#, 3), (#""data": {"a": "ab {{"}"#, 4),
            (#""trigger": "Double.parseDouble(${nam}) > 1""#, 20), (#""trigger": "1 > 0 &&""#, 9),
            (#""category": "a${x}""#, 2), (#""trigger": "\#(long)""#, 1),
        ])
    func position(members: String, position: Int) {
        let problem = refusal { () throws(Problem) in
            try ActivationRequestTests.read(ActivationRequestTests.activation(members))
        }
        #expect(problem?.position == position)
        #expect(problem?.detail.hasPrefix("At character \(position) of the ") == true)
    }
}
