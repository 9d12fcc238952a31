import Basis
import Model
import QueueRules
import Testing

@Suite("The log's reminders that a credential expires")
struct ExpiryRemindersTests {
    private static let end = WallInstant(secondsSince1970: 1_800_000_000)
    private static let credential = CredentialID(7)

    private static func before(_ days: Double) -> WallInstant { end + .seconds(-days * 86_400) }

    private static func due(_ reminders: inout ExpiryReminders, _ days: Double) -> ExpiryReminders.Stage? {
        reminders.due(credential, notAfter: end, now: before(days))
    }

    @Test(
        "begin thirty days before, and change at seven days, at one day and at the end",
        arguments: [
            (30.1, nil), (30, .month), (7.1, .month), (7, .week), (1.1, .week), (1, .day), (0.1, .day), (0, .expired),
            (-400, .expired),
        ] as [(Double, ExpiryReminders.Stage?)])
    func stages(days: Double, stage: ExpiryReminders.Stage?) {
        #expect(ExpiryReminders.stage(notAfter: Self.end, now: Self.before(days)) == stage)
    }

    @Test("come once a day, however often the credential is looked at")
    func onceADay() {
        var reminders = ExpiryReminders()
        #expect(Self.due(&reminders, 20) == .month)
        #expect(Self.due(&reminders, 19.5) == nil && Self.due(&reminders, 19.1) == nil)
        #expect(Self.due(&reminders, 19) == .month)
        #expect(Self.due(&reminders, -1) == .expired)
        #expect(Self.due(&reminders, -1.5) == nil)
        #expect(Self.due(&reminders, -2) == .expired)
    }

    @Test("come at once when the next stage begins")
    func nextStage() {
        var reminders = ExpiryReminders()
        #expect(Self.due(&reminders, 7.5) == .month)
        #expect(Self.due(&reminders, 7) == .week)
        #expect(Self.due(&reminders, 1) == .day)
        #expect(Self.due(&reminders, 0) == .expired)
    }

    @Test("come for each credential")
    func each() {
        var reminders = ExpiryReminders()
        #expect(Self.due(&reminders, 20) == .month)
        #expect(reminders.due(CredentialID(8), notAfter: Self.end, now: Self.before(20)) == .month)
    }
}
