import Foundation
import Model
import TestSupport
import Testing

/// A gateway that leased the message when it accepted it, and is killed on the way.
@Suite("A gateway that is killed by SIGKILL while it sends a direct message", .onDatabaseServer())
struct KilledDirectTests {
    private static let devices = Device.some(live: 38, dead: 0, bad: 2)
    private static let body: String = {
        let names = devices.map { "\"\($0.installation)\"" }.joined(separator: ", ")
        return """
            {"audience": {"installations": [\(names)]}, "badge": "increment",
             "notification": {"title": "Carillon", "body": "\(World.text)"}, "options": {"ttl_seconds": 3600}}
            """
    }()

    @Test("keeps every delivery promise at each of its steps", arguments: Step.ofDirectMessages)
    func atEachStep(step: Step) async throws {
        try await World.within(devices: Self.devices) { world in
            let kills = [Fault(step: step, time: 2)]
            let outcome = try await KillWorld(world: world, kills: kills, body: { Self.body }, warmsUp: true).run()
            #expect(outcome.fired.map(\.step) == [step], "the kill came to pass")
            var evidence = outcome.evidence
            // The lane has the pushes while the answer is on its way to the client.
            if step == .messageAnswered { evidence.repeatsAllowed += 1 }
            #expect(Promises.breaches(in: evidence) == [])
        }
    }

    @Test("keeps every delivery promise if the next gateway is killed there too", arguments: [Step.cutWritten])
    func twice(step: Step) async throws {
        try await World.within(devices: Self.devices) { world in
            let kills = [Fault(step: step, time: 2), Fault(step: step), Fault(step: .cutCommitted)]
            let outcome = try await KillWorld(world: world, kills: kills, body: { Self.body }, warmsUp: true).run()
            #expect(outcome.fired.map(\.step) == kills.map(\.step), "each kill came to pass")
            #expect(Promises.breaches(in: outcome.evidence) == [])
        }
    }

    @Test(
        "counts no message, push or badge twice if it freezes past its lease and resumes",
        arguments: [Step.cutWritten, .cutCommitted])
    func frozen(step: Step) async throws {
        try await World.within(devices: Self.devices) { world in
            let sleeper = try await world.gateway(Fault(step: step, time: 2, freezes: true))
            try await world.fill(through: sleeper)
            var first = Client(body: Self.body, key: "first")
            try await first.sendUntilAnswered(through: sleeper)
            _ = try await first.finished(through: sleeper)
            async let late = Self.send(Client(body: Self.body, key: "second"), through: sleeper)
            try await sleeper.child.frozen()

            let other = try await world.gateway()
            var client = Client(body: Self.body, key: "second")
            // Uncommitted, the frozen gateway holds the key, and the same request waits for it.
            if step == .cutWritten { sleeper.child.kill(SIGCONT) }
            try await client.sendUntilAnswered(through: other)
            let account = try await client.finished(through: other)
            if step == .cutCommitted { sleeper.child.kill(SIGCONT) }
            let answeredLate = try await late
            try await sleeper.stopGently()
            try await other.stopGently()

            let answered = first.answered + client.answered + answeredLate.answered
            #expect(Set(answered).count == 2, "two keys, two messages")
            let evidence = try await world.evidence(
                answered: answered, account: account, repeatsAllowed: 0, messagesSent: 2)
            #expect(Promises.breaches(in: evidence) == [])
        }
    }

    private static func send(_ client: Client, through gateway: Gateway) async throws -> Client {
        var client = client
        try await client.send(through: gateway)
        return client
    }
}
