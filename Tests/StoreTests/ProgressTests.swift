import DeliveryRules
import Encodings
import Postgres
import PushModel
import Store
import Testing

private let dawn = StoreWorld.dawn

extension StoreWorld {
    @discardableResult
    fileprivate func credential(_ environment: PushEnvironment = .production) async throws -> CredentialID {
        let id = try await stores.credentials.nextIDs(1)[0]
        let key = NewCredential(
            id: id, app: app, provider: .apns, environment: environment, kind: .token, topics: [],
            facts: Array("{}".utf8), sealed: [1])
        _ = try await stores.credentials.insert([key], app: app, activate: true, once: nil) { _ in [] }
        return id
    }

    fileprivate func settle(_ settlement: Settlement, at now: WallInstant = dawn) async throws {
        #expect(try await stores.parcels.settle(settlement, now: now) == .settled)
    }

    /// The parts are the account's, whatever happened.
    fileprivate func checkedProgress(at now: WallInstant = dawn) async throws -> MessageProgress {
        let progress = try await progress(at: now)
        #expect(try await account() == progress.account)
        for (part, account) in zip(progress.providers, progress.account.providers) {
            #expect(part.provider == account.provider)
            #expect(part.sending + part.ready + part.waiting == account.pending)
        }
        let waiting = progress.waits.reduce(0) { $0 + $1.pushes }
        #expect(waiting == progress.providers.reduce(0) { $0 + $1.waiting })
        return progress
    }
}

@Suite("How far a message is")
struct ProgressTests {
    @Test("is told by what its pushes are at: their turn, a process, an hour")
    func turns() async throws {
        try await withStores { world in
            _ = try await world.credential()
            try await world.register(1...9)
            try await world.send(world.newMessage(), parcelMembersMax: 3)
            #expect(try await world.checkedProgress().providers.map(\.ready) == [9])
            let parcel = try #require(try await world.lease())
            let leased = try await world.checkedProgress()
            #expect(leased.providers.map(\.sending) == [3] && leased.providers.map(\.ready) == [6])
            let ends = [(0..<1, Ending(.accepted)), (1..<2, Ending(.unregistered, "Unregistered"))]
            try await world.settle(
                parcel.settling(ends, remainders: [parcel.remainder(2..<3, after: .seconds(30))]))
            let later = try await world.checkedProgress()
            #expect(later.providers.map(\.waiting) == [1] && later.providers.map(\.ready) == [6])
            #expect(
                later.waits == [
                    PushWait(
                        cause: .later, provider: .apns, environment: .production, topic: StoreWorld.topic, pushes: 1,
                        until: dawn + .seconds(30), reason: "provider_busy")
                ])
            #expect(later.lastDue == dawn + .seconds(30))
            #expect(try await world.checkedProgress(at: dawn + .seconds(31)).waits.isEmpty)
        }
    }

    @Test("has each provider's reasons, whether their parcels are open or gone, the most frequent first")
    func reasons() async throws {
        try await withStores { world in
            try await world.register(1...6)
            var said = StoreWorld.registration("i7", token: 7)
            said.provider = .fcm
            try await world.register(said)
            try await world.send(world.newMessage(audience: .all))
            let parcel = try #require(try await world.lease())
            let ends = [
                (0..<1, Ending(.accepted)), (1..<2, Ending(.rejected, "BadTopic")),
                (2..<4, Ending(.unregistered, "Unregistered")),
            ]
            try await world.settle(parcel.settling(ends))
            let apple = [
                EndingTotal(ending: Ending(.unregistered, "Unregistered"), count: 2),
                EndingTotal(ending: Ending(.rejected, "BadTopic"), count: 1),
            ]
            #expect(try await world.checkedProgress().providers.map(\.reasons) == [apple, []])
            try await world.settle(
                Settlement(
                    parcel: parcel.id, message: parcel.message, epoch: 1, settles: 1,
                    endings: [EndingCount(ending: Ending(.rejected, "BadTopic"), count: 2)], settledBits: [0b11_1111],
                    remainders: [], pendingAfter: 0))
            let whole = try await world.checkedProgress()
            #expect(whole.providers.first?.reasons.map(\.count) == [3, 2])
            #expect(whole.providers.first?.reasons.first?.ending == Ending(.rejected, "BadTopic"))
            #expect(whole.providers.map(\.otherReasons) == [0, 0])
        }
    }

    @Test("has the reasons of those that ended when it was planned, too")
    func planned() async throws {
        try await withStores { world in
            try await world.register(1...2)
            // Takes the token of the first, which is retired by it.
            try await world.register(StoreWorld.registration("i3", token: 1))
            try await world.send(world.newMessage(audience: .installations(["i1", "i2"])))
            let retired = EndingTotal(ending: Ending(.unregistered, EndingReason.retired), count: 1)
            #expect(try await world.checkedProgress().providers.map(\.reasons) == [[retired]])
        }
    }

    @Test("names at most twenty reasons of a provider, and counts the others")
    func manyReasons() async throws {
        try await withStores { world in
            try await world.register(1...25)
            try await world.send(world.newMessage())
            let parcel = try #require(try await world.lease())
            try await world.settle(
                parcel.settling((0..<25).map { ($0..<$0 + 1, Ending(.rejected, "Reason\($0)")) }))
            let part = try #require(try await world.checkedProgress().providers.first)
            #expect(part.reasons.count == 20 && part.otherReasons == 5)
        }
    }

    @Test("names the pushes of a paused message as held, before and after they are")
    func paused() async throws {
        try await withStores { world in
            _ = try await world.credential()
            try await world.register(1...3)
            try await world.send(world.newMessage())
            _ = try await world.stores.messages.wish(.pause, app: world.app, id: StoreWorld.message(1), now: dawn)
            #expect(try await world.checkedProgress().waits.map(\.cause) == [.held])
            try await world.stores.stops.carryOut(now: dawn)
            #expect(try await world.checkedProgress().waits.map(\.cause) == [.held])
            #expect(try await world.checkedProgress().estimatedEnd == nil)
        }
    }

    @Test("of another app is nobody's")
    func otherApp() async throws {
        try await withStores { world in
            try await world.send(world.newMessage())
            let other = try await world.stores.registry.createApp(slug: "other", name: "Other").id
            #expect(try await world.stores.messages.progress(app: other, id: StoreWorld.message(1)) == nil)
        }
    }
}

