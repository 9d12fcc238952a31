import API
import Requests

/// JSON values that take much work for their length, each in its own way.
enum CostliestValue: CaseIterable {
    case members, nulls, repeatedName, longName, numbers, strings, objects, deepArrays, deepObjects, text, escapedText
    case placeholders

    /// A value of at most so many bytes, and nearly as many.
    func json(bytes: Int) -> [UInt8] {
        switch self {
        case .members: Self.list("{", bytes, "}") { "\"m\(Self.digits($0))\":0" }
        case .nulls: Self.list("{", bytes, "}") { "\"m\(Self.digits($0))\":null" }
        case .repeatedName: Self.list("{", bytes, ",\"m00000\":0}") { "\"m\(Self.digits($0))\":0" }
        case .longName: Array("{\"".utf8) + Self.filler(bytes - 6) + Array("\":0}".utf8)
        case .numbers: Self.list("[", bytes, "]") { "1\(Self.digits($0)).5e-9" }
        case .strings: Self.list("[", bytes, "]") { "\"m\(Self.digits($0))xxx\"" }
        case .objects: Self.list("[", bytes, "]") { "{\"m\(Self.digits($0))xxxxxxx\":0}" }
        case .deepArrays: Self.list("[", bytes, "]") { Self.nested("[", Self.digits($0), "]") }
        case .deepObjects: Self.list("{", bytes, "}") { "\"m\(Self.digits($0))\":" + Self.nested("{\"a\":", "0", "}") }
        case .text: Array("\"".utf8) + Self.filler(bytes - 2) + Array("\"".utf8)
        case .escapedText: Self.list("\"", bytes, "\"", between: "") { _ in #"\u00e9\n\ud83d\udd14"# }
        case .placeholders: Self.list("\"", bytes, "\"", between: "") { _ in "{{user}} {{attributes.a|default:'b'}} " }
        }
    }

    private static func nested(_ opening: String, _ inside: String, _ closing: String) -> String {
        let levels = 20
        let text = "\"\(inside)" + String(repeating: "x", count: 180) + "\""
        return String(repeating: opening, count: levels) + text + String(repeating: closing, count: levels)
    }

    private static func digits(_ number: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, 5 - digits.count)) + digits
    }

    private static func filler(_ bytes: Int) -> [UInt8] { [UInt8](repeating: UInt8(ascii: "x"), count: max(0, bytes)) }

    private static func list(
        _ opening: String, _ bytesMax: Int, _ closing: String, between: String = ",", _ element: (Int) -> String
    ) -> [UInt8] {
        var bytes = Array(opening.utf8)
        var number = 0
        while true {
            let next = (number == 0 ? "" : between) + element(number)
            guard bytes.count + next.utf8.count + closing.utf8.count <= bytesMax else { break }
            bytes += Array(next.utf8)
            number += 1
        }
        return bytes + Array(closing.utf8)
    }
}

/// A request that is as costly as its length allows.
struct CostliestRequest: Sendable {
    let endpoint: Endpoint
    /// A name for failure messages.
    let name: String
    let path: String
    let body: [UInt8]
    /// The number of lines in an import that has many.
    let lines: Int
    /// Whether the request has to succeed.
    let isTaken: Bool

    /// - Parameter path: nil stands for the path of an existing app and installation.
    init(
        _ endpoint: Endpoint, _ name: String, path: String? = nil, body: [UInt8] = [], lines: Int = 0,
        isTaken: Bool = false
    ) {
        self.endpoint = endpoint
        self.name = name
        self.path = path ?? Self.path(endpoint) + Self.query(endpoint)
        self.body = body
        self.lines = lines
        self.isTaken = isTaken
    }

    /// The query parameters without which the endpoint reads no body.
    private static func query(_ endpoint: Endpoint) -> String {
        endpoint.query.contains("producer") ? "?producer=ticker" : ""
    }

    private static func path(_ endpoint: Endpoint, _ standIn: String? = nil) -> String {
        let names = ["{app}": "tower", "{installation}": "phone", "{message}": "0192f0c1-7b3a-7c4d-8e5f-a1b2c3d4e5f6"]
        let segments = endpoint.template.split(separator: "/").map { segment in
            guard segment.hasPrefix("{") else { return String(segment) }
            return (standIn ?? names[String(segment)] ?? "1") + (segment.hasSuffix(".json") ? ".json" : "")
        }
        return "/" + segments.joined(separator: "/")
    }
}

