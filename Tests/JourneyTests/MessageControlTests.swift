import Basis
import Foundation
import Glibc
import Reactor
import Simulator
import TestSupport
import Testing

extension JourneysAlone {
    @Suite("A message that is changed after it was accepted")
    struct MessageControlTests {
        private static let live = [Device](.live, 20_000)
        /// After the answer no more pushes leave; a push may be in flight for this long.
        private static let effective: Duration = .seconds(1)
        /// Answers slow enough for a broadcast to have a middle.
        private static let slow = StandIn.Traits(streamLimit: 50)
        private static let delay = SimulatorScript(answerDelay: .milliseconds(100))

        private func change(_ message: String, _ control: String, through gateway: Gateway) async throws -> WallInstant
        {
            try await gateway.api.expect(200, "POST", "/v1/apps/garden/messages/\(message)/\(control)")
            return Clocks.wallNow()
        }

        @Test("stops within a second of a cancel on both gateways, with every push accounted for")
        func cancel() async throws {
            try await World.within(production: Self.slow) { world in
                let gateways = [try await world.gateway(), try await world.gateway()]
                try await world.fill(.garden, Self.live, through: gateways[0])
                await world.production.simulator.follow(Self.delay)
                let message = try await gateways[0].broadcast(.garden)
                try await world.production.accepted(atLeast: 2_000)
                let answered = try await change(message, "cancel", through: gateways[1])
                _ = try await change(message, "cancel", through: gateways[0])
                let account = try await gateways[0].cancelled(message, of: .garden)

                #expect(account.state == "cancelled" && account.audience == Self.live.count)
                let arrivals = await world.production.simulator.arrivals(of: Self.live)
                #expect(!arrivals.contains { $0 > answered + Self.effective })
                #expect(arrivals.count < Self.live.count)
                #expect(
                    account.terminalCounts == [
                        "accepted": arrivals.count, "cancelled": Self.live.count - arrivals.count,
                    ])
                for control in ["pause", "resume"] {
                    let refused = try await gateways[0].api.call(
                        "POST", "/v1/apps/garden/messages/\(message)/\(control)")
                    #expect(refused.status == 409 && refused.text.contains("message_over"))
                }
                for gateway in gateways { try await gateway.stopGently() }
            }
        }

        @Test("reports each push as sent, cancelled or unknown after a cancel and a killed gateway")
        func cancelAndKill() async throws {
            let settings = ["LEASE_SECONDS": "3", "REQUEST_DEADLINE_SECONDS": "2"]
            try await World.within(settings: settings, production: Self.slow) { world in
                let gateways = [try await world.gateway(), try await world.gateway()]
                try await world.fill(.garden, Self.live, through: gateways[0])
                await world.production.simulator.follow(Self.delay)
                let message = try await gateways[0].broadcast(.garden)
                try await world.production.accepted(atLeast: 4_000)
                let answered = try await change(message, "cancel", through: gateways[1])
                gateways[0].program.kill(SIGKILL)
                #expect(try await gateways[0].program.end() == .killed(signal: SIGKILL))
                let account = try await gateways[1].cancelled(message, of: .garden)

                #expect(account.state == "cancelled" && account.audience == Self.live.count)
                let arrivals = await world.production.simulator.arrivals(of: Self.live)
                #expect(!arrivals.contains { $0 > answered + Self.effective })
                let (accepted, taken) = (
                    account.terminalCounts["accepted"] ?? 0, account.terminalCounts["cancelled"] ?? 0
                )
                let unknown = account.terminalCounts["gave_up"] ?? 0
                #expect(accepted + taken + unknown == Self.live.count && account.terminalCounts.count <= 3)
                #expect((accepted...accepted + unknown).contains(arrivals.count))
                #expect(try await world.production.receipts(of: Self.live).repeats == 0)
                try await gateways[1].stopGently()
            }
        }

