import CarillonClient

/// Payloads as the gateway writes them, one of each shape.
enum Payloads {
    static let value = payload("value", ["s": "OK", "d": #"{"temperature":21.50,"unit":"°C"}"#])
    static let deletion = payload("value", ["s": "OK", "d": "null"])
    static let valueTooBig = payload("value", ["s": "TooBig"])
    static let noData = payload("noData", [:])
    static let children = payload(
        "childEvent",
        [
            "s": "OK", "added": #"{"m7":{"text":"Hi"}}"#, "changed": #"{"m5":{"text":"Hello"},"m6":true}"#,
            "removed": #"["m1"]"#,
        ])
    static let childKeys = payload(
        "childEvent",
        ["s": "OnlyKeys", "added": #"{"m7":true}"#, "changed": #"{"m5":true,"m6":true}"#, "removed": #"["m1"]"#])
    static let childrenTooBig = payload("childEvent", ["s": "TooBig", "added": "{}", "removed": "[]", "changed": "{}"])
    static let revocation = payload("revoke", ["r": "expired"])

    static let all = [
        value, deletion, valueTooBig, noData, children, childKeys, childrenTooBig, revocation,
        value.setting("v", "2").setting("n", "42"),
    ]

    private static func payload(_ type: String, _ content: [String: String]) -> [String: String] {
        ["t": type, "app": "chat", "sp": "/rooms/lobby"].merging(content) { _, new in new }
    }
}

extension [String: String] {
    /// A copy with another value, or without the member if the value is nil.
    func setting(_ name: String, _ value: String?) -> [String: String] {
        var copy = self
        copy[name] = value
        return copy
    }
}

extension [AnyHashable: Any] {
    /// The payload as an Apple notification holds it: beside `aps`, and beside FCM's keys if FCM relayed it.
    static func userInfo(_ payload: [String: String], isRelayed: Bool) -> [AnyHashable: Any] {
        var userInfo: [AnyHashable: Any] = ["aps": ["content-available": 1] as [String: Any]]
        for (name, text) in payload { userInfo[name] = text }
        if isRelayed {
            userInfo["gcm.message_id"] = "1712345678901234"
            userInfo["google.c.a.e"] = "1"
            userInfo["google.c.fid"] = "dGhlIGlkIG9mIGFuIGFwcA"
            userInfo["google.c.sender.id"] = 123_456_789_012 as Int64
        }
        return userInfo
    }
}

extension WakeUpNotification {
    /// The payload of this notification, as the gateway would write it.
    var payload: [String: String] {
        var payload = ["app": app, "sp": path]
        func children(_ status: String, _ added: JSON, _ changed: JSON, _ removed: [String]) {
            payload.merge([
                "t": "childEvent", "s": status, "added": added.serialized, "changed": changed.serialized,
                "removed": JSON.array(removed.map { .string($0) }).serialized,
            ]) { _, new in new }
        }
        func flags(_ keys: [String]) -> JSON { .object(JSON.Object(keys.map { (name: $0, value: true) })) }
        switch event {
        case .valueChange(.value(let value)):
            payload.merge(["t": "value", "s": "OK", "d": value.serialized]) { _, new in new }
        case .valueChange(.hidden): payload["t"] = "noData"
        case .valueChange(.tooBig): payload.merge(["t": "value", "s": "TooBig"]) { _, new in new }
        case .childrenUpdate(.full(let details)):
            children("OK", .object(details.additions), .object(details.changes), details.removals)
        case .childrenUpdate(.onlyKeys(let details)):
            children("OnlyKeys", flags(details.additions), flags(details.changes), details.removals)
        case .childrenUpdate(.tooBig): children("TooBig", [:], [:], [])
        case .revocation(let reason): payload.merge(["t": "revoke", "r": reason.code]) { _, new in new }
        }
        return payload
    }
}
