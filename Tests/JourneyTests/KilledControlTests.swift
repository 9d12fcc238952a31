import Basis
import Foundation
import Glibc
import Reactor
import Simulator
import TestSupport
import Testing

extension JourneysAlone {
    /// Parcels of two pushes: more of them than one transaction holds or releases (1,000), and far more than it ends
    /// (20).
    @Suite("A gateway that is killed while several gateways send at a rate limit")
    struct KilledControlTests {
        private static let settings = [
            "PARCEL_MEMBERS": "2", "LEASE_SECONDS": "3", "REQUEST_DEADLINE_SECONDS": "2",
        ]
        private static let movedMax = 1_000
        /// Slow answers, so that pushes are in flight at any moment.
        private static let script = SimulatorScript(answerDelay: .milliseconds(100))
        /// After the answer no more pushes leave; a push may be in flight for this long.
        private static let effective: Duration = .seconds(1)
        /// The greatest age of an unsettled answer (`KilledBroadcastTests`).
        private static let unsettledAgeMax: Duration = .seconds(2)

        @Test("leaves its cancel to another gateway, and no cancelled push arrives")
        func cancel() async throws {
            let rate = Rate(perSecond: 200)
            let live = [Device](.live, 3_000)
            try await World.within(settings: Self.settings) { world in
                let gateways = [try await world.gateway(), try await world.gateway()]
                try await world.fill(.garden, live, through: gateways[0])
                await world.production.simulator.follow(Self.script)
                let message = try await gateways[0].broadcast(.garden, at: rate)
                try await world.production.accepted(atLeast: 300)
                #expect(try await Self.parcels(world) > Self.movedMax)
                let answered = try await Self.write("cancel", of: message, to: gateways[1])
                try await Self.kill(gateways[1])
                let account = try await gateways[0].cancelled(message, of: .garden)

                let cancelled = try await gateways[0].failed(message, as: "cancelled", of: .garden)
                let lost = try await gateways[0].failed(message, as: "gave_up", of: .garden)
                let accepted = live.filter { !cancelled.contains($0.installation) && !lost.contains($0.installation) }
                #expect(account.state == "cancelled" && account.audience == live.count)
                let terminalCounts = ["accepted": accepted.count, "cancelled": cancelled.count, "gave_up": lost.count]
                #expect(account.terminalCounts == terminalCounts.filter { $0.value > 0 })
                #expect(try await world.production.receipts(of: accepted) == .onceEach(accepted.count))
                let untouched = live.filter { cancelled.contains($0.installation) }
                #expect(try await world.production.receipts(of: untouched) == Receipts(missing: untouched.count))
                let receipts = try await world.production.receipts(of: live)
                #expect(receipts.repeats == 0 && receipts.wrongBadges == 0)
                let arrivals = await world.production.simulator.arrivals(of: live)
                #expect(!arrivals.contains { $0 > answered + Self.effective })
                #expect(lost.count <= rate.allows(in: Self.unsettledAgeMax))
                // No badge is 2, whether or not its push was leased when the gateway died.
                #expect(try await Self.number(world, "SELECT max(badge)::bigint FROM registration_pulse") == 1)
                try await Self.nothingIsLeft(world)
                try await gateways[0].stopGently()
            }
        }

        @Test("leaves its pushes to two others, which stay within the rate and miss no device")
        func middle() async throws {
            let rate = Rate(perSecond: 300)
            let live = [Device](.live, 3_000)
            try await World.within(settings: Self.settings) { world in
                let gateways = [try await world.gateway(), try await world.gateway(), try await world.gateway()]
                try await world.fill(.garden, live, through: gateways[0])
                await world.production.simulator.follow(Self.script)
                let asked = Clocks.wallNow()
                let message = try await gateways[0].broadcast(.garden, at: rate)
                try await world.production.accepted(atLeast: 900)
                let death = try await Self.kill(gateways[0])
                let account = try await gateways[1].finished(message, of: .garden)

                #expect(account.addsUp && account.terminalCounts == ["accepted": live.count])
                let arrivals = await world.production.simulator.arrivals(of: live)
                try await Self.everybodyHasIt(world, live, deaths: [death], arrivals)
                let excess = rate.excess(of: arrivals, since: asked)
                #expect(excess <= rate.quantum)
                print("killed at a rate: \(arrivals.count) arrived, at most \(excess) ahead of it")
                try await Self.nothingIsLeft(world)
                for gateway in gateways[1...] { try await gateway.stopGently() }
            }
        }

