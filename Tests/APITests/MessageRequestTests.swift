import Model
import Requests
import Testing

@Suite("A request to send a message")
struct MessageRequestTests {
    static func read(_ text: String) throws(Problem) -> MessageRequest {
        try MessageRequest.read(Array(text.utf8))
    }

    @Test("needs no member but the audience")
    func least() throws {
        let read = try Self.read(#"{"audience": {"all": true}}"#)
        #expect(read.audience == .all)
        #expect(read.contents[0] == MessageContent())
    }

    @Test("produces one message per record of a list, with the other members shared")
    func records() throws {
        let read = try Self.read(
            #"""
            {"audience": {"all": true}, "data": {"a": 1},
             "apns": [{"aps": {"alert": "My first push"}}, {"aps": {"alert": {"title": "Push"}}, "new_ids": ["XV234"]}]}
            """#)
        #expect(read.contents.count == 2)
        #expect(read.contents.map(\.data).allSatisfy { $0 == [DataMember(name: "a", json: JSONText(1))] })
        #expect(read.contents[0].overrides[.apns] == JSONText(["aps": ["alert": "My first push"]]))
        #expect(
            read.contents[1].overrides[.apns] == JSONText(["aps": ["alert": ["title": "Push"]], "new_ids": ["XV234"]]))
    }

    @Test(
        "fails with a pointer to a record list that is empty, too long or malformed",
        arguments: [
            ("[]", "/apns"), (#"[{}, 1]"#, "/apns/1"), (#"["aps"]"#, "/apns/0"),
            ("[" + Array(repeating: "{}", count: 17).joined(separator: ",") + "]", "/apns"),
        ])
    func badRecords(list: String, pointer: String) {
        let problem = #expect(throws: Problem.self) {
            try Self.read(#"{"audience": {"all": true}, "apns": \#(list)}"#)
        }
        #expect(problem?.pointer?.description == pointer)
    }

    @Test("accepts every member at once")
    func most() throws {
        let read = try Self.read(
            #"""
            {"audience": {"installations": ["a", "b/ö", "a"], "providers": ["fcm", "apns", "fcm"], "kind": "alert"},
             "notification": {"title": "Carillon", "subtitle": "", "body": "Twelve\no'clock",
                              "localizations": {"fr": {"body": "Midi"}, "zh-Hant_TW": {"title": null}, "de-AT": {}}},
             "badge": 7, "sound": "bell.caf", "data": {"article": "42", "deep": {"a": [1, null, 1.0]}, "nothing": null},
             "options": {"priority": "normal", "ttl_seconds": 0, "collapse_id": "noon", "push_type": "background",
                         "device_local_time": false, "dry_run": true},
             "fcm": {"android": {"notification": {"channel_id": "news"}}},
             "apns": {"aps": {"interruption-level": "time-sensitive", "new-key": 1}, "own": true}}
            """#)
        #expect(
            read.audience == Audience(.installations(["a", "b/ö"]), providers: [.fcm, .apns], kind: .alert))
        #expect(
            read.contents[0]
                == MessageContent(
                    notification: NotificationText(title: "Carillon", subtitle: "", body: "Twelve\no'clock"),
                    localizations: [
                        Localization(locale: "fr", text: NotificationText(body: "Midi")),
                        Localization(locale: "zh-Hant_TW", text: NotificationText()),
                        Localization(locale: "de-AT", text: NotificationText()),
                    ],
                    badge: .value(7), sound: "bell.caf",
                    data: [
                        DataMember(name: "article", json: JSONText("42")),
                        DataMember(name: "deep", json: JSONText(bytes: Array(#"{"a":[1,null,1.0]}"#.utf8))),
                    ],
                    options: MessageOptions(
                        priority: .normal, ttlSeconds: 0, collapseID: "noon", pushType: .background, isDryRun: true),
                    overrides: [
                        .apns: JSONText(
                            bytes: Array(
                                #"{"aps":{"interruption-level":"time-sensitive","new-key":1},"own":true}"#.utf8)),
                        .fcm: JSONText(bytes: Array(#"{"android":{"notification":{"channel_id":"news"}}}"#.utf8)),
                    ]))
    }

    @Test("accepts users, tags, a filter, stale devices and tokens as the audience", arguments: 0..<selections.count)
    func selection(place: Int) throws {
        let (text, expected) = Self.selections[place]
        #expect(try Self.read(#"{"audience": \#(text)}"#).audience == Audience(expected))
    }

    private static let selections: [(String, Audience.Selection)] = [
        (#"{"users": ["ann", "b/ö", "ann"], "all": null}"#, .users(["ann", "b/ö"])),
        (#"{"tags": {"any": ["a", "b", "a"]}}"#, .tags(TagExpression(any: ["a", "b"]))),
        (
            #"{"tags": {"all": ["c"], "none": ["d", "e"]}}"#,
            .tags(TagExpression(all: ["c"], none: ["d", "e"]))
        ),
        (#"{"tags": {"none": ["d"]}}"#, .tags(TagExpression(none: ["d"]))),
        (#"{"stale": true, "all": null}"#, .stale([])),
        (
            #"{"filter": "attributes.plan in ['pro', \"team\"]\n and tags has 'ö'"}"#,
            .filter("attributes.plan in ['pro', \"team\"]\n and tags has 'ö'")
        ),
        (
            #"{"tokens": [{"provider": "apns", "token": "00fF"}, {"provider": "fcm", "token": "c:x-_!"}]}"#,
            .tokens([
                InlineTarget(
                    provider: .apns, environment: .production, topic: "", token: DeviceToken(bytes: [0, 255])),
                InlineTarget(
                    provider: .fcm, environment: .production, topic: "", token: DeviceToken(bytes: Array("c:x-_!".utf8))
                ),
            ])
        ),
        (
            #"{"tokens": [{"provider": "apns", "environment": "sandbox", "topic": "com.example.app.voip", "token": "ab"}]}"#,
            .tokens([
                InlineTarget(
                    provider: .apns, environment: .sandbox, topic: "com.example.app", token: DeviceToken(bytes: [0xab]))
            ])
        ),
    ]

    @Test("treats null as absent")
    func nullIsAbsence() throws {
        let read = try Self.read(
            #"""
            {"audience": {"all": true, "installations": null, "tags": null}, "notification": null, "badge": null,
             "sound": null, "data": null, "options": {"priority": null, "send_at": null}, "apns": null, "fcm": null}
            """#)
        #expect(read == (try Self.read(#"{"audience": {"all": true}}"#)))
    }

    @Test("distinguishes installations whose names only look alike")
    func installationsByBytes() throws {
        let read = try Self.read("{\"audience\": {\"installations\": [\"\u{e9}\", \"e\u{301}\", \"\u{e9}\"]}}")
        guard case .installations(let names) = read.audience.selection else { return #expect(Bool(false)) }
        #expect(names.map { $0.unicodeScalars.count } == [1, 2])
    }

    @Test(
        "accepts an audience kind that its push type can reach",
        arguments: [
            ("alert", "alert"), ("background", "alert"), ("voip", "voip"), ("liveactivity", "live-activity"),
            ("liveactivity", "push-to-start"),
        ])
    func ownKind(type: String, kind: String) throws {
        let read = try Self.read(
            #"{"audience": {"all": true, "kind": "\#(kind)"}, "options": {"push_type": "\#(type)"}}"#)
        #expect(read.audience.kind?.name == kind)
    }

    @Test("produces a list if the records are in an array, even for one record")
    func isList() throws {
        #expect(try Self.read(#"{"audience": {"all": true}, "apns": [{}]}"#).isList)
        #expect(try !Self.read(#"{"audience": {"all": true}, "apns": {}}"#).isList)
    }

    @Test("accepts increment as the badge")
    func increment() throws {
        #expect(try Self.read(#"{"audience": {"all": true}, "badge": "increment"}"#).contents[0].badge == .increment)
    }

    @Test("fails with a problem code and a pointer to the wrong member", arguments: refusals)
    func refused(refusal: Refusal) {
        refusal.check { (bytes) throws(Problem) in try MessageRequest.read(bytes) }
    }

    /// A message to all devices with these members.
    private static func with(_ members: String, _ code: ProblemCode, _ pointer: String? = nil) -> Refusal {
        Refusal(#"{"audience": {"all": true}, \#(members)}"#, code, pointer)
    }

    private static func to(_ audience: String, _ code: ProblemCode, _ pointer: String? = nil) -> Refusal {
        Refusal(#"{"audience": \#(audience)}"#, code, pointer)
    }

    static let refusals: [Refusal] =
        audiences + selections(of: "users", 256, 10_000) + tags + tokens + notifications + badges + members + options
        + others

    private static let audiences = [
        Refusal("{}", .missingMember, "/audience"), Refusal("", .malformedJSON), Refusal("[{}]", .wrongType, ""),
        to("null", .missingMember, "/audience"), to("\"all\"", .wrongType, "/audience"),
        to("[]", .wrongType, "/audience"), to("{}", .invalidValue, "/audience"),
        to(#"{"all": false}"#, .invalidValue, "/audience/all"), to(#"{"all": 1}"#, .wrongType, "/audience/all"),
        to(#"{"all": "true"}"#, .wrongType, "/audience/all"),
        to(#"{"all": true, "installations": ["i1"]}"#, .invalidValue, "/audience"),
        to(#"{"stale": false}"#, .invalidValue, "/audience/stale"),
        to(#"{"stale": 270}"#, .wrongType, "/audience/stale"),
        to(#"{"stale": true, "all": true}"#, .invalidValue, "/audience"),
        to(#"{"all": false, "installations": []}"#, .invalidValue, "/audience/all"),
        to(#"{"installations": "i1"}"#, .wrongType, "/audience/installations"),
        to(#"{"installations": {"0": "i1"}}"#, .wrongType, "/audience/installations"),
        to(#"{"installations": ["i1", 2]}"#, .wrongType, "/audience/installations/1"),
        to(#"{"installations": [null]}"#, .wrongType, "/audience/installations/0"),
        to(#"{"installations": ["i1", "", "i2"]}"#, .invalidValue, "/audience/installations/1"),
        to(
            #"{"installations": ["\#(String(repeating: "x", count: 257))"]}"#, .valueTooLong,
            "/audience/installations/0"),
        to(
            #"{"installations": [\#((0...10_000).map { "\"\($0)\"" }.joined(separator: ","))]}"#, .valueTooLong,
            "/audience/installations"),
        to(#"{"installations": ["a\u0000"]}"#, .nulCharacter),
        to(#"{"filter": "true"}"#, .invalidFilter, "/audience/filter"),
        to(#"{"filter": ""}"#, .invalidValue, "/audience/filter"),
        to(#"{"filter": 7}"#, .wrongType, "/audience/filter"),
        to(#"{"all": true, "filter": "user exists"}"#, .invalidValue, "/audience"),
        to(#"{"users": ["u"], "tags": {"any": ["t"]}}"#, .invalidValue, "/audience"),
        to(#"{"providers": ["apns"]}"#, .invalidValue, "/audience"),
        to(#"{"all": true, "providers": "apns"}"#, .wrongType, "/audience/providers"),
        to(#"{"all": true, "providers": ["apns", "gcm"]}"#, .invalidValue, "/audience/providers/1"),
        to(#"{"all": true, "providers": ["apns", "hms"]}"#, .notSupported, "/audience/providers/1"),
        to(#"{"all": true, "providers": [1]}"#, .wrongType, "/audience/providers/0"),
        to(
            #"{"all": true, "providers": ["apns", "apns", "apns", "apns", "apns"]}"#, .valueTooLong,
            "/audience/providers"),
        to(#"{"all": true, "kind": "Alert"}"#, .invalidValue, "/audience/kind"),
        to(#"{"all": true, "kind": "voip"}"#, .notForPushType, "/audience/kind"),
        Refusal(
            #"{"audience": {"all": true, "kind": "alert"}, "options": {"push_type": "voip"}}"#, .notForPushType,
            "/audience/kind"),
        to(#"{"all": true, "kind": 1}"#, .wrongType, "/audience/kind"),
        to(#"{"everyone": true}"#, .unknownMember, "/audience/everyone"),
        to(#"{"all": true, "all": true}"#, .duplicateMember),
    ]

    private static func selections(of name: String, _ bytesMax: Int, _ countMax: Int) -> [Refusal] {
        [
            to(#"{"\#(name)": "x"}"#, .wrongType, "/audience/\(name)"),
            to(#"{"\#(name)": ["x", null]}"#, .wrongType, "/audience/\(name)/1"),
            to(#"{"\#(name)": [""]}"#, .invalidValue, "/audience/\(name)/0"),
            to(
                #"{"\#(name)": ["\#(String(repeating: "x", count: bytesMax + 1))"]}"#, .valueTooLong,
                "/audience/\(name)/0"),
            to(
                #"{"\#(name)": [\#((0...countMax).map { "\"\($0)\"" }.joined(separator: ","))]}"#, .valueTooLong,
                "/audience/\(name)"),
        ]
    }

    private static let tags = [
        to(#"{"tags": ["t"]}"#, .wrongType, "/audience/tags"),
        to(#"{"tags": {}}"#, .invalidValue, "/audience/tags"),
        to(#"{"tags": {"all": [], "none": []}}"#, .invalidValue, "/audience/tags"),
        to(#"{"tags": {"some": ["t"]}}"#, .unknownMember, "/audience/tags/some"),
        to(#"{"tags": {"any": "t"}}"#, .wrongType, "/audience/tags/any"),
        to(#"{"tags": {"all": ["t", 1]}}"#, .wrongType, "/audience/tags/all/1"),
        to(#"{"tags": {"none": [""]}}"#, .invalidValue, "/audience/tags/none/0"),
        to(
            #"{"tags": {"any": ["\#(String(repeating: "x", count: 129))"]}}"#, .valueTooLong, "/audience/tags/any/0"),
        to(
            #"{"tags": {"any": [\#((0...32).map { "\"\($0)\"" }.joined(separator: ","))]}}"#, .valueTooLong,
            "/audience/tags/any"),
    ]

    private static func token(_ members: String, _ code: ProblemCode, _ member: String = "") -> Refusal {
        to(#"{"tokens": [{"provider": "fcm", "token": "x"}, {\#(members)}]}"#, code, "/audience/tokens/1" + member)
    }

    private static let tokens = [
        to(#"{"tokens": {}}"#, .wrongType, "/audience/tokens"),
        to(#"{"tokens": ["ab"]}"#, .wrongType, "/audience/tokens/0"),
        to(
            #"{"tokens": [\#((0...1_000).map { _ in "{}" }.joined(separator: ","))]}"#, .valueTooLong,
            "/audience/tokens"),
        token(#""token": "ab""#, .missingMember, "/provider"),
        token(#""provider": "apns""#, .missingMember, "/token"),
        token(#""provider": "gcm", "token": "ab""#, .invalidValue, "/provider"),
        token(#""provider": "hms", "token": "ab""#, .notSupported, "/provider"),
        token(#""provider": "webpush", "token": "ab""#, .notSupported, "/provider"),
        token(#""provider": "apns", "token": 1"#, .wrongType, "/token"),
        token(#""provider": "apns", "token": """#, .invalidToken, "/token"),
        token(#""provider": "apns", "token": "abc""#, .invalidToken, "/token"),
        token(#""provider": "apns", "token": "<ab cd>""#, .invalidToken, "/token"),
        token(#""provider": "apns", "token": "\#(String(repeating: "a", count: 4_098))""#, .invalidToken, "/token"),
        token(#""provider": "fcm", "token": "a b""#, .invalidToken, "/token"),
        token(#""provider": "fcm", "token": "ö""#, .invalidToken, "/token"),
        token(#""provider": "fcm", "token": "\#(String(repeating: "a", count: 4_097))""#, .invalidToken, "/token"),
        token(#""provider": "fcm", "token": "x", "topic": "com.example""#, .invalidValue, "/topic"),
        token(#""provider": "fcm", "token": "x", "environment": "sandbox""#, .invalidValue, "/environment"),
        token(#""provider": "apns", "token": "ab", "environment": "test""#, .invalidValue, "/environment"),
        token(#""provider": "apns", "token": "ab", "topic": "a b""#, .invalidValue, "/topic"),
        token(#""provider": "apns", "token": "ab", "kind": "alert""#, .unknownMember, "/kind"),
    ]

    private static func localized(_ locales: String, _ code: ProblemCode, _ member: String = "") -> Refusal {
        with(
            #""notification": {"localizations": \#(locales)}"#, code, "/notification/localizations" + member)
    }

    private static let notifications = [
        localized("[]", .wrongType), localized(#"{"fr": "Midi"}"#, .wrongType, "/fr"),
        localized(#"{"fr": {"body": 1}}"#, .wrongType, "/fr/body"),
        localized(#"{"fr": {"text": "x"}}"#, .unknownMember, "/fr/text"),
        localized(#"{"": {}}"#, .invalidValue), localized(#"{"french!": {}}"#, .invalidValue),
        localized(#"{"fr": {}, "iw": {}, "he": {}}"#, .invalidValue, "/he"),
        localized(#"{"zh-TW": {}, "zh-Hant_TW": {}}"#, .invalidValue, "/zh-Hant_TW"),
        localized(
            "{\((0...64).map { "\"fr-\(1_000 + $0)\": {}" }.joined(separator: ","))}", .valueTooLong),
        with(#""notification": "Hello""#, .wrongType, "/notification"),
        with(#""notification": []"#, .wrongType, "/notification"),
        with(#""notification": {"title": 1}"#, .wrongType, "/notification/title"),
        with(#""notification": {"body": ["x"]}"#, .wrongType, "/notification/body"),
        with(#""notification": {"subtitle": false}"#, .wrongType, "/notification/subtitle"),
        with(#""notification": {"image": "http://a.example/n.png"}"#, .invalidValue, "/notification/image"),
        with(
            #""notification": {"localizations": {"fr": {"link": "midi"}}}"#, .invalidValue,
            "/notification/localizations/fr/link"),
        with(#""notification": {"image": "{{attributes.picture}}"}"#, .invalidValue, "/notification/image"),
        with(#""notification": {"link": "https://{{user}}/"}"#, .invalidValue, "/notification/link"),
        with(#""notification": {"interruption": "loud"}"#, .invalidValue, "/notification/interruption"),
        with(
            #""notification": {"localizations": {"fr": {"category": "a"}}}"#, .unknownMember,
            "/notification/localizations/fr/category"),
        with(#""data": {"carillon_link": "a"}"#, .reservedKey, "/data/carillon_link"),
        with(#""notification": {"text": "x"}"#, .unknownMember, "/notification/text"),
        with(#""notification": {"body": "\ud83d"}"#, .malformedJSON),
    ]

    private static let badges = [
        with(#""badge": "+1""#, .invalidValue, "/badge"), with(#""badge": -1"#, .invalidValue, "/badge"),
        with(#""badge": 1.5"#, .invalidValue, "/badge"), with(#""badge": 2147483648"#, .invalidValue, "/badge"),
        with(#""badge": "Increment""#, .invalidValue, "/badge"), with(#""badge": true"#, .invalidValue, "/badge"),
        with(#""badge": {}"#, .invalidValue, "/badge"),
        with(#""badge": 99999999999999999999"#, .invalidValue, "/badge"),
    ]

    private static let members = [
        with(#""data": "x""#, .wrongType, "/data"), with(#""data": [1]"#, .wrongType, "/data"),
        with(#""data": {"aps": {}}"#, .reservedKey, "/data/aps"),
        with(#""data": {"carillon_id": "x"}"#, .reservedKey, "/data/carillon_id"),
        with(#""data": {"": "x"}"#, .invalidValue, "/data/"),
        with(#""data": {"a": 1, "a": 1}"#, .duplicateMember),
        with(#""data": {"a": "\u0000"}"#, .nulCharacter),
        with(#""sound": 1"#, .wrongType, "/sound"), with(#""sound": """#, .invalidValue, "/sound"),
        with(#""sound": {"critical": 1}"#, .wrongType, "/sound"),
        with(#""sound": "\#(String(repeating: "x", count: 5_121))""#, .valueTooLong, "/sound"),
    ]

    private static let options = [
        with(#""options": []"#, .wrongType, "/options"), with(#""options": true"#, .wrongType, "/options"),
        with(#""options": {"priority": 10}"#, .wrongType, "/options/priority"),
        with(#""options": {"priority": "urgent"}"#, .invalidValue, "/options/priority"),
        with(#""options": {"ttl_seconds": -1}"#, .invalidValue, "/options/ttl_seconds"),
        with(#""options": {"ttl_seconds": 2419201}"#, .invalidValue, "/options/ttl_seconds"),
        with(#""options": {"ttl_seconds": 1.5}"#, .invalidValue, "/options/ttl_seconds"),
        with(#""options": {"ttl_seconds": "60"}"#, .wrongType, "/options/ttl_seconds"),
        with(#""options": {"collapse_id": 1}"#, .wrongType, "/options/collapse_id"),
        with(#""options": {"collapse_id": ""}"#, .invalidValue, "/options/collapse_id"),
        with(#""options": {"push_type": "banner"}"#, .invalidValue, "/options/push_type"),
        with(#""options": {"push_type": 1}"#, .wrongType, "/options/push_type"),
        with(#""options": {"send_at": "noon"}"#, .invalidValue, "/options/send_at"),
        with(#""options": {"send_at": 1796126400}"#, .wrongType, "/options/send_at"),
        with(#""options": {"rate_per_second": 0}"#, .invalidValue, "/options/rate_per_second"),
        with(#""options": {"rate_per_second": 1000001}"#, .invalidValue, "/options/rate_per_second"),
        with(#""options": {"rate_per_second": "fast"}"#, .wrongType, "/options/rate_per_second"),
        with(#""options": {"send_at": "2026-12-01T12:00:00"}"#, .invalidValue, "/options/send_at"),
        with(#""options": {"device_local_time": 1}"#, .wrongType, "/options/device_local_time"),
        with(#""options": {"device_local_time": true}"#, .missingMember, "/options/send_at"),
        with(
            #""options": {"device_local_time": true, "send_at": "2026-12-01T12:00:00Z"}"#, .invalidValue,
            "/options/send_at"),
        with(#""options": {"device_local_time": true, "send_at": "noon"}"#, .invalidValue, "/options/send_at"),
        with(
            #""options": {"device_local_time": true, "send_at": "2026-02-30T12:00:00"}"#, .invalidValue,
            "/options/send_at"),
        with(#""options": {"local_time_passed": "send"}"#, .invalidValue, "/options/local_time_passed"),
        with(
            #""options": {"device_local_time": true, "send_at": "2026-12-01T12:00:00", "local_time_passed": "no"}"#,
            .invalidValue, "/options/local_time_passed"),
        with(
            #""apns": [{}], "options": {"device_local_time": true, "send_at": "2026-12-01T12:00:00"}"#, .notSupported,
            "/options/device_local_time"),
        with(#""options": {"dry_run": "no"}"#, .wrongType, "/options/dry_run"),
        with(#""options": {"ignore_quiet_hours": "yes"}"#, .wrongType, "/options/ignore_quiet_hours"),
        with(#""options": {"ignore_daily_cap": 1}"#, .wrongType, "/options/ignore_daily_cap"),
        with(#""options": {"ttl": 5}"#, .unknownMember, "/options/ttl"),
    ]

    private static let others = [
        with(#""apns": "x""#, .wrongType, "/apns"), with(#""apns": []"#, .invalidValue, "/apns"),
        with(#""fcm": "x""#, .wrongType, "/fcm"), with(#""hms": {}"#, .notSupported, "/hms"),
        with(#""webpush": {}"#, .notSupported, "/webpush"), with(#""to": "x""#, .unknownMember, "/to"),
        with(#""audience": {"all": true}"#, .duplicateMember),
        with(#""apns": "# + String(repeating: #"{"a":"#, count: 33), .jsonTooComplex),
    ]
}
