import JSON
import Model
import Requests
import Testing

@Suite("A request to register a device")
struct RegistrationRequestTests {
    private static func read(_ text: String, as installation: String = "i1") throws(Problem) -> DeviceRegistration {
        try RegistrationRequest.read(Array(text.utf8), installation: installation, now: noon)
    }

    @Test("defaults to production and alerts, and leaves other members unchanged")
    func least() throws {
        let read = try Self.read(#"{"provider": "apns", "token": "00ff"}"#)
        #expect(
            read == DeviceRegistration(installation: "i1", provider: .apns, token: DeviceToken(bytes: [0x00, 0xff])))
    }

    @Test("accepts every member at once")
    func most() throws {
        let read = try Self.read(
            #"""
            {"provider": "apns", "token": "ABcd01", "kind": "live-activity", "environment": "sandbox",
             "topic": "com.example.app", "user": "Zoë", "locale": "fr_CA", "time_zone": "America/Toronto",
             "app_version": "4.2 (17)", "tags": ["news", "sport", "news"], "attributes": {"plan": {"tier": 2.50}},
             "badge": 3, "as_of": "2026-12-01T13:00:00+01:00"}
            """#)
        #expect(
            read
                == DeviceRegistration(
                    installation: "i1", kind: .liveActivity, provider: .apns, environment: .sandbox,
                    topic: "com.example.app", token: DeviceToken(bytes: [0xab, 0xcd, 0x01]),
                    profile: ProfileChange(
                        [
                            .user: .set("Zoë"), .locale: .set("fr_CA"), .timeZone: .set("America/Toronto"),
                            .appVersion: .set("4.2 (17)"),
                        ], tags: .set(["news", "sport"]), attributes: .set(Array(#"{"plan":{"tier":2.50}}"#.utf8))),
                    badge: 3,
                    asOf: noon))
    }

    @Test(
        "takes the bundle id from a topic with the suffix of its kind",
        arguments: [
            ("com.example.app", "voip"), ("com.example.app.voip", "voip"),
            ("com.example.app.location-query", "location"),
            ("com.example.app.push-type.liveactivity", "push-to-start"), ("com.example.app", "alert"),
        ])
    func wholeTopic(topic: String, kind: String) throws {
        let read = try Self.read(
            #"{"topic": "\#(topic)", "kind": "\#(kind)", "provider": "apns", "token": "00"}"#)
        #expect(read.topic == "com.example.app")
    }

    @Test("fails on a topic of another kind, and names the bundle id to use")
    func topicOfAnotherKind() throws {
        let problem = #expect(throws: Problem.self) {
            try Self.read(#"{"provider": "apns", "token": "00", "topic": "com.example.app.voip"}"#)
        }
        #expect(problem?.code == .invalidValue && problem?.pointer == .root / "topic")
        #expect(problem?.detail.contains("the bundle id com.example.app,") == true)
    }

    @Test("clears optional members with null, and treats null as absent elsewhere")
    func nullClears() throws {
        let read = try Self.read(
            #"""
            {"provider": "apns", "token": "00", "kind": null, "environment": null, "topic": null, "user": null,
             "locale": null, "time_zone": null, "app_version": null, "tags": null, "attributes": null, "badge": null,
             "as_of": null}
            """#)
        #expect(
            read
                == DeviceRegistration(
                    installation: "i1", provider: .apns, token: DeviceToken(bytes: [0]),
                    profile: ProfileChange(
                        [.user: .clear, .locale: .clear, .timeZone: .clear, .appVersion: .clear], tags: .clear,
                        attributes: .clear)))
    }

    @Test("accepts an APNs token of any length", arguments: [1, 31, 32, 54, 80, 100, 2_048])
    func anyTokenLength(bytes: Int) throws {
        let read = try Self.read(#"{"provider": "apns", "token": "\#(String(repeating: "5A", count: bytes))"}"#)
        #expect(read.token == DeviceToken(bytes: Array(repeating: 0x5a, count: bytes)))
    }

    @Test("accepts an FCM token of any length, as its bytes", arguments: [1, 2, 152, 163, 1_000, 4_096])
    func anyTextLength(bytes: Int) throws {
        let text = String(repeating: "A:_", count: bytes).prefix(bytes)
        let read = try Self.read(#"{"provider": "fcm", "token": "\#(text)", "kind": "alert", "environment": null}"#)
        #expect(
            read == DeviceRegistration(installation: "i1", provider: .fcm, token: DeviceToken(bytes: Array(text.utf8))))
    }

    @Test("accepts attributes with eight levels")
    func deepAttributes() throws {
        let attributes = #"{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":-1.5e308}}}}}}}}"#
        let read = try Self.read(#"{"provider": "apns", "token": "00", "attributes": \#(attributes)}"#)
        #expect(read.profile.attributes == .set(Array(attributes.utf8)))
    }

    @Test("keeps each tag once, in the order given", arguments: [3, 16, 17, 32])
    func tagsOnce(_ count: Int) throws {
        let tags = (0..<count).map { "tag \($0)" }
        let twice = (tags + tags.reversed()).map { "\"\($0)\"" }.joined(separator: ",")
        let read = try Self.read(#"{"provider": "apns", "token": "00", "tags": [\#(twice)]}"#)
        guard case .set(let kept) = read.profile.tags else { return #expect(Bool(false)) }
        #expect(kept == tags)
    }

    @Test("distinguishes tags that only look alike")
    func tagsByBytes() throws {
        let composed = "caf\u{e9}"
        let decomposed = "cafe\u{301}"
        let read = try Self.read(#"{"provider": "apns", "token": "00", "tags": ["\#(composed)", "\#(decomposed)"]}"#)
        guard case .set(let tags) = read.profile.tags else { return #expect(Bool(false)) }
        #expect(tags.map { $0.unicodeScalars.count } == [4, 5])
    }

    @Test("fails with a problem code and a pointer to the wrong member", arguments: refusals)
    func refused(refusal: Refusal) {
        refusal.check { (bytes) throws(Problem) in
            try RegistrationRequest.read(bytes, installation: "i1", now: noon)
        }
    }

    @Test("fails in the same way in a line of an import", arguments: refusals)
    func refusedLine(refusal: Refusal) {
        // Only an object that begins with a provider can be given an installation.
        guard refusal.input.hasPrefix(#"{"provider""#) else { return }
        let line = #"{"installation":"i1","# + refusal.input.dropFirst()
        Refusal(line, refusal.code, refusal.pointer).check { (bytes) throws(Problem) in
            try RegistrationRequest.readLine(bytes, now: noon)
        }
    }

    @Test("takes any text as the installation in a line of an import")
    func lineNamesInstallation() throws {
        let line = #"{"installation": "a/b c…", "provider": "apns", "token": "00"}"#
        #expect(try RegistrationRequest.readLine(Array(line.utf8), now: noon).installation == "a/b c…")
    }

    @Test(
        "fails in a line of an import without a usable installation",
        arguments: [
            Refusal(#"{"provider": "apns", "token": "00"}"#, .missingMember, "/installation"),
            Refusal(#"{"installation": null, "provider": "apns", "token": "00"}"#, .missingMember, "/installation"),
            Refusal(#"{"installation": "", "provider": "apns", "token": "00"}"#, .invalidValue, "/installation"),
            Refusal(#"{"installation": 7, "provider": "apns", "token": "00"}"#, .wrongType, "/installation"),
            Refusal(#"{"installation": "..", "provider": "apns", "token": "00"}"#, .invalidValue, "/installation"),
            Refusal(#"{"installation": ".", "provider": "apns", "token": "00"}"#, .invalidValue, "/installation"),
            Refusal(#"{"installation": "a\u0000b", "provider": "apns", "token": "00"}"#, .nulCharacter),
            Refusal(
                #"{"installation": "\#(String(repeating: "é", count: 129))", "provider": "apns", "token": "00"}"#,
                .valueTooLong, "/installation"),
        ])
    func lineWithoutInstallation(refusal: Refusal) {
        refusal.check { (bytes) throws(Problem) in try RegistrationRequest.readLine(bytes, now: noon) }
    }

    @Test(
        "fails with the right name if a time zone is written in another way",
        arguments: [("Berlin", "Europe/Berlin"), ("America/NewYork", "America/New_York")])
    func meantZone(zone: String, meant: String) {
        let problem = refusal { () throws(Problem) in
            try Self.read(#"{"provider": "apns", "token": "00", "time_zone": "\#(zone)"}"#)
        }
        #expect(problem?.detail.contains(meant) == true)
    }

    @Test("keeps an offset in the form that the database reads as people do")
    func offset() throws {
        let read = try Self.read(#"{"provider": "apns", "token": "00", "time_zone": "GMT+3"}"#)
        #expect(read.profile[.timeZone] == .set("GMT+03:00"))
    }

    @Test("fails if the body names the installation that the path names")
    func bodyHasNoInstallation() {
        let problem = refusal { () throws(Problem) in
            try Self.read(#"{"provider": "apns", "token": "00", "installation": "i1"}"#)
        }
        #expect(problem?.code == .unknownMember)
        #expect(problem?.pointer?.description == "/installation")
    }

    @Test("keeps the token out of the problem that it causes")
    func tokenIsNotQuoted() {
        let secret = "0badc0de0badc0de0badc0dex"
        let problem = refusal { () throws(Problem) in try Self.read(#"{"provider": "apns", "token": "\#(secret)"}"#) }
        #expect(problem?.code == .invalidToken)
        #expect(problem.map { String(decoding: $0.body, as: UTF8.self).contains("0badc0de") } == false)
    }

    /// A registration with a provider, a token and these members.
    private static func with(_ members: String, _ code: ProblemCode, _ pointer: String? = nil) -> Refusal {
        Refusal(#"{"provider": "apns", "token": "00", \#(members)}"#, code, pointer)
    }

    private static func text(_ count: Int) -> String { String(repeating: "x", count: count) }

    static let refusals: [Refusal] = shapes + tokens + textTokens + keywords + texts + lists + attributes + times

    private static let shapes = [
        Refusal("", .malformedJSON), Refusal(" ", .malformedJSON), Refusal("{", .malformedJSON),
        Refusal("nul", .malformedJSON), Refusal(#"{"provider": "apns",}"#, .malformedJSON),
        Refusal(#"{"provider": "apns"} {}"#, .malformedJSON), Refusal("{'provider': 'apns'}", .malformedJSON),
        Refusal("\u{feff}{}", .malformedJSON), Refusal(#"{"provider": "ap\qns"}"#, .malformedJSON),
        Refusal(#"{"provider": "\ud800"}"#, .malformedJSON), Refusal("{\"provider\": \"a\u{1}\"}", .malformedJSON),
        Refusal(#"{"provider": "apns", "badge": 01}"#, .malformedJSON),
        Refusal(#"{"provider": "apns", "badge": NaN}"#, .malformedJSON),
        Refusal("[]", .wrongType, ""), Refusal("null", .wrongType, ""), Refusal("\"apns\"", .wrongType, ""),
        Refusal("17", .wrongType, ""), Refusal("true", .wrongType, ""),
        Refusal(#"{"provider": "apns", "provider": "apns", "token": "00"}"#, .duplicateMember),
        Refusal(#"{"provider": "apns", "token": "00", "tok\u0065n": "01"}"#, .duplicateMember),
        Refusal(#"{"provider": "apns", "token": "00", "attributes": {"a": 1, "a": 2}}"#, .duplicateMember),
        Refusal(#"{"provider": "apns", "token": "\u0000"}"#, .nulCharacter),
        with(#""user": "a\u0000b""#, .nulCharacter),
        with(#""attributes": {"a\u0000": 1}"#, .nulCharacter),
        with(#""attributes": "# + text(0) + String(repeating: "[", count: 40), .jsonTooComplex),
        with(#""badge": "# + String(repeating: "9", count: 65), .jsonTooComplex),
        with(#""Badge": 1"#, .unknownMember, "/Badge"), with(#""": 1"#, .unknownMember, "/"),
        with(#""a/b~c": 1"#, .unknownMember, "/a~1b~0c"), with(#""id": null"#, .unknownMember, "/id"),
        with("\"\(text(65))\": 1", .unknownMember, ""),
    ]

    private static let tokens = [
        Refusal(#"{"provider": "apns"}"#, .missingMember, "/token"),
        Refusal(#"{"provider": "apns", "token": null}"#, .missingMember, "/token"),
        Refusal(#"{"provider": "apns", "token": 12}"#, .wrongType, "/token"),
        Refusal(#"{"provider": "apns", "token": ["00"]}"#, .wrongType, "/token"),
        Refusal(#"{"provider": "apns", "token": ""}"#, .invalidToken, "/token"),
        Refusal(#"{"provider": "apns", "token": "0"}"#, .invalidToken, "/token"),
        Refusal(#"{"provider": "apns", "token": "00f"}"#, .invalidToken, "/token"),
        Refusal(#"{"provider": "apns", "token": "0g"}"#, .invalidToken, "/token"),
        Refusal(#"{"provider": "apns", "token": "00 ff"}"#, .invalidToken, "/token"),
        Refusal(#"{"provider": "apns", "token": "<00ff>"}"#, .invalidToken, "/token"),
        Refusal(#"{"provider": "apns", "token": " 00"}"#, .invalidToken, "/token"),
        Refusal(#"{"provider": "apns", "token": "0xff"}"#, .invalidToken, "/token"),
        Refusal(#"{"provider": "apns", "token": "٠٠"}"#, .invalidToken, "/token"),
        Refusal(#"{"provider": "apns", "token": "//8="}"#, .invalidToken, "/token"),
        Refusal(
            #"{"provider": "apns", "token": "\#(String(repeating: "00", count: 2_049))"}"#, .invalidToken, "/token"),
    ]

    private static let textTokens = [
        Refusal(#"{"provider": "fcm", "token": ""}"#, .invalidToken, "/token"),
        Refusal(#"{"provider": "fcm", "token": "a b"}"#, .invalidToken, "/token"),
        Refusal(#"{"provider": "fcm", "token": "a\n"}"#, .invalidToken, "/token"),
        Refusal(#"{"provider": "fcm", "token": "a\u007f"}"#, .invalidToken, "/token"),
        Refusal(#"{"provider": "fcm", "token": "tökeñ"}"#, .invalidToken, "/token"),
        Refusal(#"{"provider": "fcm", "token": "a\u0000"}"#, .nulCharacter),
        Refusal(#"{"provider": "fcm", "token": 7}"#, .wrongType, "/token"),
        Refusal(#"{"provider": "fcm", "token": "\#(text(4_097))"}"#, .invalidToken, "/token"),
    ]

    private static let keywords = [
        Refusal(#"{"token": "00"}"#, .missingMember, "/provider"),
        Refusal(#"{"provider": null, "token": "00"}"#, .missingMember, "/provider"),
        Refusal(#"{"provider": "fcm", "token": "t", "kind": "voip"}"#, .kindNotAllowed, "/kind"),
        Refusal(#"{"provider": "fcm", "token": "t", "environment": "sandbox"}"#, .invalidValue, "/environment"),
        Refusal(#"{"provider": "fcm", "token": "t", "topic": "com.example.app"}"#, .invalidValue, "/topic"),
        Refusal(#"{"provider": "hms", "token": "00"}"#, .notSupported, "/provider"),
        Refusal(#"{"provider": "webpush", "token": "00"}"#, .notSupported, "/provider"),
        Refusal(#"{"provider": "APNS", "token": "00"}"#, .invalidValue, "/provider"),
        Refusal(#"{"provider": "", "token": "00"}"#, .invalidValue, "/provider"),
        Refusal(#"{"provider": 1, "token": "00"}"#, .wrongType, "/provider"),
        with(#""kind": "banner""#, .invalidValue, "/kind"), with(#""kind": 1"#, .wrongType, "/kind"),
        with(#""kind": "liveActivity""#, .invalidValue, "/kind"), with(#""kind": """#, .invalidValue, "/kind"),
        with(#""environment": "development""#, .invalidValue, "/environment"),
        with(#""environment": "both""#, .invalidValue, "/environment"),
        with(#""environment": true"#, .wrongType, "/environment"),
        with(#""topic": "com.example app""#, .invalidValue, "/topic"),
        with(#""topic": """#, .invalidValue, "/topic"), with(#""topic": 3"#, .wrongType, "/topic"),
        with(#""topic": "com.exämple""#, .invalidValue, "/topic"),
        with(#""topic": "com.example.*""#, .invalidValue, "/topic"),
        with(#""topic": "https://example.com""#, .invalidValue, "/topic"),
        with(#""topic": "a\nb""#, .invalidValue, "/topic"),
        with(#""topic": "\#(text(256))""#, .valueTooLong, "/topic"),
        with(#""badge": -1"#, .invalidValue, "/badge"), with(#""badge": 2147483648"#, .invalidValue, "/badge"),
        with(#""badge": 1.5"#, .invalidValue, "/badge"), with(#""badge": 1e3"#, .invalidValue, "/badge"),
        with(#""badge": -0"#, .invalidValue, "/badge"), with(#""badge": "3""#, .wrongType, "/badge"),
        with(#""badge": "increment""#, .wrongType, "/badge"), with(#""badge": true"#, .wrongType, "/badge"),
    ]

    private static let texts = [
        with(#""user": """#, .invalidValue, "/user"), with(#""user": 42"#, .wrongType, "/user"),
        with(#""user": "\#(text(257))""#, .valueTooLong, "/user"), with(#""user": "a\tb""#, .invalidValue, "/user"),
        with(#""user": {"id": 1}"#, .wrongType, "/user"), with(#""user": ".""#, .invalidValue, "/user"),
        with(#""user": "..""#, .invalidValue, "/user"),
        with(#""locale": "de CH""#, .invalidValue, "/locale"),
        with(#""locale": "Deutsch!!""#, .invalidValue, "/locale"),
        with(#""locale": """#, .invalidValue, "/locale"),
        with(#""locale": "\#(text(65))""#, .valueTooLong, "/locale"), with(#""locale": []"#, .wrongType, "/locale"),
        with(#""time_zone": "Europe/Z\u00fcrich""#, .invalidValue, "/time_zone"),
        with(#""time_zone": "\#(text(65))""#, .valueTooLong, "/time_zone"),
        with(#""time_zone": "+05:30""#, .invalidValue, "/time_zone"),
        with(#""time_zone": "Berlin""#, .invalidValue, "/time_zone"),
        with(#""time_zone": "Mars/Olympus_Mons""#, .invalidValue, "/time_zone"),
        with(#""time_zone": 3600"#, .wrongType, "/time_zone"),
        with(#""app_version": 4.2"#, .wrongType, "/app_version"),
        with(#""app_version": "\u007f""#, .invalidValue, "/app_version"),
        with(#""app_version": "\#(text(65))""#, .valueTooLong, "/app_version"),
    ]

    private static let lists = [
        with(#""tags": "news""#, .wrongType, "/tags"), with(#""tags": {}"#, .wrongType, "/tags"),
        with(#""tags": ["a", 1]"#, .wrongType, "/tags/1"), with(#""tags": [null]"#, .wrongType, "/tags/0"),
        with(#""tags": ["a", ""]"#, .invalidValue, "/tags/1"), with(#""tags": [["a"]]"#, .wrongType, "/tags/0"),
        with(#""tags": ["a\nb"]"#, .invalidValue, "/tags/0"),
        with(#""tags": ["\#(text(129))"]"#, .valueTooLong, "/tags/0"),
        with(#""tags": [\#((0...64).map { "\"\($0)\"" }.joined(separator: ","))]"#, .valueTooLong, "/tags"),
    ]

    private static let attributes = [
        with(#""attributes": []"#, .wrongType, "/attributes"), with(#""attributes": "x""#, .wrongType, "/attributes"),
        with(#""attributes": {"n": 1e309}"#, .invalidValue, "/attributes/n"),
        with(#""attributes": {"n": [1, -1E-999999]}"#, .invalidValue, "/attributes/n/1"),
        with(#""attributes": {"n": 1e99999999999999999999}"#, .invalidValue, "/attributes/n"),
        with(
            #""attributes": {"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{}}}}}}}}}"#, .invalidValue,
            "/attributes/a/a/a/a/a/a/a/a"),
        with(#""attributes": {"a": "\#(text(8_190))"}"#, .valueTooLong, "/attributes"),
        // The bytes are within the limit; the number of members is not.
        with(
            #""attributes": {"a": [{\#((0...1_023).map { "\"\($0)\":1" }.joined(separator: ","))}]}"#, .valueTooLong,
            "/attributes"),
    ]

    private static let times = [
        with(#""as_of": 1796126400"#, .wrongType, "/as_of"), with(#""as_of": "yesterday""#, .invalidValue, "/as_of"),
        with(#""as_of": "2026-12-01""#, .invalidValue, "/as_of"),
        with(#""as_of": "2026-12-01T12:00:00""#, .invalidValue, "/as_of"),
        with(#""as_of": "2026-02-30T12:00:00Z""#, .invalidValue, "/as_of"),
        with(#""as_of": "2026-12-01T12:05:01Z""#, .invalidValue, "/as_of"),
        with(#""as_of": "9999-12-31T23:59:59Z""#, .invalidValue, "/as_of"),
    ]
}
