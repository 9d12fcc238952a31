import Basis
import Reactor
import Simulator
import TestSupport
import Testing

extension Journeys {
    @Suite("A message that depends on each device's local time")
    struct DeviceClockTests {
        private static let devices = [Device](.live, 3)
        /// The time to send what must be sent before an hour, also on a busy machine.
        private static let lead: Duration = .seconds(12)
        /// The time within which a push arrives after its hour, also on a busy machine.
        private static let soon: Duration = .seconds(30)
        private static let quiet: Duration = .seconds(6 * 3_600)

        @Test("leaves at its local hour, skips devices that are past it, and can be cancelled before")
        func hour() async throws {
            try await World.within { world in
                let gateway = try await world.gateway()
                try await world.fill(.garden, Self.devices, through: gateway)
                try await Self.move(Self.devices, to: [.tokyo, .lagos, .phoenix], gateway)
                let due = WallInstant(secondsSince1970: (Clocks.wallNow() + Self.lead).secondsSince1970)
                let message = try await gateway.send(
                    .garden,
                    """
                    {"audience": {"all": true}, "badge": "increment", "notification": {"body": "\(World.text)"},
                     "options": {"send_at": "\(Place.lagos.shows(due))", "device_local_time": true}}
                    """)[0]
                try await eventually("a device's clock to reach the local time") {
                    try await gateway.account(message, of: .garden).outcomes["accepted"] == 1
                }
                let sent = try await gateway.account(message, of: .garden)
                #expect(sent.state == "sending" && sent.audience == 3 && sent.pending == 1)
                #expect(sent.terminalCounts == ["accepted": 1, "suppressed": 1])
                #expect(sent.suppressions == ["local_time_passed": 1])
                let arrivals = await world.production.simulator.arrivals(of: Self.devices)
                #expect(arrivals.count == 1 && arrivals[0] >= due && arrivals[0] < due + Self.soon)
                #expect(await world.production.simulator.received(Self.devices[1].deviceToken).count == 1)

                try await gateway.api.expect(200, "POST", "/v1/apps/garden/messages/\(message)/cancel")
                let account = try await foundEventually("the cancelled push to be counted") {
                    let account = try await gateway.account(message, of: .garden)
                    return account.pending == 0 ? account : nil
                }
                #expect(account.state == "cancelled")
                #expect(account.terminalCounts == ["accepted": 1, "suppressed": 1, "cancelled": 1])
                #expect(try await Self.badges(gateway) == [0, 1, 0])
                try await gateway.stopGently()
            }
        }

        @Test("waits for quiet hours to end, or is suppressed if it would expire before that")
        func quietHours() async throws {
            try await World.within { world in
                let gateway = try await world.gateway()
                try await world.fill(.garden, Self.devices, through: gateway)
                try await Self.move(Self.devices, to: [.dubai, .lagos, .tokyo], gateway)
                let end = Clocks.wallNow().nextMinute(notWithin: Self.lead)
                let hours = Place.dubai.minute(at: end + (.zero - Self.quiet)) + "-" + Place.dubai.minute(at: end)
                let set = try await world.command(["apps", "settings", "garden", "--quiet-hours", hours], gateway)
                #expect(set.code == 0, "\(set.input)")

                // Lagos is three hours behind, and Tokyo is five hours ahead.
                let message = try await gateway.broadcast(.garden, ttlSeconds: 3_600)
                let name = Self.devices[0].installation
                let begun = try await foundEventually("all pushes to be decided") {
                    let account = try await gateway.account(message, of: .garden)
                    return account.audience == 3 && account.pending == 1 ? account : nil
                }
                #expect(begun.terminalCounts == ["accepted": 1, "suppressed": 1])
                #expect(begun.suppressions == ["quiet_hours": 1])
                #expect(try await Self.badges(gateway) == [0, 0, 1])
                let shown = try await world.command(["messages", "show", message], gateway)
                #expect(shown.printed.contains("(quiet_hours)"), "\(shown.printed)")
                let urgent = try await gateway.send(
                    .garden,
                    """
                    {"audience": {"installations": ["\(name)"]}, "notification": {"body": "\(World.text)"},
                     "options": {"ignore_quiet_hours": true}}
                    """)[0]
                #expect(try await gateway.finished(urgent, of: .garden).terminalCounts == ["accepted": 1])
                let unseen = try await gateway.send(
                    .garden,
                    """
                    {"audience": {"installations": ["\(name)"]}, "data": {"article": "42"},
                     "options": {"push_type": "background"}}
                    """)[0]
                #expect(try await gateway.finished(unseen, of: .garden).terminalCounts == ["accepted": 1])

                let account = try await gateway.finished(message, of: .garden)
                #expect(account.addsUp && account.terminalCounts == ["accepted": 2, "suppressed": 1])
                let asleep = await world.production.simulator.arrivals(of: [Self.devices[0]])
                try #require(asleep.count == 3)
                #expect(asleep[1] < end && asleep[2] >= end && asleep[2] < end + Self.soon)
                #expect(await world.production.simulator.received(Self.devices[1].deviceToken).isEmpty)
                #expect(try await Self.badges(gateway) == [1, 0, 1])
                try await gateway.stopGently()
            }
        }