        @Test("leaves a resume or a lifted rate to the last gateway, which finishes the message")
        func resumeAndLift() async throws {
            let rate = Rate(perSecond: 300)
            let live = [Device](.live, 4_000)
            try await World.within(settings: Self.settings) { world in
                let gateways = [try await world.gateway(), try await world.gateway(), try await world.gateway()]
                try await world.fill(.garden, live, through: gateways[0])
                await world.production.simulator.follow(Self.script)
                let message = try await gateways[0].broadcast(.garden, at: rate)
                try await world.production.accepted(atLeast: 300)
                let paused = try await Self.write("pause", of: message, to: gateways[0])
                try await eventually("all parcels to be put on hold") {
                    try await Self.number(world, "SELECT count(*) FROM parcels WHERE state <> 3") == 0
                }
                #expect(try await Self.parcels(world) > Self.movedMax)
                let before = await world.production.simulator.arrivals(of: live)
                let resuming = Clocks.wallNow()
                try await Self.write("resume", of: message, to: gateways[1])
                var deaths = [try await Self.kill(gateways[1])]
                try await world.production.accepted(atLeast: before.count + 300)
                #expect(try await Self.parcels(world) > Self.movedMax)
                let lifting = Clocks.wallNow()
                let path = "/v1/apps/garden/messages/\(message)"
                try await gateways[2].api.expect(200, "PATCH", path, #"{"rate_per_second": null}"#)
                deaths.append(try await Self.kill(gateways[2]))
                let account = try await gateways[0].finished(message, of: .garden)

                #expect(account.addsUp && account.terminalCounts == ["accepted": live.count])
                let arrivals = await world.production.simulator.arrivals(of: live)
                try await Self.everybodyHasIt(world, live, deaths: deaths, arrivals)
                #expect(!arrivals.contains { $0 > paused + Self.effective && $0 < resuming })
                // Nothing was leased when it resumed.
                let excess = rate.excess(of: arrivals.filter { $0 < lifting }, since: resuming)
                #expect(excess <= rate.quantum + rate.credit)
                try await Self.nothingIsLeft(world)
                try await gateways[0].stopGently()
            }
        }

        /// Returns the time just after the answer.
        @discardableResult
        private static func write(_ control: String, of message: String, to gateway: Gateway) async throws
            -> WallInstant
        {
            try await gateway.api.expect(200, "POST", "/v1/apps/garden/messages/\(message)/\(control)")
            return Clocks.wallNow()
        }

        /// Returns the time just after the death.
        @discardableResult
        private static func kill(_ gateway: Gateway) async throws -> WallInstant {
            gateway.program.kill(SIGKILL)
            #expect(try await gateway.program.end() == .killed(signal: SIGKILL))
            return Clocks.wallNow()
        }

        /// Each device got the message once, except for answers that were unsettled at a death, and with a badge of
        /// one.
        private static func everybodyHasIt(
            _ world: World, _ live: [Device], deaths: [WallInstant], _ arrivals: [WallInstant]
        ) async throws {
            let receipts = try await world.production.receipts(of: live)
            #expect(receipts.withoutRepeats == .onceEach(live.count))
            let unsettled = arrivals.count { arrival in
                deaths.contains { arrival <= $0 && $0 - arrival <= unsettledAgeMax }
            }
            #expect(receipts.repeats <= unsettled)
            #expect(try await number(world, "SELECT count(*) FROM registration_pulse WHERE badge <> 1") == 0)
        }

        private static func parcels(_ world: World) async throws -> Int {
            try await number(world, "SELECT count(*) FROM parcels")
        }

        private static func nothingIsLeft(_ world: World) async throws {
            try await eventually("the records of its controls to be deleted") {
                try await number(
                    world,
                    """
                    SELECT (SELECT count(*) FROM parcels) + (SELECT count(*) FROM stops)
                        + (SELECT count(*) FROM message_rates)
                    """) == 0
            }
        }

        private static func number(_ world: World, _ sql: String) async throws -> Int {
            try await world.database { pool in try await pool.number(sql) }
        }
    }
}

extension Gateway {
    /// The installations whose push ended in this state, read page by page.
    fileprivate func failed(_ message: String, as state: String, of app: App) async throws -> Set<String> {
        var all: Set<String> = []
        var cursor = ""
        while true {
            let path = "/v1/apps/\(app)/messages/\(message)/failures?state=\(state)&limit=1000\(cursor)"
            let page = try await api.expect(200, "GET", path).decoded(FailurePage.self)
            all.formUnion(page.items.map(\.installation))
            guard let next = page.next?.addingPercentEncoding(withAllowedCharacters: .alphanumerics) else { return all }
            cursor = "&cursor=\(next)"
        }
    }

    private struct FailurePage: Decodable {
        struct Failure: Decodable { let installation: String }

        let items: [Failure]
        let next: String?
    }
}
