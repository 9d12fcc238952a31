import Requests

// Bodies that are not JSON, and JSON that is not the expected request.
extension BadInput {
    private static let tower = "/v1/apps/tower"

    private static let texts: [(String, ProblemCode)] = [
        ("[", .malformedJSON), ("{", .malformedJSON), ("{}}", .malformedJSON), ("{} {}", .malformedJSON),
        (#"{"slug": }"#, .malformedJSON), (#"{"slug": "a",}"#, .malformedJSON), (#"{slug: "a"}"#, .malformedJSON),
        (#"{'slug': 'a'}"#, .malformedJSON), (#"{"slug": "a" "name": "b"}"#, .malformedJSON),
        ("nul", .malformedJSON),
        ("NaN", .malformedJSON), (#"{"slug": 01}"#, .malformedJSON), (#"{"slug": .5}"#, .malformedJSON),
        (#"{"slug": 1.}"#, .malformedJSON), (#"{"slug": 1e}"#, .malformedJSON), (#"{"slug": +1}"#, .malformedJSON),
        (#"{"slug": 0x1}"#, .malformedJSON), (#"{"slug": -}"#, .malformedJSON),
        (#"{"slug": "\q"}"#, .malformedJSON),
        (#"{"slug": "\u12"}"#, .malformedJSON), (#"{"slug": "\ud800"}"#, .malformedJSON),
        (#"{"slug": "\udc00\ud800"}"#, .malformedJSON), ("{\"slug\": \"a\nb\"}", .malformedJSON),
        ("{\"slug\": \"a\tb\"}", .malformedJSON), (#"{"slug": "a"#, .malformedJSON), ("// a\n{}", .malformedJSON),
        ("\u{feff}{}", .malformedJSON), ("   ", .malformedJSON), (#"{"slug": "\u0000"}"#, .nulCharacter),
        ("{\"slug\": \"a\u{0}b\"}", .nulCharacter), (#"{"slug": "a", "slug": "b"}"#, .duplicateMember),
        (#"{"slug": "a", "\u0073lug": "b"}"#, .duplicateMember),
        (String(repeating: "[", count: 33) + String(repeating: "]", count: 33), .jsonTooComplex),
        (String(repeating: #"{"a":"#, count: 50_000), .jsonTooComplex),
        (String(repeating: "[", count: 100_000), .jsonTooComplex),
        ("[" + String(repeating: "0,", count: 100_000) + "0]", .jsonTooComplex),
        (#"{"slug": 1\#(String(repeating: "0", count: 64))}"#, .jsonTooComplex),
    ]

    static let json: [BadInput] = texts.map { text, code in
        BadInput("JSON such as \(text.prefix(30)), \(text.utf8.count) bytes", "POST", "/v1/apps", text, code)
    }

    static let encodings: [BadInput] = [
        bytes(
            "Latin-1", "POST", "/v1/apps", Array(#"{"slug": "K"#.utf8) + [0xf6] + Array(#"ln"}"#.utf8), .invalidUTF8
        ),
        bytes(
            "half a letter", "POST", "/v1/apps", Array(#"{"slug": ""#.utf8) + [0xc3] + Array(#""}"#.utf8),
            .invalidUTF8),
        bytes(
            "a surrogate in UTF-8", "POST", "/v1/apps",
            Array(#"{"slug": ""#.utf8) + [0xed, 0xa0, 0x80] + Array(#""}"#.utf8), .invalidUTF8),
        bytes("UTF-16", "POST", "/v1/apps", [0xff, 0xfe, 0x7b, 0, 0x7d, 0], .invalidUTF8),
        bytes("bytes without sense", "POST", "/v1/apps", [UInt8](repeating: 0x80, count: 1_000), .invalidUTF8),
        BadInput("a list for an object", "POST", "/v1/apps", "[]", .wrongType, at: ""),
        BadInput("a string for an object", "PUT", tower + "/devices/x", #""x""#, .wrongType, at: ""),
        BadInput("null for an object", "POST", tower + "/messages", "null", .wrongType, at: ""),
    ]

    static let apps: [BadInput] = [
        BadInput("an app without a slug", "POST", "/v1/apps", "{}", .missingMember, at: "/slug"),
        BadInput(
            "an app whose slug is null", "POST", "/v1/apps", #"{"slug": null, "name": "A"}"#, .missingMember,
            at: "/slug"),
        BadInput(
            "a slug of another type", "POST", "/v1/apps", #"{"slug": 1, "name": "A"}"#, .wrongType, at: "/slug",
            message: "string"),
        BadInput("an empty slug", "POST", "/v1/apps", #"{"slug": "", "name": "A"}"#, .invalidValue, at: "/slug"),
        BadInput(
            "a slug with a slash", "POST", "/v1/apps", #"{"slug": "a/b", "name": "A"}"#, .invalidValue, at: "/slug"),
        BadInput("a slug of dots", "POST", "/v1/apps", #"{"slug": "..", "name": "A"}"#, .invalidValue, at: "/slug"),
        BadInput(
            "a slug in capitals", "POST", "/v1/apps", #"{"slug": "Tower", "name": "A"}"#, .invalidValue, at: "/slug"),
        BadInput(
            "a slug of a hundred letters", "POST", "/v1/apps",
            #"{"slug": "\#(String(repeating: "a", count: 100))", "name": "A"}"#, .valueTooLong, at: "/slug",
            message: "63"),
        BadInput(
            "a name of another type", "POST", "/v1/apps", #"{"slug": "a", "name": ["A"]}"#, .wrongType, at: "/name"),
        BadInput(
            "a name of control characters", "POST", "/v1/apps", #"{"slug": "a", "name": "A\u0007"}"#, .invalidValue,
            at: "/name"),
        BadInput(
            "a name of 257 letters", "POST", "/v1/apps",
            #"{"slug": "a", "name": "\#(String(repeating: "A", count: 257))"}"#,
            .valueTooLong, at: "/name"),
        BadInput(
            "a misspelt member", "POST", "/v1/apps", #"{"slug": "a", "name": "A", "nmae": 1}"#, .unknownMember,
            at: "/nmae", message: "nmae"),
        BadInput(
            "a member of a long name", "POST", "/v1/apps",
            #"{"slug": "a", "name": "A", "\#(String(repeating: "x", count: 5_000))": 1}"#, .unknownMember, at: ""),
        BadInput("a taken slug", "POST", "/v1/apps", #"{"slug": "tower", "name": "Another"}"#, .slugTaken, at: "/slug"),
        BadInput(
            "an unknown setting", "PATCH", tower, #"{"settings": {"colour": "red"}}"#, .unknownMember,
            at: "/settings/colour"),
        BadInput(
            "stale after no days", "PATCH", tower, #"{"settings": {"stale_after_days": {"apns": 0}}}"#, .invalidValue,
            at: "/settings/stale_after_days/apns"),
        BadInput(
            "stale after half a day", "PATCH", tower, #"{"settings": {"stale_after_days": {"apns": 0.5}}}"#,
            .invalidValue, at: "/settings/stale_after_days/apns"),
        BadInput(
            "a text that is no time zone", "PATCH", tower, #"{"settings": {"time_zone": "+05:30"}}"#, .invalidValue,
            at: "/settings/time_zone"),
        BadInput(
            "a time zone on Mars", "PATCH", tower, #"{"settings": {"time_zone": "Mars/Olympus_Mons"}}"#, .invalidValue,
            at: "/settings/time_zone"),
        BadInput(
            "quiet hours without an end", "PATCH", tower, #"{"settings": {"quiet_hours": {"from": "22:00"}}}"#,
            .missingMember, at: "/settings/quiet_hours/to"),
        BadInput(
            "quiet hours of a whole day", "PATCH", tower,
            #"{"settings": {"quiet_hours": {"from": "07:30", "to": "07:30"}}}"#, .invalidValue,
            at: "/settings/quiet_hours/to"),
        BadInput(
            "quiet hours from half past ten at night", "PATCH", tower,
            #"{"settings": {"quiet_hours": {"from": "10:30 pm", "to": "07:30"}}}"#, .invalidValue,
            at: "/settings/quiet_hours/from"),
        BadInput(
            "quiet hours until the 25th hour", "PATCH", tower,
            #"{"settings": {"quiet_hours": {"from": "22:00", "to": "25:00"}}}"#, .invalidValue,
            at: "/settings/quiet_hours/to"),
        BadInput(
            "quiet hours of another zone", "PATCH", tower,
            #"{"settings": {"quiet_hours": {"from": "22:00", "to": "07:30", "zone": "UTC"}}}"#, .unknownMember,
            at: "/settings/quiet_hours/zone"),
        BadInput(
            "quiet hours as text", "PATCH", tower, #"{"settings": {"quiet_hours": "22:00-07:30"}}"#, .wrongType,
            at: "/settings/quiet_hours"),
        BadInput(
            "a daily cap of zero", "PATCH", tower, #"{"settings": {"daily_cap": 0}}"#, .invalidValue,
            at: "/settings/daily_cap"),
        BadInput(
            "a daily cap of 101", "PATCH", tower, #"{"settings": {"daily_cap": 101}}"#, .invalidValue,
            at: "/settings/daily_cap"),
        BadInput("a change of an unknown app", "PATCH", "/v1/apps/nowhere", #"{"name": "A"}"#, .unknownApp),
        BadInput("the end of an unknown app", "DELETE", "/v1/apps/nowhere", .unknownApp),
    ]

    private static func device(_ name: String, _ body: String, _ code: ProblemCode, at pointer: String? = nil)
        -> BadInput
    {
        BadInput("a device with \(name)", "PUT", tower + "/devices/new", body, code, at: pointer)
    }

    static let devices: [BadInput] = [
        device("nothing", "{}", .missingMember, at: "/provider"),
        device("an unknown provider", #"{"provider": "pigeon", "token": "00"}"#, .invalidValue, at: "/provider"),
        device("a provider of a later version", #"{"provider": "hms", "token": "00"}"#, .notSupported, at: "/provider"),
        device("no token", #"{"provider": "apns"}"#, .missingMember, at: "/token"),
        device("a token that is a number", #"{"provider": "apns", "token": 12}"#, .wrongType, at: "/token"),
        device("an empty token", #"{"provider": "apns", "token": ""}"#, .invalidToken, at: "/token"),
        device("a token in angle brackets", #"{"provider": "apns", "token": "<00ff>"}"#, .invalidToken, at: "/token"),
        device("half a byte of a token", #"{"provider": "apns", "token": "00f"}"#, .invalidToken, at: "/token"),
        device("a token of lines", #"{"provider": "fcm", "token": "a\nb"}"#, .invalidToken, at: "/token"),
        device(
            "a token that is too long", #"{"provider": "fcm", "token": "\#(String(repeating: "x", count: 4_097))"}"#,
            .invalidToken, at: "/token"),
        device(
            "another provider's kind", #"{"provider": "fcm", "token": "x", "kind": "voip"}"#, .kindNotAllowed,
            at: "/kind"),
        device("an unknown kind", #"{"provider": "apns", "token": "00", "kind": "loud"}"#, .invalidValue, at: "/kind"),
        device(
            "an unknown environment", #"{"provider": "apns", "token": "00", "environment": "test"}"#, .invalidValue,
            at: "/environment"),
        device(
            "the sandbox environment for FCM", #"{"provider": "fcm", "token": "x", "environment": "sandbox"}"#,
            .invalidValue,
            at: "/environment"),
        device(
            "a topic with blanks", #"{"provider": "apns", "token": "00", "topic": "a b"}"#, .invalidValue, at: "/topic"),
        device("a user that is a number", #"{"provider": "apns", "token": "00", "user": 7}"#, .wrongType, at: "/user"),
        device("tags in a string", #"{"provider": "apns", "token": "00", "tags": "a,b"}"#, .wrongType, at: "/tags"),
        device("tags of numbers", #"{"provider": "apns", "token": "00", "tags": [1]}"#, .wrongType, at: "/tags/0"),
        device(
            "too many tags",
            #"{"provider": "apns", "token": "00", "tags": [\#((0..<65).map { #""t\#($0)""# }.joined(separator: ","))]}"#,
            .valueTooLong, at: "/tags"),
        device(
            "attributes in a list", #"{"provider": "apns", "token": "00", "attributes": []}"#, .wrongType,
            at: "/attributes"),
        device(
            "attributes that are too large",
            #"{"provider": "apns", "token": "00", "attributes": {"a": "\#(String(repeating: "x", count: 9_000))"}}"#,
            .valueTooLong, at: "/attributes"),
        device("a badge below zero", #"{"provider": "apns", "token": "00", "badge": -1}"#, .invalidValue, at: "/badge"),
        device("half a badge", #"{"provider": "apns", "token": "00", "badge": 1.5}"#, .invalidValue, at: "/badge"),
        device(
            "a badge beyond 32 bits", #"{"provider": "apns", "token": "00", "badge": 2147483648}"#, .invalidValue,
            at: "/badge"),
        device(
            "an invalid time", #"{"provider": "apns", "token": "00", "as_of": "noon"}"#, .invalidValue, at: "/as_of"
        ),
        device(
            "a time far ahead", #"{"provider": "apns", "token": "00", "as_of": "2999-01-01T00:00:00Z"}"#, .invalidValue,
            at: "/as_of"),
        device("a misspelt member", #"{"provider": "apns", "token": "00", "tokn": "00"}"#, .unknownMember, at: "/tokn"),
        BadInput(
            "a device of a long name", "PUT", tower + "/devices/" + String(repeating: "i", count: 257),
            GatewayWorld.registration(8), .valueTooLong),
        BadInput(
            "a device of an unknown app", "PUT", "/v1/apps/nowhere/devices/new", GatewayWorld.registration(8),
            .unknownApp),
        BadInput(
            "a change of an unknown device", "PATCH", tower + "/devices/nobody", #"{"user": "ann"}"#, .unknownDevice),
        BadInput(
            "a change of a token", "PATCH", tower + "/devices/phone", #"{"token": "00"}"#, .unknownMember, at: "/token"),
        BadInput(
            "added tags in a string", "PATCH", tower + "/devices/phone", #"{"tags_add": "a"}"#, .wrongType,
            at: "/tags_add"),
        BadInput("an import for an unknown app", "POST", "/v1/apps/nowhere/devices/import", "{}\n", .unknownApp),
        BadInput("a lookup without tokens", "POST", tower + "/devices/lookup", "{}", .missingMember, at: "/token"),
        BadInput(
            "a lookup of tokens in a string", "POST", tower + "/devices/lookup", #"{"tokens": "00"}"#, .wrongType,
            at: "/tokens"),
        BadInput(
            "a lookup of one token and a list", "POST", tower + "/devices/lookup", #"{"token": "00", "tokens": []}"#,
            .invalidValue, at: "/tokens"),
        BadInput(
            "a badge in letters", "PUT", tower + "/devices/phone/badge", #"{"badge": "three"}"#, .wrongType,
            at: "/badge"),
        BadInput(
            "a badge of an unknown device", "PUT", tower + "/devices/nobody/badge", #"{"badge": 1}"#, .unknownDevice),
        BadInput(
            "nothing consumed", "POST", tower + "/devices/phone/badge/consume", #"{"count": 0}"#, .invalidValue,
            at: "/count"),
        BadInput(
            "a badge for an unknown token", "POST", tower + "/badges", #"{"token": "ffff", "badge": 1}"#, .unknownToken),
        BadInput(
            "a badge both set and consumed", "POST", tower + "/badges", #"{"token": "ff", "badge": 1, "consume": 1}"#,
            .invalidValue, at: "/consume"),
    ]
}