@Suite("The estimate of a message's end, from its rows")
struct EstimateTests {
    @Test("has the pace since it was resumed, and not that of the ten minutes in which it stood still")
    func resumed() async throws {
        try await withStores { world in
            _ = try await world.credential()
            try await world.register(1...9)
            let message = try await world.send(world.newMessage(lifetime: .seconds(7_200)), parcelMembersMax: 3)
            func send(at now: WallInstant) async throws {
                let parcel = try #require(try await world.lease(at: now))
                let everyone = parcel.settling([(0..<3, Ending(.accepted))], sample: AnswerSample(answered: 3))
                try await world.settle(everyone, at: now + .seconds(2))
            }
            try await send(at: dawn)
            for (wish, now) in [(LifeWish.pause, dawn + .seconds(10)), (.resume, dawn + .seconds(630))] {
                _ = try await world.stores.messages.wish(wish, app: world.app, id: message, now: now)
                try await world.stores.stops.carryOut(now: now)
            }
            try await send(at: dawn + .seconds(630))
            #expect(try await world.checkedProgress(at: dawn + .seconds(633)).pushesPerSecond == 1)
            let next = try await world.checkedProgress(at: dawn + .seconds(660))
            #expect(next.pushesPerSecond == 0.1 && next.estimatedEnd == dawn + .seconds(690))
        }
    }

    @Test("counts what routes answered on which everything has ended")
    func endedRoutes() async throws {
        try await withStores { world in
            for environment in [PushEnvironment.production, .sandbox] { try await world.credential(environment) }
            try await world.register(1...3)
            try await world.register(4...6, environment: .sandbox)
            try await world.send(world.newMessage(lifetime: .seconds(7_200)))
            let parcel = try #require(try await world.lease(at: dawn))
            let everyone = parcel.settling([(0..<3, Ending(.accepted))], sample: AnswerSample(answered: 3))
            try await world.settle(everyone, at: dawn + .seconds(1))
            let progress = try await world.checkedProgress(at: dawn + .seconds(2))
            #expect(progress.providers.map(\.ready) == [3] && progress.pushesPerSecond == 1.5)
        }
    }

