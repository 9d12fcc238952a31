import Model
import TestSupport
import Testing

@Suite("A gateway that is killed by SIGKILL while it sends a message", .onDatabaseServer())
struct KilledTests {
    private static let devices = Device.some(live: 36, dead: 3, bad: 1)

    @Test(
        "keeps every delivery promise if killed at a step, restarted, and killed there again",
        arguments: Step.ofBroadcasts)
    func twiceAtTheSameStep(step: Step) async throws {
        try await keepsItsPromises([Fault(step: step), Fault(step: step)])
    }

    @Test(
        "keeps every delivery promise if killed at a step, restarted, and killed at the next",
        arguments: zip(Step.ofBroadcasts, Step.ofBroadcasts.dropFirst()))
    func thenAtTheNext(step: Step, next: Step) async throws {
        try await keepsItsPromises([Fault(step: step), Fault(step: next)])
    }

    @Test(
        "keeps every delivery promise with several parcels in flight",
        arguments: [Step.leaseCommitted, .batchSubmitted, .lastAnswer, .settleWritten, .settleCommitted])
    func severalParcels(step: Step) async throws {
        try await World.within(devices: Self.devices, settings: ["PARCEL_MEMBERS": "10"]) { world in
            let kills = [Fault(step: step, time: 2), Fault(step: step)]
            let outcome = try await KillWorld(world: world, kills: kills).run()
            #expect(outcome.fired.first?.step == step, "the first fault killed the gateway")
            // While one parcel is at the step, the answers of others may not be settled.
            var evidence = outcome.evidence
            evidence.repeatsAllowed = outcome.fired.count
            #expect(Promises.breaches(in: evidence) == [])
        }
    }

    @Test("keeps every delivery promise if killed at one step after another of one message")
    func grandTour() async throws {
        let steps: [Step] = [
            .messageRead, .messageWritten, .messageCommitted, .sliceWritten, .sliceCommitted, .leaseWritten,
            .leaseCommitted, .batchSubmitted, .firstAnswer, .lastAnswer, .verdictsCommitted, .settleWritten,
        ]
        try await World.within(devices: Self.devices) { world in
            let outcome = try await KillWorld(world: world, kills: steps.map { Fault(step: $0) }).run()
            #expect(outcome.fired.map(\.step) == steps, "every fault killed the gateway")
            #expect(Promises.breaches(in: outcome.evidence) == [])
        }
    }

    private func keepsItsPromises(_ kills: [Fault]) async throws {
        try await World.within(devices: Self.devices) { world in
            let outcome = try await KillWorld(world: world, kills: kills).run()
            #expect(outcome.fired.first?.step == kills[0].step, "the first fault killed the gateway")
            #expect(Promises.breaches(in: outcome.evidence) == [])
        }
    }
}
