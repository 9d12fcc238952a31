import Delivery
import Lanes
import Model
import Testing

@Suite("The text of a lane's events")
struct LaneEventTextTests {
    static let events: [LaneEvent] = [
        .connected, .dialFailed(.unreachable, detail: "name not known"), .dialFailed(.deadlinePassed, detail: ""),
        .tlsRefused(detail: "certificate unknown"), .goAway(reason: nil), .goAway(reason: "Shutdown"),
        .credentialRefused(reason: "BadCertificate"), .credentialSuspected(reason: "ExpiredProviderToken"),
        .connectionLost(.protocolViolation, detail: "frame too long"),
        .recovered,
    ]

    @Test("consists of words, without names of types or cases", arguments: events)
    func text(_ event: LaneEvent) {
        #expect(event.sentence.contains(" "))
        for name in ["Model", "TransportFault", "detail:", "(", "nil"] {
            #expect(!event.sentence.contains(name) && !event.text.contains(name))
        }
    }

    @Test(
        "names what to check if a provider's answers need attention",
        arguments: [.credential, .clock, .keyShared, .ourRequest] as [ProviderAlarm])
    func alarm(_ alarm: ProviderAlarm) {
        #expect(alarm.text.split(separator: " ").count > 5)
        for name in ["keyShared", "ourRequest", "ProviderAlarm"] { #expect(!alarm.text.contains(name)) }
    }

    @Test("names the cause if a provider cannot be reached")
    func unreachable() {
        let event = LaneEvent.dialFailed(.unreachable, detail: "name not known")
        #expect(event.sentence == "A lane could not connect to its provider")
        #expect(event.text == "the provider can't be reached: name not known")
        #expect(event.cause == .unreachable && LaneEvent.tlsRefused(detail: "expired").cause == .tlsRefused)
        #expect(LaneEvent.credentialRefused(reason: "Forbidden").cause == .credentialRefused)
    }
}