    @Test("sees how much of its app's own ids planners have gone through, whatever other apps have")
    func walked() async throws {
        try await withStores { world in
            let neighbour = try await world.neighbour()
            try await neighbour.register(1...50)
            let ids = try await world.register(1...9).map(\.value).sorted()
            try await neighbour.register(51...90)
            #expect(try await world.stores.messages.accept(world.newMessage(), now: dawn) == .accepted)
            #expect(try await world.checkedProgress().walked == 0)
            _ = try await world.stores.messages.planSlice(idsMax: 3, knownFormats: [1], now: dawn)
            let progress = try await world.checkedProgress()
            let share = Double(ids[2] - ids[0] + 1) / Double(ids[8] - ids[0] + 1)
            #expect(progress.walked == share && progress.account.audience == nil)
            #expect(progress.estimatedAudience == Int64((3 / share).rounded()))
            while try await world.stores.messages.planSlice(knownFormats: [1], now: dawn) != .nothing {}
            let planned = try await world.checkedProgress()
            #expect(planned.walked == nil && planned.estimatedAudience == 9)
        }
    }

    @Test("is of ids alone: not of names, of tokens, nor of hours, nor where the app has nobody")
    func byNames() async throws {
        try await withStores { world in
            func walked(_ number: UInt64, _ audience: Audience, isLocal: Bool = false) async throws -> Double? {
                var message = world.newMessage(number, audience: audience)
                if isLocal { message.localSending = LocalSending(hour: LocalHour(inUTC: dawn + .seconds(3_600))) }
                #expect(try await world.stores.messages.accept(message, now: dawn) == .accepted)
                return try await world.progress(number, at: dawn).walked
            }
            #expect(try await walked(1, .all) == nil)
            try await world.register(1...2)
            #expect(try await walked(2, .all) == 0)
            #expect(try await walked(3, .tags(TagExpression(any: ["news"]))) == 0)
            #expect(try await walked(4, .users(["ann"])) == 0)
            #expect(try await walked(5, .installations(["i1", "i2"])) == nil)
            #expect(try await walked(6, .all, isLocal: true) == nil)
            let target = InlineTarget(
                provider: .apns, environment: .production, topic: StoreWorld.topic, token: StoreWorld.token(9))
            #expect(try await walked(7, .tokens([target])) == nil)
        }
    }
}

@Suite("What is told of a provider that can't be reached")
struct OutageTests {
    private func world(_ body: (StoreWorld, CredentialID) async throws -> Void) async throws {
        try await withStores { world in
            let credential = try await world.credential()
            try await world.register(1...4)
            try await world.send(world.newMessage(), parcelMembersMax: 2)
            try await body(world, credential)
        }
    }

    private func tell(
        _ world: StoreWorld, _ outages: [LaneOutage], of process: ProcessID = StoreWorld.ann, at now: WallInstant = dawn
    ) async throws {
        try await world.stores.credentials.tell(outages: outages, of: process, now: now)
    }

    private func outage(_ credential: CredentialID, _ age: Duration = .seconds(60)) -> LaneOutage {
        LaneOutage(credential: credential, cause: .unreachable, reason: "nobody listens", age: age)
    }

    private func rest(_ credential: CredentialID, _ length: Duration, _ age: Duration = .zero) -> LaneOutage {
        LaneOutage(credential: credential, cause: .resting(length), reason: "too many", age: age)
    }

