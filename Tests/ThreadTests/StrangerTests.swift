import Foundation
import TestSupport
import Testing

@Suite("A gateway whose provider is a misbehaving third-party HTTP/2 server", .onDatabaseServer())
struct StrangerTests {
    private static let body = """
        {"audience": {"all": true}, "notification": {"title": "Carillon", "body": "\(World.text)"}, "badge": "increment"}
        """
    /// The repeats for streams that the peer resets, drops, or answers with garbage, one at a time.
    private static let repeatsExcused = 6
    /// The peer may be slow on a loaded machine; a dropped request must be given up all the same.
    private static let timeout = ["LEASE_SECONDS": "15", "REQUEST_DEADLINE_SECONDS": "4"]
    /// The pushes that a lane has in flight when connections break: all of the first two connections, which may open
    /// together, then an eighth of a connection's lifetime.
    private static let repeatsExcusedOfCutters = 2 * 96 + 4 * 12

    @Test(
        "loses no push, and repeats only pushes that got no answer",
        arguments: [
            ["--reset-every", "97"], ["--goaway-every", "50"], ["--close-every", "97"], ["--drop-every", "97"],
            ["--garbage-every", "97"], ["--half-frame-every", "97"], ["--huge-header-every", "97"],
            ["--one-stream-after", "40"], ["--max-streams", "1"], ["--delay-ms", "300"],
        ])
    func misbehaves(peer: [String]) async throws {
        try await World.within(devices: Device.some(live: 280, dead: 19, bad: 1), peer: peer, settings: Self.timeout) {
            world in
            let gateway = try await world.gateway()
            try await world.fill(through: gateway)
            var client = Client(body: Self.body, key: "once")
            try await client.sendUntilAnswered(through: gateway)
            let account = try await client.finished(through: gateway)
            try await gateway.stopGently()
            let excused = Self.repeatsExcused(of: peer[0])
            var evidence = try await world.evidence(
                answered: client.answered, account: account, repeatsAllowed: excused)
            evidence.repeatsAllowedInAll = excused
            #expect(Promises.breaches(in: evidence) == [])
        }
    }

    private static func repeatsExcused(of peer: String) -> Int {
        switch peer {
        case "--goaway-every", "--one-stream-after", "--max-streams", "--delay-ms": 0
        case "--close-every", "--garbage-every", "--half-frame-every": repeatsExcusedOfCutters
        default: repeatsExcused
        }
    }
}