        @Test("reaches each device once after a pause, a killed gateway and a resume")
        func pause() async throws {
            try await World.within(production: Self.slow) { world in
                let first = try await world.gateway()
                try await world.fill(.garden, Self.live, through: first)
                await world.production.simulator.follow(Self.delay)
                let message = try await first.broadcast(.garden)
                try await world.production.accepted(atLeast: 2_000)
                let reported = try await world.command(["messages", "pause", message], first)
                let paused = Clocks.wallNow()
                #expect(reported.code == 0 && reported.printed.contains("paused"), "\(reported)")
                try await eventually("the pushes in flight to be settled") {
                    try await world.database { pool in
                        try await pool.number("SELECT count(*) FROM parcels WHERE state = 2") == 0
                    }
                }
                #expect(try await first.account(message, of: .garden).state == "paused")
                first.program.kill(SIGKILL)
                #expect(try await first.program.end() == .killed(signal: SIGKILL))
                let second = try await world.gateway()
                try await eventually("the time of two polls") { Clocks.wallNow() - paused > .seconds(3) }
                let resumed = Clocks.wallNow()
                #expect(try await world.command(["messages", "resume", message], second).code == 0)
                let account = try await second.finished(message, of: .garden)

                #expect(account.addsUp && account.terminalCounts == ["accepted": Self.live.count])
                #expect(try await world.production.receipts(of: Self.live) == .onceEach(Self.live.count))
                let arrivals = await world.production.simulator.arrivals(of: Self.live)
                #expect(!arrivals.contains { $0 > paused + Self.effective && $0 < resumed })
                try await second.stopGently()
            }
        }

        @Test("follows a lower and a lifted rate limit within a second on both gateways")
        func rate() async throws {
            let (first, lower) = (Rate(perSecond: 2_000), Rate(perSecond: 500))
            try await World.within { world in
                let gateways = [try await world.gateway(), try await world.gateway()]
                try await world.fill(.garden, Self.live, through: gateways[0])
                let asked = Clocks.wallNow()
                let message = try await gateways[0].broadcast(.garden, at: first)
                try await world.production.accepted(atLeast: 3_000)
                let path = "/v1/apps/garden/messages/\(message)"
                let lowering = Clocks.wallNow()
                try await gateways[1].api.expect(200, "PATCH", path, #"{"rate_per_second": \#(lower.perSecond)}"#)
                let lowered = Clocks.wallNow()
                let reached = await world.production.simulator.summary().accepted
                try await world.production.accepted(atLeast: reached + 4_000)
                let raising = Clocks.wallNow()
                try await gateways[0].api.expect(200, "PATCH", path, #"{"rate_per_second": null}"#)
                let account = try await gateways[1].finished(message, of: .garden)

                #expect(account.addsUp && account.terminalCounts == ["accepted": Self.live.count])
                #expect(try await world.production.receipts(of: Self.live) == .onceEach(Self.live.count))
                let arrivals = await world.production.simulator.arrivals(of: Self.live)
                let before = first.excess(of: arrivals.filter { $0 < lowering }, since: asked)
                #expect(before <= first.quantum)
                // Pushes leased at the higher rate arrive within the second until the new rate takes effect, or later
                // on a busy machine. They are no more than the new rate allows in that second.
                let slow = arrivals.filter { $0 > lowered + Self.effective && $0 < raising }
                let excess = lower.excess(of: slow, since: lowered)
                #expect(excess <= lower.quantum + lower.credit)
                // Even on a busy machine, it reached half of the rate at some time.
                let best = try #require(Rate.shortest(of: 1_000, in: slow))
                #expect(best < .seconds(2 * 1_000 / lower.perSecond))
                let last = try #require(arrivals.last)
                let remaining = arrivals.count { $0 > raising }
                #expect(
                    lower.allows(in: last - raising) + lower.quantum + lower.credit < remaining,
                    "the rate was raised again in time")
                print(
                    "rate \(lower.perSecond): \(slow.count) in \(raising - lowered), \(excess) above it,",
                    "1,000 in \(best);",
                    "then \(remaining) in \(last - raising)")
                for gateway in gateways { try await gateway.stopGently() }
            }
        }

        @Test("resumes within a second after a pause, and keeps its rate limit")
        func resumedAtARate() async throws {
            let rate = Rate(perSecond: 500)
            try await World.within { world in
                let gateway = try await world.gateway()
                try await world.fill(.garden, Array(Self.live[..<4_000]), through: gateway)
                let message = try await gateway.broadcast(.garden, at: rate)
                var reached = 0
                for _ in 1...3 {
                    try await world.production.accepted(atLeast: reached + 300)
                    _ = try await change(message, "pause", through: gateway)
                    try await eventually("the pushes in flight to be settled") {
                        try await world.database { pool in
                            try await pool.number("SELECT count(*) FROM parcels WHERE state = 2") == 0
                        }
                    }
                    reached = await world.production.simulator.summary().accepted
                    let resuming = Clocks.wallNow()
                    let resumed = try await change(message, "resume", through: gateway)
                    try await world.production.accepted(atLeast: reached + 300)
                    let arrivals = await world.production.simulator.arrivals(of: Self.live)
                    let next = try #require(arrivals.first { $0 > resuming })
                    #expect(next < resumed + Self.effective)
                    #expect(rate.excess(of: arrivals, since: resuming) <= rate.quantum + rate.credit)
                }
                #expect(try await gateway.finished(message, of: .garden).terminalCounts == ["accepted": 4_000])
                try await gateway.stopGently()
            }
        }

        @Test("waits for its send time over a restart, reaches new devices, and can be cancelled before")
        func hours() async throws {
            let devices = [Device](.live, 3)
            try await World.within { world in
                let first = try await world.gateway()
                try await world.fill(.garden, Array(devices[..<2]), through: first)
                let due = hour(in: 15)
                let asked = Clocks.wallNow()
                let reported = try await world.command(
                    ["send", "--all", "--body", World.text, "--badge", "increment", "--at", due, "--yes"], first)
                #expect(reported.code == 0, "\(reported)")
                let message = reported.printed.trimmingCharacters(in: .whitespacesAndNewlines)
                #expect(try await first.account(message, of: .garden).state == "scheduled")
                let other = try await first.send(
                    .garden,
                    """
                    {"audience": {"all": true}, "options": {"send_at": "\(hour(in: 86_400))"},
                     "notification": {"body": "\(World.text)"}}
                    """)[0]
                _ = try await change(other, "cancel", through: first)
                #expect(try await first.cancelled(other, of: .garden).audience == 0)
                try await first.register([devices[2]], of: .garden)
                first.program.kill(SIGKILL)
                #expect(try await first.program.end() == .killed(signal: SIGKILL))

                let second = try await world.gateway()
                let account = try await second.finished(message, of: .garden)
                #expect(account.addsUp && account.terminalCounts == ["accepted": 3])
                #expect(try await world.production.receipts(of: devices) == .onceEach(3))
                // The send time has whole seconds.
                let arrivals = await world.production.simulator.arrivals(of: devices)
                #expect(arrivals.allSatisfy { $0 - asked > .seconds(12) })
                try await second.stopGently()
            }
        }
    }
}

