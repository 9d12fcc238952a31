import Basis
import Encodings
import Model
import QueueRules
import Store
import Testing

private let dawn = StoreWorld.dawn

@Suite("The progress of a message")
struct ProgressTests {
    @Test("distinguishes pushes that are ready, being sent, and waiting until a later time")
    func alternates() async throws {
        try await withStores { world in
            _ = try await world.credential()
            try await world.register(1...9)
            try await world.send(world.newMessage(), parcelMembersMax: 3)
            #expect(try await world.checkedProgress().providers.map(\.ready) == [9])
            let parcel = try #require(try await world.lease())
            let leased = try await world.checkedProgress()
            #expect(leased.providers.map(\.sending) == [3] && leased.providers.map(\.ready) == [6])
            let ends = [(0..<1, TerminalStatus(.accepted)), (1..<2, TerminalStatus(.unregistered, "Unregistered"))]
            try await world.settle(
                parcel.settling(ends, remainders: [parcel.remainder(2..<3, after: .seconds(30))]))
            let later = try await world.checkedProgress()
            #expect(later.providers.map(\.waiting) == [1] && later.providers.map(\.ready) == [6])
            #expect(
                later.waits == [
                    PushWait(
                        cause: .later, provider: .apns, environment: .production, topic: StoreWorld.topic, pushes: 1,
                        since: dawn, until: dawn + .seconds(30), reason: "provider_busy")
                ])
            #expect(later.lastDue == dawn + .seconds(30))
            #expect(try await world.checkedProgress(at: dawn + .seconds(29)).waits.count == 1)
            #expect(try await world.checkedProgress(at: dawn + .seconds(30)).waits.isEmpty)
        }
    }

    @Test("counts newly planned pushes as ready, even by a clock that is slightly behind")
    func justCut() async throws {
        try await withStores { world in
            _ = try await world.credential()
            try await world.register(1...2)
            try await world.send(world.newMessage(), at: dawn + .milliseconds(60))
            let progress = try await world.checkedProgress()
            #expect(progress.waits.isEmpty && progress.providers.map(\.ready) == [2])
        }
    }

    @Test("lists each provider's reasons by frequency, from open and closed parcels alike")
    func reasons() async throws {
        try await withStores { world in
            try await world.register(1...6)
            var registration = StoreWorld.registration("i7", token: 7)
            registration.provider = .fcm
            try await world.register(registration)
            try await world.send(world.newMessage(audience: .all))
            let parcel = try #require(try await world.lease())
            let ends = [
                (0..<1, TerminalStatus(.accepted)), (1..<2, TerminalStatus(.rejected, "BadTopic")),
                (2..<4, TerminalStatus(.unregistered, "Unregistered")),
            ]
            try await world.settle(parcel.settling(ends))
            let apple = [
                TerminalTotal(terminalStatus: TerminalStatus(.unregistered, "Unregistered"), count: 2),
                TerminalTotal(terminalStatus: TerminalStatus(.rejected, "BadTopic"), count: 1),
            ]
            #expect(try await world.checkedProgress().providers.map(\.reasons) == [apple, []])
            try await world.settle(
                Settlement(
                    parcel: parcel.id, message: parcel.message, route: parcel.route, epoch: 1, settles: 1,
                    terminalCounts: [TerminalCount(terminalStatus: TerminalStatus(.rejected, "BadTopic"), count: 2)],
                    settledBits: [0b11_1111],
                    remainders: [], pendingAfter: 0))
            let whole = try await world.checkedProgress()
            #expect(whole.providers.first?.reasons.map(\.count) == [3, 2])
            #expect(whole.providers.first?.reasons.first?.terminalStatus == TerminalStatus(.rejected, "BadTopic"))
            #expect(whole.providers.map(\.otherReasons) == [0, 0])
        }
    }

    @Test("includes the reasons of members that ended during planning")
    func planned() async throws {
        try await withStores { world in
            try await world.register(1...2)
            // This installation takes over the token of the first one, which is thereby retired.
            try await world.register(StoreWorld.registration("i3", token: 1))
            try await world.send(world.newMessage(audience: .installations(["i1", "i2"])))
            let retired = TerminalTotal(terminalStatus: TerminalStatus(.unregistered, TerminalReason.retired), count: 1)
            #expect(try await world.checkedProgress().providers.map(\.reasons) == [[retired]])
        }
    }

    @Test("names at most twenty reasons per provider, and counts the others")
    func manyReasons() async throws {
        try await withStores { world in
            try await world.register(1...25)
            try await world.send(world.newMessage())
            let parcel = try #require(try await world.lease())
            try await world.settle(
                parcel.settling((0..<25).map { ($0..<$0 + 1, TerminalStatus(.rejected, "Reason\($0)")) }))
            let part = try #require(try await world.checkedProgress().providers.first)
            #expect(part.reasons.count == 20 && part.otherReasons == 5)
        }
    }

    @Test("shows the pushes of a paused message as on hold, even before their parcels are")
    func paused() async throws {
        try await withStores { world in
            _ = try await world.credential()
            try await world.register(1...3)
            try await world.send(world.newMessage())
            _ = try await world.stores.messages.control(.pause, app: world.app, id: StoreWorld.message(1), now: dawn)
            #expect(try await world.checkedProgress().waits.map(\.cause) == [.onHold])
            try await world.stores.stops.carryOut(now: dawn)
            #expect(try await world.checkedProgress().waits.map(\.cause) == [.onHold])
            #expect(try await world.checkedProgress().estimatedEnd == nil)
        }
    }

    @Test("stays hidden from other apps")
    func otherApp() async throws {
        try await withStores { world in
            try await world.send(world.newMessage())
            let other = try await world.stores.registry.createApp(slug: "other", name: "Other").id
            #expect(try await world.stores.messages.progress(app: other, id: StoreWorld.message(1)) == nil)
        }
    }
}