// Requests without a body.
extension CostliestRequest {
    /// Request heads of at most so many bytes.
    static func heads(_ endpoint: Endpoint, bytesMax: Int) -> [CostliestRequest] {
        func times(_ text: String) -> String { String(repeating: text, count: (bytesMax - 500) / text.utf8.count) }
        let path = path(endpoint)
        var paths = [
            ("many segments", path + times("/a")), ("many separators", path + "?" + times("&")),
            ("many unknown parameters", path + "?" + times("a=b&")),
        ]
        if endpoint.template.contains("{") { paths.append(("a long name", Self.path(endpoint, times("%C3%A9")))) }
        for name in endpoint.query {
            paths.append(("a long \(name)", path + "?\(name)=" + times("%C3%A9")))
            paths.append(("many times \(name)", path + "?" + times("\(name)=&")))
        }
        if endpoint.query.contains("filter") {
            let list = (0..<256).map { "1\($0)" }.joined(separator: ",")
            let lists = "attributes.a%20in%20%5B\(list)%5D%20and%20attributes.b%20in%20%5B\(list)%5D"
            let conditions = Array(repeating: "attributes.a==1", count: 64).joined(separator: "%20or%20")
            for filter in [lists, conditions, String(repeating: "not%20", count: 600), times("(")] {
                paths.append(("a filter", path + "?filter=" + filter))
            }
        }
        return paths.map { CostliestRequest(endpoint, $0.0, path: $0.1) }
    }
}

