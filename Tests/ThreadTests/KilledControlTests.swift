import Foundation
import Model
import TestSupport
import Testing

@Suite(
    "A gateway that is killed by SIGKILL while it schedules or controls a message",
    .onDatabaseServer())
struct KilledControlTests {
    private static let devices = Device.some(live: 36, dead: 3, bad: 1)
    /// One push per parcel: a cancel ends twenty parcels at a time, so that more than one slice is left.
    private static let singly = ["PARCEL_MEMBERS": "1"]
    private static let atItsHour: [Step] = [.scheduleWritten, .scheduleCommitted]
    private static let whenRequested: [Step] = [.stopWritten, .stopCommitted]

    @Test("gets killed at every step that only scheduling and control pass through")
    func everyStep() {
        #expect(Self.atItsHour + Self.whenRequested == Step.allCases.filter { $0.work == .control })
    }

    @Test(
        "sends the message once when it is killed at the send time, and then killed again",
        arguments: [
            [Step.scheduleWritten, .scheduleWritten], [.scheduleWritten, .scheduleCommitted],
            [.scheduleCommitted, .sliceWritten],
        ])
    func hour(steps: [Step]) async throws {
        try await World.within(devices: Self.devices) { world in
            let thread = KillWorld(world: world, kills: steps.map { Fault(step: $0) }) {
                // Send times have whole seconds: this leaves at least eight, in which the request is answered.
                let hour = ISO8601DateFormatter().string(from: Date(timeIntervalSinceNow: 9))
                return """
                    {"audience": {"all": true}, "notification": {"title": "Carillon", "body": "\(World.text)"},
                     "badge": "increment", "options": {"send_at": "\(hour)"}}
                    """
            }
            let outcome = try await thread.run()
            #expect(outcome.fired.map(\.step) == steps, "every fault killed the gateway")
            #expect(Promises.breaches(in: outcome.evidence) == [])
        }
    }

    @Test(
        "pauses and resumes the message when it is killed at each; each device gets one push", arguments: whenRequested)
    func pauseAndResume(step: Step) async throws {
        try await World.within(devices: Self.devices, settings: Self.singly) { world in
            var scenario = ControlKillWorld(world: world)
            let first = try await world.gateway(Fault(step: step))
            try await scenario.begin(through: first)
            try await scenario.write(.pause, to: first)
            try await scenario.diesOfIt(first)

            let second = try await world.gateway()
            try await scenario.held()
            try await second.stopGently()

            let third = try await world.gateway(Fault(step: step))
            try await scenario.write(.resume, to: third)
            try await scenario.diesOfIt(third)

            let fourth = try await world.gateway()
            try await scenario.write(.fullSpeed, to: fourth)
            #expect(Promises.breaches(in: try await scenario.finished(through: fourth)) == [])
        }
    }

    @Test("lifts the message's rate limit when it is killed at it; each device gets one push", arguments: whenRequested)
    func fullSpeed(step: Step) async throws {
        try await World.within(devices: Self.devices, settings: Self.singly) { world in
            var scenario = ControlKillWorld(world: world)
            let first = try await world.gateway(Fault(step: step))
            try await scenario.begin(through: first)
            try await scenario.write(.fullSpeed, to: first)
            try await scenario.diesOfIt(first)

            let second = try await world.gateway()
            #expect(Promises.breaches(in: try await scenario.finished(through: second)) == [])
        }
    }

    // The kill comes at the hold, at the first slice, or at a later one.
    @Test(
        "cancels the message when it is killed at any slice; no cancelled push arrives",
        arguments: whenRequested, 1...3)
    func cancel(step: Step, time: Int) async throws {
        let devices = Device.some(live: 60, dead: 0, bad: 0)
        try await World.within(devices: devices, settings: Self.singly) { world in
            var scenario = ControlKillWorld(world: world)
            let first = try await world.gateway(Fault(step: step, time: time))
            try await scenario.begin(through: first)
            try await scenario.write(.cancel, to: first)
            try await scenario.diesOfIt(first)

            let second = try await world.gateway()
            let (evidence, failures) = try await scenario.cancelled(through: second)
            #expect(Self.breaches(ofCancelled: evidence, failures) == [])
        }
    }

    /// P1 to P5 for a cancelled message to live devices. Each breach is a sentence.
    private static func breaches(ofCancelled evidence: Evidence, _ failures: [String: String]) -> [String] {
        var breaches: [String] = []
        let everybody = Set(evidence.devices.map(\.installation))
        let reached = Set(evidence.pushes.map(\.token))
        let arrived = Set(evidence.devices.filter { reached.contains($0.token) }.map(\.installation))
        let cancelled = Set(failures.filter { $0.value == "cancelled" }.keys)
        let unknown = Set(failures.filter { $0.value == "gave_up" }.keys)

        let accepted = everybody.count - failures.count
        let expected = [accepted, 0, 0, 0, 0, cancelled.count, unknown.count]
        let reported = TerminalState.allCases.map { evidence.account.outcomes[$0.name] ?? 0 }
        if evidence.messages.map(\.id) != [evidence.account.id] || evidence.account.state != "cancelled" {
            breaches.append(
                "P1: \(evidence.messages.count) messages are stored, and the state is \(evidence.account.state)")
        }
        if reported != expected || evidence.messages.first?.outcomes != expected
            || evidence.messages.first?.audience != everybody.count
        {
            breaches.append("P2: the account shows \(reported) instead of \(expected)")
        }
        if evidence.parcelsLeft != 0 { breaches.append("P2: \(evidence.parcelsLeft) parcels are left") }
        for name in cancelled.intersection(arrived).sorted() {
            breaches.append("P2: \(name) was reported as cancelled, but got the push")
        }
        for name in everybody.subtracting(arrived).subtracting(failures.keys).sorted() {
            breaches.append("P2: \(name) was reported as accepted, but did not get the push")
        }
        if unknown.count > ControlKillWorld.unsettledMax {
            breaches.append("P2: \(unknown.count) answers are reported as lost")
        }
        for registration in evidence.registrations {
            // A push whose owner died keeps the raised badge: it may have been shown.
            let least = arrived.contains(registration.installation) ? 1 : 0
            if !(least...1).contains(registration.badge) {
                breaches.append("P3: \(registration.installation) has badge \(registration.badge)")
            }
        }
        if evidence.pushes.contains(where: { $0.badge != 1 }) { breaches.append("P3: a push had another badge than 1") }
        if evidence.pushes.count != reached.count { breaches.append("P4: a push was repeated after the cancel") }
        if !evidence.feedback.isEmpty { breaches.append("P5: there is feedback about live tokens") }
        return breaches
    }
}
