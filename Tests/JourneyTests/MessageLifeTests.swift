import Foundation
import Glibc
import PushModel
import Reactor
import Simulator
import Testing

extension Journeys {
    @Suite("A message whose life is changed")
    struct MessageLifeTests {
        private static let live = [Device](.live, 20_000)
        /// After the answer nothing leaves any more; so long may a push be on its way.
        private static let effective: Duration = .seconds(1)
        /// Slow enough to have a middle.
        private static let slow = StandIn.Traits(streamLimit: 50)
        private static let delay = APNsScript(answerDelay: .milliseconds(100))

        private func change(_ message: String, _ wish: String, through gateway: Gateway) async throws -> WallInstant {
            try await gateway.api.expect(200, "POST", "/v1/apps/garden/messages/\(message)/\(wish)")
            return Clocks.wallNow()
        }

        private func cancelled(_ message: String, _ gateway: Gateway) async throws -> Account {
            try await foundEventually("the cancelled message to be counted") {
                let account = try await gateway.account(message, of: .garden)
                return account.pending == 0 && account.audience != nil ? account : nil
            }
        }

        @Test("by a cancel in its middle: two gateways stop within a second, and it is accounted for to the push")
        func cancel() async throws {
            try await World.within(production: Self.slow) { world in
                let gateways = [try await world.gateway(), try await world.gateway()]
                try await world.furnish(.garden, Self.live, through: gateways[0])
                await world.production.simulator.follow(Self.delay)
                let message = try await gateways[0].broadcast(.garden)
                try await world.production.accepted(atLeast: 2_000)
                let answered = try await change(message, "cancel", through: gateways[1])
                _ = try await change(message, "cancel", through: gateways[0])
                let account = try await cancelled(message, gateways[0])

                #expect(account.state == "cancelled" && account.audience == Self.live.count)
                let arrivals = await world.production.simulator.arrivals(of: Self.live)
                #expect(!arrivals.contains { $0 > answered + Self.effective })
                #expect(arrivals.count < Self.live.count)
                #expect(
                    account.endings == ["accepted": arrivals.count, "cancelled": Self.live.count - arrivals.count])
                for wish in ["pause", "resume"] {
                    let refused = try await gateways[0].api.call(
                        "POST", "/v1/apps/garden/messages/\(message)/\(wish)")
                    #expect(refused.status == 409 && refused.text.contains("message_over"))
                }
                for gateway in gateways { try await gateway.stopGently() }
            }
        }

        @Test("by a cancel, after which a gateway is killed: what it had sent is told as such, or as not known")
        func cancelAndKill() async throws {
            let settings = ["LEASE_SECONDS": "10", "REQUEST_DEADLINE_SECONDS": "5"]
            try await World.within(settings: settings, production: Self.slow) { world in
                let gateways = [try await world.gateway(), try await world.gateway()]
                try await world.furnish(.garden, Self.live, through: gateways[0])
                await world.production.simulator.follow(Self.delay)
                let message = try await gateways[0].broadcast(.garden)
                try await world.production.accepted(atLeast: 4_000)
                let answered = try await change(message, "cancel", through: gateways[1])
                gateways[0].program.kill(SIGKILL)
                #expect(try await gateways[0].program.end() == .killed(signal: SIGKILL))
                let account = try await cancelled(message, gateways[1])

                #expect(account.state == "cancelled" && account.audience == Self.live.count)
                let arrivals = await world.production.simulator.arrivals(of: Self.live)
                #expect(!arrivals.contains { $0 > answered + Self.effective })
                let (accepted, taken) = (account.endings["accepted"] ?? 0, account.endings["cancelled"] ?? 0)
                let unknown = account.endings["gave_up"] ?? 0
                #expect(accepted + taken + unknown == Self.live.count && account.endings.count <= 3)
                #expect((accepted...accepted + unknown).contains(arrivals.count))
                #expect(try await world.production.receipts(of: Self.live).repeats == 0)
                try await gateways[1].stopGently()
            }
        }

