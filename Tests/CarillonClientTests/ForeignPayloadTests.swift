import CarillonClient
import Testing

@Suite("A payload")
struct ForeignPayloadTests {
    private func isRefused(_ payload: [String: String]) -> Bool {
        WakeUpNotification(payload: payload) == nil && WakeUpNotification(userInfo: payload) == nil
    }

    @Test("gives no notification if it is empty")
    func empty() {
        #expect(isRefused([:]))
    }

    @Test(
        "gives no notification if its type is missing or unknown",
        arguments: [nil, "", "Value", "update", "value "] as [String?])
    func type(text: String?) {
        #expect(isRefused(Payloads.value.setting("t", text)))
    }

    @Test("gives no notification if its app is missing or empty", arguments: [nil, ""] as [String?])
    func app(name: String?) {
        #expect(isRefused(Payloads.noData.setting("app", name)))
    }

    @Test(
        "gives no notification if its path is missing or does not begin with a slash",
        arguments: [nil, "", "rooms", " /rooms"] as [String?])
    func path(text: String?) {
        #expect(isRefused(Payloads.noData.setting("sp", text)))
    }

    @Test("gives no notification if its format is unknown", arguments: ["", "1", "3", "02", "2.0"])
    func format(version: String) {
        #expect(isRefused(Payloads.noData.setting("v", version)))
    }

    @Test(
        "gives no notification if the status of a value is missing or unknown",
        arguments: [nil, "", "ok", "OnlyKeys", "O\u{212a}"] as [String?])
    func valueStatus(text: String?) {
        #expect(isRefused(Payloads.value.setting("s", text)))
    }

    @Test(
        "gives no notification if the status of children is missing or unknown",
        arguments: [nil, "", "ok", "Only\u{212a}eys"] as [String?])
    func childStatus(text: String?) {
        #expect(isRefused(Payloads.childKeys.setting("s", text)))
    }

    @Test(
        "gives no notification if the value is missing or broken beside status OK",
        arguments: [nil, "", "{", "{'a':1}", "1 2"] as [String?])
    func value(text: String?) {
        #expect(isRefused(Payloads.value.setting("d", text)))
    }

    @Test(
        "gives no notification if a member with children is missing, broken or no object",
        arguments: ["added", "changed"])
    func children(member: String) {
        for text in [nil, "", "{", "[]", "null", #"{"a":1,"a":2}"#] as [String?] {
            #expect(isRefused(Payloads.children.setting(member, text)), "\(member): \(text ?? "nil")")
            #expect(isRefused(Payloads.childKeys.setting(member, text)), "\(member): \(text ?? "nil")")
        }
    }

    @Test(
        "gives no notification if its removed keys are missing, broken or not strings",
        arguments: [nil, "", "[", "{}", "[1]", #"["a",null]"#] as [String?])
    func removedKeys(text: String?) {
        #expect(isRefused(Payloads.children.setting("removed", text)))
        #expect(isRefused(Payloads.childKeys.setting("removed", text)))
    }

    @Test(
        "gives no notification if a key has a value other than true beside status OnlyKeys",
        arguments: ["added", "changed"])
    func valuesBesideOnlyKeys(member: String) {
        for value in ["false", "null", "1", "{}", #""true""#] {
            #expect(
                isRefused(Payloads.childKeys.setting(member, "{\"m2\":true,\"m3\":\(value)}")), "\(member): \(value)")
        }
    }

    @Test("gives no notification if a revocation has no reason")
    func reason() {
        #expect(isRefused(Payloads.revocation.setting("r", nil)))
    }

    @Test(
        "gives no notification if a member is not a string",
        arguments: ["t", "app", "sp", "v", "s", "d", "added", "changed", "removed", "r"])
    func notAString(member: String) {
        for other in [1, true, ["a"], ["a": "b"]] as [Any] {
            var userInfo: [AnyHashable: Any] = .userInfo(Payloads.noData, isRelayed: false)
            userInfo[member] = other
            #expect(WakeUpNotification(userInfo: userInfo) == nil, "\(member): \(other)")
        }
    }

    @Test("gives no notification if another sender wrote it")
    func otherSenders() {
        let alert: [AnyHashable: Any] = ["aps": ["alert": ["title": "t", "body": "value"]]]
        #expect(WakeUpNotification(userInfo: alert) == nil)
        #expect(isRefused(["title": "Hello", "app": "chat", "type": "value"]))
    }

    @Test("gives no notification while it is encrypted, which the library cannot read yet")
    func encrypted() {
        let payload = [
            "v": "2", "t": "value", "app": "chat", "sp": "/rooms", "n": "7", "kid": "k1", "e": "eyJhbGciOi.J9.x.y.z",
        ]
        #expect(isRefused(payload))
    }
}