        @Test("counts once per user toward the daily cap, also after a crash, unless it ignores the cap")
        func dailyCap() async throws {
            try await World.within { world in
                let first = try await world.gateway()
                try await world.fill(.garden, Self.devices, through: first)
                for device in Self.devices[..<2] { try await Self.change(device, #"{"user": "anna"}"#, first) }
                let zone = Place.farFromMidnight(at: Clocks.wallNow()).zone
                try await Self.setCap("1", ["--time-zone", zone], world, first)
                try await Self.expectTerminalCounts(["accepted": 3], of: try await first.broadcast(.garden), first)
                first.program.kill(9)
                #expect(try await first.program.end() == .killed(signal: 9))

                let second = try await world.gateway()
                let beyond = try await second.broadcast(.garden)
                try await Self.expectTerminalCounts(["suppressed": 3], of: beyond, second)
                #expect(try await second.account(beyond, of: .garden).suppressions == ["daily_cap": 3])
                let code = try await second.send(
                    .garden,
                    """
                    {"audience": {"all": true}, "notification": {"body": "\(World.text)"},
                     "options": {"ignore_daily_cap": true}}
                    """)[0]
                try await Self.expectTerminalCounts(["accepted": 3], of: code, second)
                #expect(try await Self.badges(second) == [1, 1, 1])
                // Pushes that ignored the cap did not use it up.
                try await Self.setCap("2", [], world, second)
                try await Self.expectTerminalCounts(["accepted": 3], of: try await second.broadcast(.garden), second)
                try await Self.expectTerminalCounts(["suppressed": 3], of: try await second.broadcast(.garden), second)
                #expect(try await Self.badges(second) == [2, 2, 2])
                try await second.stopGently()
            }
        }

        private static func move(_ devices: [Device], to places: [Place], _ gateway: Gateway) async throws {
            for (device, place) in zip(devices, places) {
                try await change(device, #"{"time_zone": "\#(place.zone)"}"#, gateway)
            }
        }

        private static func change(_ device: Device, _ patch: String, _ gateway: Gateway) async throws {
            try await gateway.api.expect(200, "PATCH", "/v1/apps/garden/devices/\(device.installation)", patch)
        }

        private static func setCap(
            _ cap: String, _ others: [String], _ world: World, _ gateway: Gateway
        ) async throws {
            let set = try await world.command(["apps", "settings", "garden", "--daily-cap", cap] + others, gateway)
            #expect(set.code == 0, "\(set.input)")
        }

        private static func expectTerminalCounts(
            _ terminalCounts: [String: Int], of message: String, _ gateway: Gateway
        ) async throws {
            let account = try await gateway.finished(message, of: .garden)
            #expect(account.addsUp && account.terminalCounts == terminalCounts, "\(account)")
        }

        /// The badges in the registry.
        private static func badges(_ gateway: Gateway) async throws -> [Int] {
            struct Badge: Decodable { let badge: Int }
            var badges: [Int] = []
            for device in devices {
                let path = "/v1/apps/garden/devices/\(device.installation)/badge"
                badges.append(try await gateway.api.expect(200, "GET", path).decoded(Badge.self).badge)
            }
            return badges
        }
    }
}

extension Account {
    /// The reasons of suppressed pushes.
    fileprivate var suppressions: [String: Int] {
        let reasons = (reasons ?? []).filter { $0.outcome == "suppressed" }
        return Dictionary(uniqueKeysWithValues: reasons.map { ($0.reason, $0.count) })
    }
}
