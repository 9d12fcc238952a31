import API
import Model
import Requests
import Testing

@Suite("A request to change an app's settings for triggers")
struct TriggerSettingsRequestTests {
    private static func read(_ text: String) throws(Problem) -> TriggerChange {
        try AppChangeRequest.read(Array(#"{"triggers": \#(text)}"#.utf8)).triggers
    }

    @Test("changes the members that it names, and no others")
    func members() throws {
        let nothing = try [Self.read("null"), Self.read("{}")]
        #expect(nothing.allSatisfy { $0.isEmpty })
        let change = try Self.read(
            #"""
            {"enabled": true, "pause_seconds": 0, "allow": ["Double\\.parseDouble\\(\\$\\{[a-z_]+\\}\\) > [0-9.]+"],
             "hooks": {"device": "auth != null", "activation": true, "token": null}}
            """#)
        #expect(change.isEnabled == true && change.pauseSeconds == 0)
        #expect(change.allow == [#"Double\.parseDouble\(\$\{[a-z_]+\}\) > [0-9.]+"#])
        #expect(change.deviceHook == .some("auth != null") && change.activationHook == .some("true"))
        #expect(change.tokenHook == .some(nil))
        let hook = try Self.read(#"{"hooks": {"token": false}}"#)
        #expect(hook.tokenHook == .some("false") && hook.deviceHook == nil && hook.activationHook == nil)
    }

    @Test("removes all patterns with null or an empty list", arguments: ["null", "[]"])
    func noPatterns(list: String) throws {
        #expect(try Self.read(#"{"allow": \#(list)}"#).allow == [])
    }

    private static func patterns(_ count: Int, _ pattern: String = "a") -> String {
        #"{"allow": [\#(Array(repeating: "\"\(pattern)\"", count: count).joined(separator: ","))]}"#
    }

    @Test("takes as many patterns as the limits allow, each as long as they allow")
    func mostPatterns() throws {
        let pattern = String(repeating: "a", count: TriggerSettings.patternBytesMax)
        let change = try Self.read(Self.patterns(TriggerSettings.patternsMax, pattern))
        #expect(change.allow?.count == TriggerSettings.patternsMax)
    }

    private static let refusals: [Refusal] = [
        Refusal("1", .wrongType, "/triggers"), Refusal(#"{"enabled": "yes"}"#, .wrongType, "/triggers/enabled"),
        Refusal(#"{"pause_seconds": 86401}"#, .invalidValue, "/triggers/pause_seconds"),
        Refusal(#"{"allow": "a"}"#, .wrongType, "/triggers/allow"),
        Refusal(#"{"allow": [""]}"#, .invalidValue, "/triggers/allow/0"),
        Refusal(#"{"allow": ["a", 1]}"#, .wrongType, "/triggers/allow/1"),
        Refusal(patterns(TriggerSettings.patternsMax + 1), .valueTooLong, "/triggers/allow"),
        Refusal(patterns(1, String(repeating: "a", count: 513)), .valueTooLong, "/triggers/allow/0"),
        Refusal(#"{"allow": ["a", "(a*)\\1"]}"#, .invalidValue, "/triggers/allow/1"),
        Refusal(#"{"hooks": {"device": 1}}"#, .wrongType, "/triggers/hooks/device"),
        Refusal(#"{"hooks": {"device": "auth =="}}"#, .invalidRules, "/triggers/hooks/device"),
        Refusal(#"{"hooks": {"device": "item == 'a'"}}"#, .invalidRules, "/triggers/hooks/device"),
        Refusal(#"{"hooks": {"activation": ""}}"#, .invalidRules, "/triggers/hooks/activation"),
        Refusal(#"{"hooks": {"modification": "true"}}"#, .unknownMember, "/triggers/hooks/modification"),
        Refusal(#"{"more": 1}"#, .unknownMember, "/triggers/more"),
    ]

    @Test("fails with a problem code and a pointer to the wrong member", arguments: refusals)
    func refused(refusal: Refusal) {
        refusal.check { (bytes) throws(Problem) in
            try AppChangeRequest.read(Array(#"{"triggers": "#.utf8) + bytes + Array("}".utf8))
        }
    }

    @Test("says at which character of a hook the error is")
    func position() {
        let problem = refusal { () throws(Problem) in try Self.read(#"{"hooks": {"token": "true && &&"}}"#) }
        #expect(problem?.position == 9)
    }

    @Test(
        "finds back-references in patterns, and takes an escaped backslash before a digit",
        arguments: [
            (#"(a)\1"#, true), (#"(a)\\\2"#, true), (#"[\]\9"#, true), (#"a\\1"#, false), (#"\d{1,2}\.\d"#, false),
            (#"\0"#, false), ("12", false), (#"a\"#, false),
        ])
    func backReferences(pattern: String, isFound: Bool) {
        #expect(TriggerPattern.hasBackReference(pattern) == isFound)
    }
}