/// The arrivals that a message's rate limit permits, with the numbers of decision 0025.
///
/// Pushes arrive after they were leased, and are leased at the rate. So the arrivals since a moment without leases are
/// bounded, however slow the machine is.
struct Rate {
    let perSecond: Int

    /// The pushes that leave at once at rates below 5,000, and one for rounding over many shares.
    var quantum: Int { max(1, perSecond / 10) + 1 }
    /// The pushes that a message may catch up on after a wait: those of two tenths of a second.
    var credit: Int { perSecond / 5 }

    func allows(in time: Duration) -> Int { Int(Double(perSecond) * (time / .seconds(1))) }

    /// The largest number of pushes by which the arrivals were ahead of the rate. The arrivals must rise.
    func excess(of arrivals: [WallInstant], since start: WallInstant) -> Int {
        let later = arrivals.filter { $0 > start }
        return later.enumerated().map { place, arrival in place + 1 - allows(in: arrival - start) }.max() ?? 0
    }

    /// The shortest time in which so many arrived; nil if fewer did.
    static func shortest(of count: Int, in arrivals: [WallInstant]) -> Duration? {
        zip(arrivals, arrivals.dropFirst(count - 1)).map { $1 - $0 }.min()
    }
}

extension Gateway {
    /// Waits until a cancelled message has no pending push.
    func cancelled(_ message: String, of app: App) async throws -> Account {
        try await foundEventually("the cancelled message to be counted") {
            let account = try await account(message, of: app)
            return account.pending == 0 && account.audience != nil ? account : nil
        }
    }

    /// Sends to everyone at a rate, with a badge increment; returns the message's id.
    func broadcast(_ app: App, at rate: Rate) async throws -> String {
        try await send(
            app,
            """
            {"audience": {"all": true}, "badge": "increment", "options": {"rate_per_second": \(rate.perSecond)},
             "notification": {"title": "Carillon", "body": "\(World.text)"}}
            """)[0]
    }
}
