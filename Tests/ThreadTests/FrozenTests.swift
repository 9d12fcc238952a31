import Foundation
import Model
import TestSupport
import Testing

@Suite("Two gateways on one database, of which one freezes past its lease and resumes", .onDatabaseServer())
struct FrozenTests {
    private static let devices = Device.some(live: 36, dead: 3, bad: 1)
    private static let body = """
        {"audience": {"all": true}, "notification": {"title": "Carillon", "body": "\(World.text)"}, "badge": "increment"}
        """

    @Test("count no message, push or badge twice", arguments: Step.ofBroadcasts)
    func frozenAt(step: Step) async throws {
        try await World.within(devices: Self.devices) { world in
            let sleeper = try await world.gateway(Fault(step: step, freezes: true))
            try await world.fill(through: sleeper)
            // The gateway may freeze before it answers, so its client waits in parallel.
            async let firstTry = Self.send(Client(body: Self.body, key: "first"), through: sleeper)
            try await sleeper.child.frozen()

            let other = try await world.gateway()
            var client = Client(body: Self.body, key: "first")
            try await client.sendUntilAnswered(through: other)
            let account = try await client.finished(through: other)

            sleeper.child.kill(SIGCONT)
            let answeredLate = try await firstTry
            // The resumed gateway still works: it finishes a message of its own, or leaves it to the other.
            var second = Client(body: Self.body, key: "second")
            try await second.sendUntilAnswered(through: sleeper)
            _ = try await second.finished(through: other)
            // On a stop request, it first finishes everything that it believes to hold.
            try await sleeper.stopGently()
            try await other.stopGently()

            let answered = client.answered + answeredLate.answered + second.answered
            #expect(Set(answered).count == 2, "two idempotency keys make two messages")
            let mayRepeat =
                step.rawValue >= Step.batchSubmitted.rawValue && step.rawValue <= Step.settleWritten.rawValue
            let evidence = try await world.evidence(
                answered: answered, account: account, repeatsAllowed: mayRepeat ? 1 : 0, messagesSent: 2)
            #expect(Promises.breaches(in: evidence) == [])
        }
    }

    private static func send(_ client: Client, through gateway: Gateway) async throws -> Client {
        var client = client
        try await client.send(through: gateway)
        return client
    }
}
