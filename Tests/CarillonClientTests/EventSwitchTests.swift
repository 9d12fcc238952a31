import CarillonClient
import Testing

@Suite("An app's switch over the events")
struct EventSwitchTests {
    /// The switch statement of the wake-up tutorial for Apple's systems.
    private func sentence(_ event: WakeUpEvent) -> String {
        switch event {
        case let .valueChange(.value(value)):
            "Value has changed: \(value.serialized)"
        case .valueChange(.hidden):
            "Value has changed, but you have to read it explicitly"
        case .valueChange(.tooBig):
            "Value has changed, but it oversizes the notification"
        case let .childrenUpdate(.full(details)):
            "\(details.additions.count) added, \(details.changes.count) changed, \(details.removals.count) removed"
        case let .childrenUpdate(.onlyKeys(details)):
            "Keys of \(details.additions.count), \(details.changes.count), \(details.removals.count)"
        case .childrenUpdate(.tooBig):
            "Some child nodes have changed, but they oversize the notification"
        case let .revocation(reason: reason):
            "The subscription was revoked: \(reason)"
        }
    }

    @Test(
        "compiles as the tutorial writes it, and covers every event",
        arguments: [
            (Payloads.value, #"Value has changed: {"temperature":21.50,"unit":"°C"}"#),
            (Payloads.noData, "Value has changed, but you have to read it explicitly"),
            (Payloads.valueTooBig, "Value has changed, but it oversizes the notification"),
            (Payloads.children, "1 added, 2 changed, 1 removed"),
            (Payloads.childKeys, "Keys of 1, 2, 1"),
            (Payloads.childrenTooBig, "Some child nodes have changed, but they oversize the notification"),
            (Payloads.revocation, "The subscription was revoked: expired"),
        ])
    func tutorial(payload: [String: String], text: String) throws {
        #expect(sentence(try #require(WakeUpNotification(payload: payload)).event) == text)
    }
}
