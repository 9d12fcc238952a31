import CarillonClient
import Testing

@Suite("A wake-up notification from a payload")
struct WakeUpNotificationTests {
    private func event(_ payload: [String: String]) -> WakeUpEvent? { WakeUpNotification(payload: payload)?.event }

    @Test("has the app and the path as they were written")
    func address() throws {
        let payload = Payloads.value.setting("app", "Chat 2").setting("sp", "/rooms//é/")
        let notification = try #require(WakeUpNotification(payload: payload))
        #expect(notification.app == "Chat 2")
        #expect(notification.path == "/rooms//é/")
    }

    @Test("accepts a path whose slash carries a combining mark")
    func pathIsBytes() {
        #expect(WakeUpNotification(payload: Payloads.noData.setting("sp", "/\u{301}x"))?.path == "/\u{301}x")
    }

    @Test("has the new value in mode value, with its number exactly as it was written")
    func value() throws {
        guard case .valueChange(.value(let value)) = try #require(event(Payloads.value)) else {
            Issue.record("no value")
            return
        }
        #expect(value.object?["temperature"]?.number?.text == "21.50")
        #expect(value.serialized == #"{"temperature":21.50,"unit":"°C"}"#)
    }

    @Test("has null as the value of a deleted node")
    func deletion() {
        #expect(event(Payloads.deletion) == .valueChange(.value(.null)))
    }

    @Test(
        "accepts a value of each kind",
        arguments: [("7", 7), (#""on""#, "on"), ("false", false), ("[1]", [1])] as [(String, JSON)])
    func kinds(text: String, value: JSON) {
        #expect(event(Payloads.value.setting("d", text)) == .valueChange(.value(value)))
    }

    @Test("says that the value is too big, with or without the member d")
    func valueTooBig() {
        #expect(event(Payloads.valueTooBig) == .valueChange(.tooBig))
        #expect(event(Payloads.valueTooBig.setting("d", "")) == .valueChange(.tooBig))
    }

    @Test("hides the value in mode noData")
    func noData() {
        #expect(event(Payloads.noData) == .valueChange(.hidden))
    }

    @Test("has the children's values in mode childEvent")
    func children() {
        let details = WakeUpEvent.ChildValues(
            additions: ["m7": ["text": "Hi"]], changes: ["m5": ["text": "Hello"], "m6": true], removals: ["m1"])
        #expect(event(Payloads.children) == .childrenUpdate(.full(details)))
    }

    @Test("has the children's keys if their values are left out")
    func childKeys() {
        let details = WakeUpEvent.ChildKeys(additions: ["m7"], changes: ["m5", "m6"], removals: ["m1"])
        #expect(event(Payloads.childKeys) == .childrenUpdate(.onlyKeys(details)))
    }

    @Test("says that the children are too big, with empty members or without them")
    func childrenTooBig() {
        #expect(event(Payloads.childrenTooBig) == .childrenUpdate(.tooBig))
        let bare = Payloads.childrenTooBig.setting("added", nil).setting("changed", nil).setting("removed", nil)
        #expect(event(bare) == .childrenUpdate(.tooBig))
    }

    @Test("keeps two children whose keys differ in bytes but are equal in Unicode")
    func keysAreBytes() throws {
        let payload = Payloads.children.setting("added", "{\"\u{e9}\":1,\"e\u{301}\":2}")
        guard case .childrenUpdate(.full(let details)) = try #require(event(payload)) else {
            Issue.record("no values")
            return
        }
        #expect(details.additions["\u{e9}"] == 1)
        #expect(details.additions["e\u{301}"] == 2)
    }

    @Test(
        "has the reason of a revocation",
        arguments: [
            ("permission_denied", .permissionDenied), ("namespace_does_not_exist", .namespaceDoesNotExist),
            ("disabled", .disabled), ("expired", .expired), ("too_big", .tooBig), ("moved", .other("moved")),
        ] as [(String, RevocationReason)])
    func revocation(code: String, reason: RevocationReason) {
        #expect(event(Payloads.revocation.setting("r", code)) == .revocation(reason: reason))
        #expect("\(reason)" == code)
    }

    @Test("accepts format 2 and its extra member n")
    func secondFormat() {
        let payload = Payloads.value.setting("v", "2").setting("n", "42")
        #expect(event(payload) == event(Payloads.value))
    }

    @Test("ignores members that it does not know")
    func otherMembers() {
        #expect(event(Payloads.value.setting("carillon_id", "m_81")) == event(Payloads.value))
    }

    @Test("equals the one from userInfo, directly from APNs or through FCM", arguments: Payloads.all, [false, true])
    func userInfo(payload: [String: String], isRelayed: Bool) throws {
        let notification = try #require(WakeUpNotification(payload: payload))
        #expect(WakeUpNotification(userInfo: .userInfo(payload, isRelayed: isRelayed)) == notification)
    }

    @Test("equals only one whose app and path have the same bytes")
    func equalityIsBytes() {
        let one = WakeUpNotification(app: "\u{e9}", path: "/\u{e9}", event: .valueChange(.hidden))
        #expect(one != WakeUpNotification(app: "e\u{301}", path: "/\u{e9}", event: .valueChange(.hidden)))
        #expect(one != WakeUpNotification(app: "\u{e9}", path: "/e\u{301}", event: .valueChange(.hidden)))
        #expect(one == WakeUpNotification(app: "\u{e9}", path: "/\u{e9}", event: .valueChange(.hidden)))
    }

    @Test("equals only one whose removed keys have the same bytes")
    func removalEqualityIsBytes() {
        func values(_ removal: String) -> WakeUpEvent.ChildValues {
            .init(additions: [:], changes: [:], removals: [removal])
        }
        func keys(_ removal: String) -> WakeUpEvent.ChildKeys { .init(additions: [], changes: [], removals: [removal]) }
        #expect(values("\u{e9}") != values("e\u{301}"))
        #expect(keys("\u{e9}") != keys("e\u{301}"))
        #expect(values("\u{e9}") == values("\u{e9}") && keys("\u{e9}") == keys("\u{e9}"))
    }
}
