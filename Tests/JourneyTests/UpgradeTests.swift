import Glibc
import Simulator
import Synchronization
import TestSupport
import Testing

extension Journeys {
    /// Version N-1 and version N on one database, in the schema of N (rule 15).
    @Suite(
        "A gateway of the previous release beside one of this release",
        .enabled(if: Program.previousExecutable != nil, Comment(rawValue: Program.whyNoPrevious)))
    struct UpgradeTests {
        /// The number of devices per provider.
        private static let liveCount = 20_000
        private static let deadCount = 400
        private static let misplacedCount = 200

        private static let apns = [Device](.live, liveCount)
        private static let dead = [Device](.gone, deadCount)
        /// Registered in the wrong environment: this release finds them, and the previous one rejects them.
        private static let misplaced = [Device](.sandboxOnly, misplacedCount)
        /// Scattered among the others, so that both processes meet some.
        private static let mixed = apns.enumerated().flatMap { place, device in
            let step = liveCount / misplacedCount
            return place % step == 0 ? [device, misplaced[place / step]] : [device]
        }
        private static let fcm = (0..<liveCount).map { "live-\($0)-0000000000000000" }
        private static let deadFCM = (0..<deadCount).map { "UNREGISTERED-\($0)-0000000000000000" }

        private static let connectionsMax = 8
        private static let streamLimit = 50
        private static let settings = [
            "LEASE_SECONDS": "10", "REQUEST_DEADLINE_SECONDS": "5", "PARCEL_MEMBERS": "500",
            "CONNECTIONS_PER_LANE": "\(connectionsMax)",
        ]
        /// The most pushes in flight per process, at APNs and at FCM, whose stand-in allows 100 streams.
        private static let inFlightMax = connectionsMax * (streamLimit + 100)

        @Test("works through the migration under load, shares the work, and shuts down cleanly")
        func drained() async throws {
            try await Self.within { world in
                let old = try await world.gateway(.previous)
                try await Self.fill(world, through: old)
                let traffic = Traffic(at: [old])
                // The lines of the old gateway's log while the new one migrates.
                let migration = Mutex(0..<0)
                try await traffic.flows(until: { traffic in
                    try await traffic.hasFlown(steps: 20)
                    let before = old.logLines.count
                    let new = try await world.gateway()
                    migration.withLock { $0 = before..<old.logLines.count }
                    traffic.gateways = [old, new]
                    let messages = try await Self.broadcast(world, old, new)
                    traffic.gateways = [new]
                    old.program.kill(SIGTERM)
                    #expect(try await old.program.end() == .exited(0), "\(old.program.loggedLast)")
                    try await Self.expectAll(messages, world, new, repeatsMax: 0)
                    try await Self.expectFound(by: new)
                })
                try await Self.expect(traffic, old, world, migration: migration.withLock { $0 })
            }
        }

        @Test("works on the new schema, shares the work, and loses nothing when it is killed")
        func killed() async throws {
            try await Self.within { world in
                try await world.migrate()
                let old = try await world.gateway(.previous)
                try await Self.fill(world, through: old)
                let new = try await world.gateway()
                let traffic = Traffic(at: [old, new])
                try await traffic.flows(until: { traffic in
                    try await traffic.hasFlown(steps: 20)
                    let messages = try await Self.broadcast(world, old, new)
                    let settled = try await Self.settled(world)
                    old.program.kill(SIGKILL)
                    traffic.gateways = [new]
                    #expect(try await old.program.end() == .killed(signal: SIGKILL))
                    // The pushes that both had in flight then; some belong to the new gateway, which repeats none.
                    let unsettled = await world.acceptedCount() - settled
                    try await Self.expectAll(messages, world, new, repeatsMax: unsettled + Self.inFlightMax)
                    try await Self.expectFound(by: new)
                })
                try await Self.expect(traffic, old, world)
            }
        }