        @Test("by a pause on the command line, and a gateway that is killed in it: everybody gets it once")
        func pause() async throws {
            try await World.within(production: Self.slow) { world in
                let first = try await world.gateway()
                try await world.furnish(.garden, Self.live, through: first)
                await world.production.simulator.follow(Self.delay)
                let message = try await first.broadcast(.garden)
                try await world.production.accepted(atLeast: 2_000)
                let told = try await world.command(["messages", "pause", message], first)
                let paused = Clocks.wallNow()
                #expect(told.code == 0 && told.printed.contains("paused"), "\(told)")
                try await eventually("what was in flight to be settled") {
                    try await world.database { pool in
                        try await pool.number("SELECT count(*) FROM parcels WHERE state = 2") == 0
                    }
                }
                #expect(try await first.account(message, of: .garden).state == "paused")
                first.program.kill(SIGKILL)
                #expect(try await first.program.end() == .killed(signal: SIGKILL))
                let second = try await world.gateway()
                try await eventually("two polls") { Clocks.wallNow() - paused > .seconds(3) }
                let resumed = Clocks.wallNow()
                #expect(try await world.command(["messages", "resume", message], second).code == 0)
                let account = try await second.finished(message, of: .garden)

                #expect(account.addsUp && account.endings == ["accepted": Self.live.count])
                #expect(try await world.production.receipts(of: Self.live) == .onceEach(Self.live.count))
                let arrivals = await world.production.simulator.arrivals(of: Self.live)
                #expect(!arrivals.contains { $0 > paused + Self.effective && $0 < resumed })
                try await second.stopGently()
            }
        }

        @Test("by its rate, down and up, while two gateways send it: they follow within a second")
        func rate() async throws {
            try await World.within { world in
                let gateways = [try await world.gateway(), try await world.gateway()]
                try await world.furnish(.garden, Self.live, through: gateways[0])
                let message = try await gateways[0].send(
                    .garden,
                    """
                    {"audience": {"all": true}, "badge": "increment", "options": {"rate_per_second": 2000},
                     "notification": {"title": "Carillon", "body": "\(World.text)"}}
                    """)[0]
                try await world.production.accepted(atLeast: 4_000)
                let path = "/v1/apps/garden/messages/\(message)"
                try await gateways[1].api.expect(200, "PATCH", path, #"{"rate_per_second": 100}"#)
                let lowered = Clocks.wallNow()
                try await eventually("some seconds of the lower rate") { Clocks.wallNow() - lowered > .seconds(6) }
                let raised = Clocks.wallNow()
                try await gateways[0].api.expect(200, "PATCH", path, #"{"rate_per_second": null}"#)
                // At the lower rate the rest would take two minutes and a half.
                let account = try await gateways[1].finished(message, of: .garden, within: .seconds(90))

                #expect(account.addsUp && account.endings == ["accepted": Self.live.count])
                #expect(try await world.production.receipts(of: Self.live) == .onceEach(Self.live.count))
                let arrivals = await world.production.simulator.arrivals(of: Self.live)
                let slow = arrivals.count { $0 > lowered + Self.effective && $0 < raised }
                let seconds = (raised - lowered) / .seconds(1)
                // What was on its way at the end of the first second may come late; unheeded, it would be 2,000 a second.
                #expect(Double(slow) < 100 * seconds + 600, "\(slow) in \(seconds) s")
                #expect(slow > 0, "it did not stand still")
                for gateway in gateways { try await gateway.stopGently() }
            }
        }

        @Test("by its hour: it waits over a restart, reaches who came meanwhile, and may be taken back until then")
        func hours() async throws {
            let devices = [Device](.live, 3)
            try await World.within { world in
                let first = try await world.gateway()
                try await world.furnish(.garden, Array(devices[..<2]), through: first)
                let due = hour(in: 15)
                let asked = Clocks.wallNow()
                let told = try await world.command(
                    ["send", "--all", "--body", World.text, "--badge", "increment", "--at", due, "--yes"], first)
                #expect(told.code == 0, "\(told)")
                let message = told.printed.trimmingCharacters(in: .whitespacesAndNewlines)
                #expect(try await first.account(message, of: .garden).state == "scheduled")
                let other = try await first.send(
                    .garden,
                    """
                    {"audience": {"all": true}, "options": {"send_at": "\(hour(in: 86_400))"},
                     "notification": {"body": "\(World.text)"}}
                    """)[0]
                _ = try await change(other, "cancel", through: first)
                #expect(try await cancelled(other, first).audience == 0)
                try await first.register([devices[2]], of: .garden)
                first.program.kill(SIGKILL)
                #expect(try await first.program.end() == .killed(signal: SIGKILL))

                let second = try await world.gateway()
                let account = try await second.finished(message, of: .garden)
                #expect(account.addsUp && account.endings == ["accepted": 3])
                #expect(try await world.production.receipts(of: devices) == .onceEach(3))
                // The hour is said in whole seconds.
                let arrivals = await world.production.simulator.arrivals(of: devices)
                #expect(arrivals.allSatisfy { $0 - asked > .seconds(12) })
                try await second.stopGently()
            }
        }
    }
}
