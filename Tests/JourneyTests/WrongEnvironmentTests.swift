import Model
import Simulator
import Testing

extension Journeys {
    @Suite("Devices registered in the wrong environment")
    struct WrongEnvironmentTests {
        private static let atOrigin = [Device](.live, 40)
        private static let inSandbox = [Device](.sandboxOnly, 300)
        private static let nowhere = [Device](.bad, 4)

        @Test("get the same broadcast in the sibling environment, and are moved there for later ones")
        func found() async throws {
            try await World.within { world in
                let gateway = try await world.gateway()
                try await world.fill(.garden, Self.atOrigin + Self.inSandbox + Self.nowhere, through: gateway)
                try await world.activateToken(for: .gardenInSandbox, through: gateway)
                let first = try await gateway.finished(try await gateway.broadcast(.garden), of: .garden)
                #expect(first.addsUp && first.terminalCounts == ["accepted": 340, "rejected": 4])
                #expect(try await world.sandbox.receipts(of: Self.inSandbox) == .onceEach(300))
                #expect(try await world.production.receipts(of: Self.atOrigin) == .onceEach(40))
                // One request in each environment, under one id.
                for device in [Self.inSandbox[0], Self.inSandbox[299], Self.nowhere[0]] {
                    let there = try #require(await world.sandbox.simulator.received(device.deviceToken).first)
                    let here = await world.production.simulator.received(device.deviceToken)
                    #expect(here.map(\.reason) == ["BadDeviceToken"] && here.map(\.apnsID) == [there.apnsID])
                    #expect(try here.map { try $0.badge() } == [there.badge()])
                }
                try await Self.checkHistories(first.id, gateway)
                let feed = try await gateway.feedback(.garden)
                try Self.checkFeed(feed)

                // The devices register with the same values again, as at each start of the app.
                for device in Self.inSandbox.prefix(3) + Self.nowhere.prefix(1) {
                    try await gateway.api.expect(
                        200, "PUT", "/v1/apps/garden/devices/\(device.installation)", device.registration(named: false))
                }
                let refused = await world.production.simulator.summary().refused("BadDeviceToken")
                #expect(refused == 304)
                let second = try await gateway.finished(try await gateway.broadcast(.garden), of: .garden)
                #expect(second.addsUp && second.terminalCounts == ["accepted": 340, "rejected": 4])
                #expect(await world.production.simulator.summary().refused("BadDeviceToken") == refused + 4)
                #expect(await world.sandbox.simulator.summary().refused("BadDeviceToken") == 4)
                #expect(await world.sandbox.simulator.received(Self.inSandbox[299].deviceToken).count == 2)
                // The only news is that the suspected token, which was registered again, is suspected again.
                let later = try await gateway.feedback(.garden).dropFirst(feed.count)
                #expect(later.map(\.verdict) == ["suspected"])
                #expect(later.map(\.installation) == [Self.nowhere[0].installation])
                try await gateway.stopGently()
            }
        }

        /// A consumer of the feed learns where each device was found, and which tokens are suspected.
        private static func checkFeed(_ feed: [Gateway.Feedback]) throws {
            let found = feed.filter { $0.verdict == "environment_changed" }
            #expect(found.allSatisfy { $0.from == "production" && $0.to == "sandbox" && $0.reason == "accepted" })
            #expect(found.map(\.installation).sorted() == inSandbox.map(\.installation).sorted())
            let suspected = feed.filter { $0.verdict == "suspected" }
            #expect(suspected.map(\.installation).sorted() == nowhere.map(\.installation).sorted())
            #expect(feed.count == found.count + suspected.count)
        }

        private static func checkHistories(_ message: String, _ gateway: Gateway) async throws {
            struct DeviceHistory: Decodable {
                struct Step: Decodable, Equatable {
                    let step: String
                    var reason: String?
                    var environment: String?
                    var attempts: Int?
                }
                let steps: [Step]
            }
            struct Seen: Decodable { let environment: String }
            let (lost, found) = (nowhere[0].installation, inSandbox[7].installation)
            let histories = "/v1/apps/garden/messages/\(message)/devices/"
            let elsewhere = DeviceHistory.Step(
                step: "goes_on", reason: "other_environment", environment: "production", attempts: 1)
            let reached = try await gateway.api.expect(200, "GET", histories + found).decoded(DeviceHistory.self)
            #expect(
                reached.steps.dropFirst() == [
                    elsewhere, DeviceHistory.Step(step: "accepted", environment: "sandbox", attempts: 2),
                ])
            let refused = try await gateway.api.expect(200, "GET", histories + lost).decoded(DeviceHistory.self)
            #expect(
                refused.steps.dropFirst() == [
                    elsewhere,
                    DeviceHistory.Step(step: "rejected", reason: "BadDeviceToken", environment: "sandbox", attempts: 2),
                ])
            for (installation, environment) in [(found, "sandbox"), (lost, "production")] {
                let seen = try await gateway.api.expect(200, "GET", "/v1/apps/garden/devices/\(installation)")
                    .decoded(Seen.self)
                #expect(seen.environment == environment)
            }
        }

        @Test("get a rejection if the sibling environment's credential is blocked")
        func blocked() async throws {
            try await World.within { world in
                let gateway = try await world.gateway()
                try await world.fill(.garden, Self.atOrigin + Self.inSandbox, through: gateway)
                try await world.activateToken(for: .gardenInSandbox, through: gateway)
                try await world.database { pool in
                    try await pool.script(
                        """
                        INSERT INTO lane_blocks (credential_id, reason, until)
                        SELECT id, 'Forbidden', now() + interval '1 hour' FROM credentials WHERE environment = 2
                        """)
                }
                let account = try await gateway.finished(try await gateway.broadcast(.garden), of: .garden)
                #expect(account.addsUp && account.terminalCounts == ["accepted": 40, "rejected": 300])
                #expect(await world.sandbox.simulator.received(Self.inSandbox[0].deviceToken).isEmpty)
                try await gateway.stopGently()
            }
        }
    }
}

extension App {
    /// The same app's other environment.
    fileprivate static let gardenInSandbox = App(slug: "garden", environment: "sandbox", keyID: "GARDEN1234")
}