@Suite("The report of a provider outage")
struct OutageTests {
    private func world(_ body: (StoreWorld, CredentialID) async throws -> Void) async throws {
        try await withStores { world in
            let credential = try await world.credential()
            try await world.register(1...4)
            try await world.send(world.newMessage(), parcelMembersMax: 2)
            try await body(world, credential)
        }
    }

    private func report(
        _ world: StoreWorld, _ outages: [LaneOutage], of process: ProcessID = StoreWorld.ann, at now: WallInstant = dawn
    ) async throws {
        try await world.stores.credentials.report(outages: outages, of: process, now: now)
    }

    private func outage(_ credential: CredentialID, _ age: Duration = .seconds(60)) -> LaneOutage {
        LaneOutage(credential: credential, cause: .unreachable, reason: "nobody listens", age: age)
    }

    private func remaining(_ credential: CredentialID, _ length: Duration, _ age: Duration = .zero) -> LaneOutage {
        LaneOutage(credential: credential, cause: .throttled, openFor: length, reason: "too many", age: age)
    }

    @Test("tells a throttled provider, which has a retry time, from an unreachable one")
    func opens() async throws {
        try await world { world, credential in
            func reported(at now: WallInstant) async throws -> PushWait? {
                let progress = try await world.checkedProgress(at: now)
                #expect(progress.waits.count == 1 && progress.estimatedEnd == nil)
                return progress.waits.first
            }
            func wait(_ cause: PushWait.Cause, since: Int, until: Int? = nil, _ reason: String) -> PushWait {
                PushWait(
                    cause: cause, provider: .apns, environment: .production, topic: StoreWorld.topic, pushes: 4,
                    since: dawn + .seconds(since), until: until.map { dawn + .seconds($0) }, reason: reason)
            }
            try await report(world, [remaining(credential, .seconds(30), .seconds(5))])
            #expect(try await reported(at: dawn) == wait(.throttled, since: -5, until: 30, "too many"))
            #expect(try await reported(at: dawn + .seconds(30)) == wait(.throttled, since: -5, "too many"))
            // The process reports it again, with a longer wait.
            try await report(world, [remaining(credential, .seconds(60), .seconds(45))], at: dawn + .seconds(40))
            #expect(
                try await reported(at: dawn + .seconds(41)) == wait(.throttled, since: -5, until: 100, "too many"))
            // A second process cannot even reach the provider. When the first cannot either, a new outage starts.
            try await report(world, [outage(credential)], of: StoreWorld.bob, at: dawn + .seconds(40))
            #expect(try await reported(at: dawn + .seconds(41))?.cause == .throttled)
            try await report(world, [outage(credential, .zero)], at: dawn + .seconds(50))
            try await report(world, [], of: StoreWorld.bob, at: dawn + .seconds(50))
            #expect(try await reported(at: dawn + .seconds(51)) == wait(.unreachable, since: 50, "nobody listens"))
        }
    }

    @Test("names the waiting pushes, the start of the outage and its reason")
    func waits() async throws {
        try await world { world, credential in
            try await report(world, [outage(credential)])
            try await report(world, [outage(credential, .seconds(30))], of: StoreWorld.bob)
            let progress = try await world.checkedProgress()
            #expect(
                progress.waits == [
                    PushWait(
                        cause: .unreachable, provider: .apns, environment: .production, topic: StoreWorld.topic,
                        pushes: 4, since: dawn + .seconds(-60), reason: "nobody listens")
                ])
            #expect(progress.estimatedEnd == nil)
        }
    }

    @Test("keeps its start while its process repeats it, and lapses when the process stops")
    func retold() async throws {
        try await world { world, credential in
            try await report(world, [outage(credential)])
            try await report(world, [outage(credential, .seconds(1))], at: dawn + .seconds(50))
            let later = try await world.checkedProgress(at: dawn + .seconds(100))
            #expect(later.waits.map(\.since) == [dawn + .seconds(-60)])
            #expect(
                try await world.checkedProgress(at: dawn + .seconds(111)).waits.isEmpty,
                "an outage ends with its process")
            try await report(world, [], at: dawn + .seconds(100))
            #expect(try await world.checkedProgress(at: dawn + .seconds(100)).waits.isEmpty)
            #expect(try await world.number("SELECT count(*) FROM lane_outages") == 0)
        }
    }

    @Test("disappears while another process sends to the provider")
    func another() async throws {
        try await world { world, credential in
            try await report(world, [outage(credential)])
            _ = try #require(try await world.lease(owner: StoreWorld.bob))
            let progress = try await world.checkedProgress()
            #expect(progress.waits.isEmpty && progress.providers.map(\.ready) == [2])
        }
    }

    @Test("disappears on a route where another process gets answers, and stays on other routes")
    func anotherAtARate() async throws {
        try await withStores { world in
            let (credential, sandbox) = (try await world.credential(), try await world.credential(.sandbox))
            try await world.register(1...4)
            try await world.register(5...6, environment: .sandbox)
            var message = world.newMessage(lifetime: .seconds(7_200))
            message.ratePerSecond = 1
            try await world.send(message)
            func reported(at now: WallInstant) async throws -> [Int64] {
                try await report(
                    world, [remaining(credential, .seconds(900)), remaining(sandbox, .seconds(900))], at: now)
                let waits = try await world.checkedProgress(at: now + .seconds(1)).waits
                #expect(waits.allSatisfy { $0.cause == .throttled })
                return waits.map(\.pushes)
            }
            #expect(try await reported(at: dawn) == [4, 2])
            let order = LeaseOrder(
                route: try await world.route(), owner: StoreWorld.bob, leaseFor: .seconds(60), knownFormats: [1],
                scope: .rateLimited)
            let now = dawn + .seconds(70)
            let share = try #require(
                try await world.stores.parcels.lease(order, now: now).parcel)
            let sample = AnswerSample(answered: share.members.count)
            try await world.settle(
                share.settling([(0..<share.members.count, TerminalStatus(.accepted))], sample: sample), at: now)
            #expect(try await reported(at: now) == [2])
            #expect(try await reported(at: now + .seconds(120)) == [4 - Int64(share.members.count), 2])
        }
    }

    @Test("ignores a deleted credential, and is deleted when no process repeats it")
    func gone() async throws {
        try await world { world, credential in
            try await report(world, [outage(CredentialID(99)), outage(credential)])
            #expect(try await world.number("SELECT count(*) FROM lane_outages") == 1)
            while try await world.stores.sweeper.sweep(now: dawn + .seconds(3_601)) > 0 {}
            #expect(try await world.number("SELECT count(*) FROM lane_outages") == 0)
        }
    }
}