        /// Calls may have a certificate of their own, which the previous release does not know (decision 0021).
        @Test("leaves alone what only the new release may send with a separate certificate")
        func calls() async throws {
            try await Self.within { world in
                try await world.migrate()
                // Nothing can leave yet: the call that this release has planned waits.
                let planner = try await world.gateway()
                try await planner.api.expect(201, "POST", "/v1/apps", #"{"slug": "garden", "name": "Garden"}"#)
                let phone = try await Phone(at: planner)
                let call = try await phone.send(.voip, through: planner)
                try await eventually("the call to be planned") {
                    try await world.database { try await $0.number("SELECT count(*) FROM parcels") == 1 }
                }
                try await planner.stopGently()

                // The call is due earlier on the same route, so it would leave before the alert.
                let old = try await world.gateway(.previous)
                try await world.activateToken(for: .garden, through: old)
                #expect(try await phone.get(.alert, through: old) == ["accepted": 1])
                #expect(await world.production.simulator.summary().requests == 1)
                try await old.stopGently()

                let new = try await world.gateway()
                let account = try await new.finished(call, of: .garden)
                #expect(account.addsUp && account.terminalCounts == ["accepted": 1])
                try await new.stopGently()
            }
        }

        private static func within(_ body: (World) async throws -> Void) async throws {
            try await World.within(settings: settings, production: .init(streamLimit: UInt32(streamLimit)), body)
        }

        private static func fill(_ world: World, through gateway: Gateway) async throws {
            try await world.fill(.garden, mixed + dead, through: gateway)
            let sandbox = App(slug: "garden", environment: "sandbox", keyID: "GARDENDEV1")
            try await world.activateToken(for: sandbox, through: gateway)
            try await gateway.api.expect(201, "POST", "/v1/apps/garden/credentials", world.google.credential)
            let lines = (fcm + deadFCM).enumerated().map { number, token in
                #"{"installation": "android-\#(number)", "provider": "fcm", "token": "\#(token)"}"#
            }
            try await gateway.api.expect(
                200, "POST", "/v1/apps/garden/devices/import", lines.joined(separator: "\n") + "\n",
                contentType: "application/x-ndjson")
            try await world.fill(.forest, Traffic.correspondents, through: gateway)
        }

        /// Sends one broadcast from each gateway, and waits until both have parcels and much is still to do.
        private static func broadcast(_ world: World, _ old: Gateway, _ new: Gateway) async throws -> [String] {
            await world.production.simulator.follow(SimulatorScript(answerDelay: .milliseconds(100)))
            await world.google.simulator.follow(SimulatorScript(answerDelay: .milliseconds(100)))
            let messages = [try await old.broadcast(.garden), try await new.broadcast(.garden)]
            try await eventually("both gateways to lease their parcels") {
                try await world.database { pool in
                    try await pool.number("SELECT count(DISTINCT owner) FROM parcels WHERE state = 2") == 2
                }
            }
            try await world.production.accepted(atLeast: 4_000)
            try await eventually("some pushes through FCM") { await world.google.simulator.summary().accepted >= 4_000 }
            let left = try await world.database { try await $0.number("SELECT count(*) FROM parcels") }
            try #require(left > 20, "too few parcels are left: \(left)")
            return messages
        }

        private static func settled(_ world: World) async throws -> Int {
            try await world.database { pool in
                try await pool.number(
                    """
                    SELECT ((SELECT sum(accepted) FROM messages)
                        + (SELECT coalesce(sum(accepted), 0) FROM parcels))::bigint
                    """)
            }
        }

        /// - Parameter repeatsMax: the pushes that may have been answered and not settled when a process died (P4).
        private static func expectAll(
            _ messages: [String], _ world: World, _ gateway: Gateway, repeatsMax: Int
        ) async throws {
            for message in messages {
                let account = try await gateway.finished(message, of: .garden)
                #expect(account.addsUp, "\(account)")
                #expect(account.outcomes["accepted"] ?? 0 >= 2 * liveCount, "\(account)")
                #expect(
                    Set(account.terminalCounts.keys).isSubset(of: ["accepted", "unregistered", "rejected"]),
                    "\(account)")
                #expect(account.outcomes["rejected"] ?? 0 <= misplacedCount, "\(account)")
            }
            let receipts = [
                try await world.production.receipts(of: apns, messages: messages.count),
                try await world.google.receipts(of: fcm, messages: messages.count),
            ]
            for receipt in receipts { #expect(receipt.withoutRepeats == .onceEach(liveCount)) }
            #expect(receipts.reduce(0) { $0 + $1.repeats } <= repeatsMax)
            print("repeated \(receipts.map(\.repeats)) of APNs and FCM, \(repeatsMax) allowed")
            // Once per message, and not once more per attempt (P3).
            let wrong = try await world.database { pool in
                try await pool.number(
                    """
                    SELECT count(*) FROM registration_pulse p JOIN registrations r ON r.id = p.registration_id
                    WHERE (r.installation LIKE 'live-0-%' OR r.installation LIKE 'android-%') AND r.state < 3
                        AND p.badge <> \(messages.count)
                    """)
            }
            #expect(wrong == 0, "some badges were not raised exactly once for each message")
            let retired = try await gateway.feedback(.garden).filter { $0.verdict == "retired" }
            #expect(retired.count == 2 * deadCount)
            #expect(Set(retired.map(\.installation)).count == 2 * deadCount, "each installation is reported once")
        }

        /// Checks a feature that only this release has, now that the other gateway is gone.
        private static func expectFound(by gateway: Gateway) async throws {
            let names = misplaced.map { #""\#($0.installation)""# }.joined(separator: ", ")
            let message = try await gateway.send(.garden, audience: #"{"installations": [\#(names)]}"#)
            let account = try await gateway.finished(message, of: .garden)
            #expect(account.addsUp && account.terminalCounts == ["accepted": misplacedCount], "\(account)")
        }

        /// Checks the traffic and the old gateway's log after the end.
        ///
        /// - Parameter migration: the lines of the old gateway's log from the new one's start to its readiness.
        private static func expect(
            _ traffic: Traffic, _ old: Gateway, _ world: World, migration: Range<Int> = 0..<0
        ) async throws {
            let gateway = try #require(traffic.gateways.first)
            try await traffic.expectRegistrations()
            try await traffic.expectMessages(at: world.sandbox)
            try await traffic.expectFeed()
            #expect(try await world.database { try await $0.number("SELECT count(*) FROM parcels") } == 0)
            // A request that the migration delays for too long gets "try again", which is no complaint during that
            // time. Neither is a variable that a test run sets in the environment.
            let complaints = old.logLines.enumerated().filter { number, line in
                [" error ", " critical ", " warning "].contains { line.contains($0) }
                    && !line.contains("name=CARILLON_RUN_FOLDER") && !line.contains("off=fsync")
                    && !(line.contains("contended") && migration.contains(number))
            }.map(\.element)
            #expect(complaints == [], "the older release accepts everything that the newer one writes")
            try await gateway.stopGently()
        }
    }
}

extension Gateway {
    fileprivate var logLines: [Substring] { program.logged.split(separator: "\n") }
}

extension World {
    /// The pushes that the stand-ins accepted.
    fileprivate func acceptedCount() async -> Int {
        let google = await google.simulator.summary().accepted
        return await google + production.simulator.summary().accepted + sandbox.simulator.summary().accepted
    }
}

extension StandIn {
    /// The receipts of several messages, each of which raised the badge.
    fileprivate func receipts(of devices: [Device], messages: Int) async throws -> Receipts {
        var receipts = Receipts()
        for device in devices {
            let pushes = await simulator.received(device.deviceToken).filter { $0.reason == nil }
            receipts.add(try pushes.map { ($0.apnsID, try $0.badge()) }, messages)
        }
        return receipts
    }
}

extension GoogleStandIn {
    fileprivate func receipts(of tokens: [String], messages: Int) async throws -> Receipts {
        var receipts = Receipts()
        for token in tokens {
            let pushes = try await self.messages(to: token).map { message in
                let count = message["android"]?.object?["notification"]?.object?["notification_count"]?.integer
                return (message["data"]?.object?["carillon_id"]?.string ?? "", count.map { Int($0) })
            }
            receipts.add(pushes, messages)
        }
        return receipts
    }
}

extension Receipts {
    /// Adds the receipts of one device. A push that moves from one process to another reads its badge again. It may
    /// show the number of a later message, but never a higher number, and never none.
    fileprivate mutating func add(_ pushes: [(id: String, badge: Int?)], _ messages: Int) {
        let ids = Set(pushes.map(\.id))
        if ids.count == messages { reached += 1 } else { missing += 1 }
        repeats += pushes.count - ids.count
        wrongBadges += pushes.count { !(1...messages).contains($0.badge ?? 0) }
    }
}
