import Foundation
import PushModel
import Testing

@Suite("A gateway whose provider, written by others, misbehaves", .onCluster)
struct StrangerTests {
    private static let body = """
        {"audience": {"all": true}, "notification": {"title": "Carillon", "body": "Twelve o'clock"}, "badge": "increment"}
        """
    /// One connection's worth of pushes may be in the air when it breaks, again and again.
    private static let repeatsExcused = 12

    @Test(
        "loses nothing, and repeats only what had no answer",
        arguments: [
            ["--reset-every", "97"], ["--goaway-every", "50"], ["--drop-every", "97"], ["--huge-header-every", "97"],
            ["--one-stream-after", "40"], ["--max-streams", "1"], ["--delay-ms", "300"],
        ])
    func misbehaves(peer: [String]) async throws {
        try await World.within(devices: Device.some(live: 280, dead: 19, bad: 1), peer: peer) { world in
            let gateway = try await world.gateway()
            try await world.furnish(through: gateway)
            var client = Client(body: Self.body, key: "once")
            try await client.sendUntilAnswered(through: gateway)
            let account = try await client.finished(through: gateway)
            try await gateway.stopGently()
            let isPolite = ["--goaway-every", "--one-stream-after", "--max-streams", "--delay-ms"].contains(peer[0])
            let evidence = try await world.evidence(
                answered: client.answered, account: account, repeatsAllowed: isPolite ? 0 : Self.repeatsExcused)
            #expect(Promises.breaches(in: evidence) == [])
        }
    }
}
