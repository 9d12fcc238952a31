import Basis
import Encodings
import Model
import Testing

@Suite("The check of the delivery promises")
struct PromisesTests {
    private static let device = Device.some(live: 1, dead: 0, bad: 0)[0]
    private static let message = UniversalID(high: 0x0192_0000_0000_7000, low: 0x8000_0000_0000_0001)

    private static func push(of message: UniversalID = message, badge: Int? = 1) -> SeenPush {
        let name = PushIdentity.apnsID(message: MessageID(message), registration: RegistrationID(1)).text
        return SeenPush(
            token: device.token, id: name, topic: "com.example.garden", collapseID: "m", badge: badge, value: nil,
            status: 200)
    }

    /// The evidence of a flawless run.
    private static var flawless: Evidence {
        Evidence(
            devices: [device], pushes: [push()],
            registrations: [.init(id: 1, installation: device.installation, state: 1, badge: 1)], feedback: [],
            messages: [.init(id: message.text, state: 6, audience: 1, outcomes: [1, 0, 0, 0, 0, 0, 0])], parcelsLeft: 0,
            answered: [message.text],
            account: Account(id: message.text, state: "finished", audience: 1, outcomes: ["accepted": 1], pending: 0),
            repeatsAllowed: 0)
    }

    @Test("finds no breach in a flawless run, or in one with an allowed repeat")
    func flawlessRun() {
        #expect(Promises.breaches(in: Self.flawless) == [])
        var repeated = Self.flawless
        repeated.pushes.append(Self.push())
        repeated.repeatsAllowed = 1
        repeated.repeatsAllowedInAll = 0
        #expect(!Promises.breaches(in: repeated).isEmpty, "fewer repeats are allowed over all devices")
        repeated.repeatsAllowedInAll = 1
        #expect(Promises.breaches(in: repeated) == [])
    }

    struct Breach: Sendable, CustomTestStringConvertible {
        let promise: String
        let testDescription: String
        let commit: @Sendable (inout Evidence) -> Void

        init(_ promise: String, _ description: String, _ commit: @escaping @Sendable (inout Evidence) -> Void) {
            self.promise = promise
            testDescription = description
            self.commit = commit
        }
    }

    private static let breaches: [Breach] = [
        Breach("P1", "a 202 for a message that is lost") { $0.answered.append(UniversalID(high: 1, low: 2).text) },
        Breach("P1", "a message stored twice") { $0.messages.append($0.messages[0]) },
        Breach("P1", "a message that never ends") { $0.messages[0].state = 4 },
        Breach("P2", "a push counted twice") { $0.messages[0].outcomes[0] = 2 },
        Breach("P2", "a sum that is not the audience") { $0.messages[0].audience = 2 },
        Breach("P2", "a parcel that stays") { $0.parcelsLeft = 1 },
        Breach("P3", "a badge raised twice") { $0.registrations[0].badge = 2 },
        Breach("P3", "a badge that was not raised") { $0.registrations[0].badge = 0 },
        Breach("P3", "a push with a badge of its own") { $0.pushes[0] = push(badge: 2) },
        Breach("P3", "a push without a badge") { $0.pushes[0] = push(badge: nil) },
        Breach("P4", "a push that never left") { $0.pushes = [] },
        Breach("P4", "a repetition without an excuse") { $0.pushes.append(push()) },
        Breach("P4", "a repetition under another name") {
            $0.repeatsAllowed = 1
            $0.pushes.append(push(of: UniversalID(high: 7, low: 7)))
        },
        Breach("P4", "a push to nobody") {
            $0.devices = []
            $0.messages[0].outcomes = [0, 0, 0, 0, 0, 0, 0]
        },
        Breach("P5", "a living token retired") { $0.registrations[0].state = 3 },
        Breach("P5", "feedback about a living token") {
            $0.feedback.append(.init(installation: device.installation, verdict: 1))
        },
    ]

    @Test("finds each kind of breach", arguments: breaches)
    func findsBreach(breach: Breach) {
        var evidence = Self.flawless
        breach.commit(&evidence)
        #expect(Promises.breaches(in: evidence).contains { $0.hasPrefix(breach.promise) })
    }
}