    @Test("is told apart from one that asks for less, which is tried again at a time")
    func rests() async throws {
        try await world { world, credential in
            func told(at now: WallInstant) async throws -> PushWait? {
                let progress = try await world.checkedProgress(at: now)
                #expect(progress.waits.count == 1 && progress.estimatedEnd == nil)
                return progress.waits.first
            }
            func wait(_ cause: PushWait.Cause, since: Int, until: Int? = nil, _ reason: String) -> PushWait {
                PushWait(
                    cause: cause, provider: .apns, environment: .production, topic: StoreWorld.topic, pushes: 4,
                    since: dawn + .seconds(since), until: until.map { dawn + .seconds($0) }, reason: reason)
            }
            try await tell(world, [rest(credential, .seconds(30), .seconds(5))])
            #expect(try await told(at: dawn) == wait(.throttled, since: -5, until: 30, "too many"))
            #expect(try await told(at: dawn + .seconds(30)) == wait(.throttled, since: -5, "too many"))
            // Told again, for longer.
            try await tell(world, [rest(credential, .seconds(60), .seconds(45))], at: dawn + .seconds(40))
            #expect(
                try await told(at: dawn + .seconds(41)) == wait(.throttled, since: -5, until: 100, "too many"))
            // Another process can't even reach it; where this one can't either, it is another trouble since then.
            try await tell(world, [outage(credential)], of: StoreWorld.bob, at: dawn + .seconds(40))
            #expect(try await told(at: dawn + .seconds(41))?.cause == .throttled)
            try await tell(world, [outage(credential, .zero)], at: dawn + .seconds(50))
            try await tell(world, [], of: StoreWorld.bob, at: dawn + .seconds(50))
            #expect(try await told(at: dawn + .seconds(51)) == wait(.unreachable, since: 50, "nobody listens"))
        }
    }

    @Test("is that the pushes wait for it, since when and why")
    func waits() async throws {
        try await world { world, credential in
            try await tell(world, [outage(credential)])
            try await tell(world, [outage(credential, .seconds(30))], of: StoreWorld.bob)
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

    @Test("holds as long as it is told, and keeps its beginning")
    func retold() async throws {
        try await world { world, credential in
            try await tell(world, [outage(credential)])
            try await tell(world, [outage(credential, .seconds(1))], at: dawn + .seconds(50))
            let later = try await world.checkedProgress(at: dawn + .seconds(100))
            #expect(later.waits.map(\.since) == [dawn + .seconds(-60)])
            #expect(try await world.checkedProgress(at: dawn + .seconds(111)).waits.isEmpty, "its process has ended")
            try await tell(world, [], at: dawn + .seconds(100))
            #expect(try await world.checkedProgress(at: dawn + .seconds(100)).waits.isEmpty)
            #expect(try await world.number("SELECT count(*) FROM lane_outages") == 0)
        }
    }

    @Test("says nothing where another process sends all the same")
    func another() async throws {
        try await world { world, credential in
            try await tell(world, [outage(credential)])
            _ = try #require(try await world.lease(owner: StoreWorld.bob))
            let progress = try await world.checkedProgress()
            #expect(progress.waits.isEmpty && progress.providers.map(\.ready) == [2])
        }
    }

    @Test("says nothing of a route on which another process gets answers, and what it says of others stands")
    func anotherAtARate() async throws {
        try await withStores { world in
            let (credential, sandbox) = (try await world.credential(), try await world.credential(.sandbox))
            try await world.register(1...4)
            try await world.register(5...6, environment: .sandbox)
            var message = world.newMessage(lifetime: .seconds(7_200))
            message.ratePerSecond = 1
            try await world.send(message)
            func told(at now: WallInstant) async throws -> [Int64] {
                try await tell(world, [rest(credential, .seconds(900)), rest(sandbox, .seconds(900))], at: now)
                let waits = try await world.checkedProgress(at: now + .seconds(1)).waits
                #expect(waits.allSatisfy { $0.cause == .throttled })
                return waits.map(\.pushes)
            }
            #expect(try await told(at: dawn) == [4, 2])
            let order = LeaseOrder(
                route: try await world.route(), owner: StoreWorld.bob, leaseFor: .seconds(60), knownFormats: [1],
                scope: .paced)
            let now = dawn + .seconds(70)
            let share = try #require(try await world.stores.parcels.leasePaced(order, passing: [], now: now).parcel)
            let sample = AnswerSample(answered: share.members.count)
            try await world.settle(
                share.settling([(0..<share.members.count, Ending(.accepted))], sample: sample), at: now)
            #expect(try await told(at: now) == [2])
            #expect(try await told(at: now + .seconds(120)) == [4 - Int64(share.members.count), 2])
        }
    }

    @Test("of a credential that is gone is not written, and what nobody tells any more is swept")
    func gone() async throws {
        try await world { world, credential in
            try await tell(world, [outage(CredentialID(99)), outage(credential)])
            #expect(try await world.number("SELECT count(*) FROM lane_outages") == 1)
            while try await world.stores.sweeper.sweep(now: dawn + .seconds(3_601)) > 0 {}
            #expect(try await world.number("SELECT count(*) FROM lane_outages") == 0)
        }
    }
}