extension CostliestRequest {
    /// Bodies in which a client chooses a value: each `$` marks the place, and "$" alone is the whole body.
    ///
    /// A test fails for an endpoint that takes a body and is missing here.
    static let places: [String: [String]] = [
        "createApp": ["$", #"{"slug":"dear","name":$}"#, #"{"slug":$,"name":"x"}"#],
        "changeApp": [
            "$", #"{"name":$}"#, #"{"settings":$}"#, #"{"settings":{"stale_after_days":$}}"#,
            #"{"settings":{"time_zone":$}}"#, #"{"settings":{"quiet_hours":$}}"#, #"{"triggers":$}"#,
            #"{"triggers":{"allow":$}}"#, #"{"triggers":{"allow":[$]}}"#, #"{"triggers":{"hooks":{"device":$}}}"#,
        ],
        "registerToken": registrations, "registerDevice": registrations,
        "importDevices": ["$", #"{"installation":$,\#(registration)}"#],
        "patchDevice": ["$"] + (profile + ["tags_add", "tags_remove", "time_zone"]).map { #"{"\#($0)":$}"# },
        "lookUpDevices": ["$", #"{"tokens":$}"#, #"{"token":$}"#],
        "setBadge": ["$", #"{"badge":$}"#], "setBadgeOfUser": ["$", #"{"badge":$}"#],
        "consumeBadge": ["$", #"{"count":$}"#],
        "changeBadgeOfToken": ["$", #"{"token":$,"badge":1}"#],
        "sendMessage": places(ofMessage: ()),
        "countAudience": ["$", #"{"audience":{"all":true},"options":$}"#] + audiences,
        "changeMessage": [
            "$", #"{"rate_per_second":$}"#, #"{"name":$}"#, #"{"send_at":$}"#, #"{"notification":$}"#,
            #"{"notification":{"localizations":$}}"#, #"{"audience":{"users":$}}"#,
        ],
        "submitCredential": [
            "$", #"{\#(apns),"topics":$}"#, #"{\#(apns),"kind":"certificate","pem":$}"#,
            #"{\#(apns),"kind":"certificate","pkcs12":$}"#,
            #"{\#(apns),"kind":"token","key_id":"ABCDE12345","team_id":"TEAMID1234","p8":$}"#,
            #"{"provider":"fcm","kind":"service_account","service_account":$}"#,
        ],
        "activateCredential": ["$", #"{"environment":$}"#], "retireCredential": ["$", #"{"environment":$}"#],
        "createKey": keys, "createGlobalKey": keys,
        "replaceNode": ["$", #"{"a":{"b":$}}"#], "patchNode": ["$", #"{"a":$}"#],
        "setRules": ["$", #"{"rules":$}"#, #"{"rules":{".read":$}}"#, #"{"rules":{"a":{".read":$}}}"#],
        "addUserKey": [
            "$", #"{"kid":$}"#, #"{"kid":"a","algorithm":"HS256","key":$}"#,
            #"{"kid":"a","algorithm":"RS256","key":$}"#, #"{"kid":"a","algorithm":"ES256","key":$}"#,
        ],
        "postUpdate": ["$", #"{"price":$}"#],
        "postUpdates": ["$", #"{"line":$}"#, #"{"line":1,"item":"a","fields":$}"#],
        "activateItemSubscription": places(ofSubscription: ()),
        // A subscription that does not exist: its stored terms would be read first.
        "modifyItemSubscription": ["$"],
    ]

    private static let registration = #""provider":"apns","token":"ab","topic":"com.example.app""#
    private static let profile = ["attributes", "tags", "user", "locale"]
    private static let registrations =
        ["$", #"{"provider":"apns","token":$}"#] + profile.map { #"{\#(registration),"\#($0)":$}"# }
    private static let apns = #""provider":"apns","environment":"production""#
    private static let keys = ["$", #"{"name":$,"scopes":["devices"]}"#, #"{"name":"x","scopes":$}"#]

    private static let audiences = ["installations", "users", "filter", "tokens", "tags"].map {
        #"{"audience":{"\#($0)":$}}"#
    }

    private static func places(ofMessage: Void) -> [String] {
        let input = ["data", "apns", "fcm", "options", "sound", "notification"].map {
            #"{"audience":{"users":["ann"]},"\#($0)":$}"#
        }
        let inside = [
            #""notification":{"body":$}"#, #""notification":{"localizations":$}"#, #""apns":[$]"#, #""apns":{"aps":$}"#,
            #""apns":{"aps":{"alert":$}}"#, #""fcm":{"data":$}"#, #""fcm":{"android":{"data":$}}"#,
            #""notification":{"body":"{{user}}"},"data":{"a":$}"#,
        ].map { #"{"audience":{"users":["ann"]},\#($0)}"# }
        return ["$"] + audiences + input + inside
    }
}

extension CostliestRequest {
    private static func places(ofSubscription: Void) -> [String] {
        let names = #""items":["a"],"fields":["price"]"#
        let members = [
            "trigger", "notification", "data", "apns", "fcm", "sound", "badge", "collapse_key", "time_to_live",
            "device",
        ].map { #""\#($0)":$"# }
        let inside = [
            #""notification":{"body":$}"#, #""notification":{"localizations":$}"#, #""data":{"a":$}"#,
            #""apns":{"aps":{"alert":$}}"#, #""fcm":{"android":{"data":$}}"#,
            #""device":{\#(registration),"attributes":$}"#,
        ]
        return ["$", #"{"items":$,"fields":["price"]}"#, #"{"items":["a"],"fields":$}"#]
            + (members + inside).map { "{\(names),\($0)}" }
    }

    /// Many short lines, each refused by an answer that is longer than the line.
    static func imports(bytesMax: Int) -> [CostliestRequest] {
        ["{}", "{", "\r", #"{"a":0}"#].map { line in
            let count = bytesMax / (line.utf8.count + 1)
            let lines = String(repeating: line + "\n", count: count)
            return CostliestRequest(.named("importDevices"), "lines of \(line)", body: Array(lines.utf8), lines: count)
        }
    }
}

// Requests that succeed with every member at its largest.
extension CostliestRequest {
    static func fullest() -> [CostliestRequest] {
        func names(_ count: Int, bytes: Int) -> String {
            let names = (0..<count).map { number in
                let digits = String(1_000_000 + number)
                return "\"" + String(repeating: "a", count: bytes - digits.utf8.count) + digits + "\""
            }
            return "[" + names.joined(separator: ",") + "]"
        }
        func attributes(_ value: CostliestValue, _ bytes: Int) -> String {
            String(decoding: value.json(bytes: bytes), as: UTF8.self)
        }
        func targets(_ count: Int) -> String {
            let token = String(repeating: "ab", count: 450)
            let targets = (0..<count).map {
                #"{"provider":"apns","topic":"com.example.app","token":"\#(token)\#(1_000_000_000 + $0)"}"#
            }
            return "[" + targets.joined(separator: ",") + "]"
        }
        let message = #""notification":{"title":"x"}"#
        let tags = names(RegistrationLimits.tagsMax, bytes: RegistrationLimits.tagBytesMax)
        let registration = #""provider":"apns","token":"abcd","topic":"com.example.app""#
        let bodies: [(name: String, json: String)] = [
            ("sendMessage", #"{"audience":{"users":\#(names(AudienceLimits.usersMax, bytes: 96))},\#(message)}"#),
            (
                "sendMessage",
                #"{"audience":{"installations":\#(names(AudienceLimits.installationsMax, bytes: 96))},\#(message)}"#
            ),
            ("sendMessage", #"{"audience":{"tokens":\#(targets(AudienceLimits.tokensMax))},\#(message)}"#),
            ("countAudience", #"{"audience":{"users":\#(names(AudienceLimits.usersMax, bytes: 96))}}"#),
            ("countAudience", #"{"audience":{"tokens":\#(targets(AudienceLimits.tokensMax))}}"#),
            ("lookUpDevices", #"{"tokens":\#(names(1_000, bytes: 1_000))}"#),
            ("registerDevice", #"{\#(registration),"attributes":\#(attributes(.members, 8_000)),"tags":\#(tags)}"#),
            ("patchDevice", #"{"attributes":\#(attributes(.members, 8_000)),"tags_add":\#(tags)}"#),
            ("patchDevice", #"{"attributes":\#(attributes(.nulls, 14_000)),"tags_remove":\#(tags)}"#),
        ]
        return bodies.enumerated().map { place, one in
            CostliestRequest(.named(one.name), "the fullest, \(place)", body: Array(one.json.utf8), isTaken: true)
        }
    }
}

// Messages whose parts multiply: each part is compiled for every language, record and provider.
extension CostliestRequest {
    static func messages(bytesMax: Int) -> [CostliestRequest] {
        let records = 16
        var costly: [(name: String, members: String)] = []
        // The first text fits into a payload; the second is just short enough to be compiled.
        for (value, bytes) in [CostliestValue.nulls, .members, .deepObjects].flatMap({ [($0, 3_500), ($0, 15_000)] }) {
            let object = String(decoding: value.json(bytes: bytes), as: UTF8.self)
            for (name, own) in [
                ("aps", #"{"aps":\#(object)}"#), ("beside aps", object), ("alert", #"{"aps":{"alert":\#(object)}}"#),
            ] {
                let list = Array(repeating: own, count: records).joined(separator: ",")
                costly.append(("\(records) records with \(value) in \(name)", #""apns":[\#(list)],\#(languages("x"))"#))
            }
            for place in ["", "data", "android", "webpush"] {
                let fcm = place.isEmpty ? object : #"{"\#(place)":\#(object)}"#
                let list = Array(repeating: "{}", count: records).joined(separator: ",")
                costly.append(
                    (
                        "\(records) records with \(value) in fcm \(place)",
                        #""apns":[\#(list)],"fcm":\#(fcm),\#(languages("x"))"#
                    ))
            }
        }
        let text = String(repeating: "x", count: bytesMax - 10_000)
        costly.append(("a long text for all regions", languages("x", first: text)))
        costly.append(
            ("a long common text", languages("x").replacing(#""body":"x","loc"#, with: #""body":"\#(text)","loc"#)))
        let list = Array(repeating: "{}", count: records).joined(separator: ",")
        let placeholder = #"{{attributes['\#(String(repeating: "n", count: 1_900))']}}"#
        costly.append(
            (
                "placeholders in all languages",
                #""apns":[\#(list)],\#(languages(String(repeating: placeholder, count: 7)))"#
            ))
        return costly.map { one in
            CostliestRequest(
                .named("sendMessage"), one.name, body: Array(#"{"audience":{"users":["ann"]},\#(one.members)}"#.utf8))
        }
    }

    /// The largest number of localizations. The regions inherit what `first` defines for the language.
    private static func languages(_ text: String, first: String? = nil) -> String {
        let regions = (0..<63).map { place in
            let region = String(decoding: [UInt8(65 + place / 8), UInt8(65 + place % 8)], as: UTF8.self)
            return #""fr-\#(region)":{"title":"\#(text)"}"#
        }
        let all = [#""fr":{"body":"\#(first ?? text)"}"#] + regions
        return #""notification":{"body":"x","localizations":{\#(all.joined(separator: ","))}}"#
    }
}
