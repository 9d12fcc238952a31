import DeliveryRules
import PushModel
import Store
import Testing

private let dawn = StoreWorld.dawn
private let rule = SuspicionRule(window: .seconds(3_600), shareMax: 0.1, sampleMin: 100)

extension StoreWorld {
    fileprivate func verdict(
        _ verdict: TokenVerdict, on id: RegistrationID, generation: Int32 = 1, asOf: WallInstant = dawn
    ) async throws -> GuardedVerdict {
        GuardedVerdict(
            registration: id, generation: TokenGeneration(generation), route: try await route(), verdict: verdict,
            asOf: asOf)
    }

    fileprivate func apply(
        _ verdicts: [GuardedVerdict], answered: Int = 0, suspected: Int = 0, at now: WallInstant = dawn
    ) async throws -> VerdictReport {
        if answered > 0 { try await hear(AnswerSample(answered: answered, suspected: suspected), at: now) }
        return try await stores.parcels.applyVerdicts(verdicts, now: now)
    }

    /// As settles have counted it.
    private func hear(_ sample: AnswerSample, at now: WallInstant) async throws {
        let route = try await route()
        let hear = query(
            """
            INSERT INTO route_minutes VALUES ($1, date_trunc('minute', $2::timestamptz), $3, $4)
            ON CONFLICT (route_id, minute) DO UPDATE SET answered = route_minutes.answered + excluded.answered,
                suspected = route_minutes.suspected + excluded.suspected
            """
        ) {
            $0.int64(route.value)
            $0.instant(now)
            $0.int64(Int64(sample.answered))
            $0.int64(Int64(sample.suspected))
        }
        _ = try await pool.run(hear)
    }

    /// Registers `i1` and doubts it among so many answers.
    fileprivate func doubt(answered: Int, suspected: Int = 1) async throws -> RegistrationID {
        let id = try await register(1...1)[0]
        let doubt = try await verdict(.suspected(reason: "BadDeviceToken"), on: id)
        _ = try await apply([doubt], answered: answered, suspected: suspected)
        return id
    }
}

private let none = VerdictReport(retired: 0, suspected: 0, cleared: 0)

@Suite("A 410")
struct UnregisteredTests {
    private let gone = TokenVerdict.unregistered(since: dawn, reason: "Unregistered")

    @Test("retires its token, once, and the feed says why")
    func retires() async throws {
        try await withStores { world in
            let id = try await world.register(1...1)[0]
            let verdict = try await world.verdict(gone, on: id)
            #expect(try await world.apply([verdict]) == VerdictReport(retired: 1, suspected: 0, cleared: 0))
            #expect(try await world.apply([verdict]) == none)
            #expect(try await world.device("i1").state == .retired)
            let feed = try await world.feed()
            #expect(feed.map(\.verdict) == [.retired])
            #expect(feed.map(\.reason) == ["Unregistered"])
            #expect(feed.map(\.at) == [dawn])
        }
    }

    @Test("from before the device's last registration retires nobody")
    func older() async throws {
        try await withStores { world in
            let id = try await world.register(1...1)[0]
            try await world.register(1...1, at: dawn + .seconds(1))
            #expect(try await world.apply([try await world.verdict(gone, on: id)]) == none)
            #expect(try await world.device("i1").state == .active)
            #expect(try await world.feed().isEmpty)
        }
    }

    @Test("without a time counts from the lease")
    func untimed() async throws {
        try await withStores { world in
            let ids = try await world.register(1...2, at: dawn + .seconds(1))
            let reason = TokenVerdict.unregistered(since: nil, reason: "UNREGISTERED")
            let early = try await world.verdict(reason, on: ids[0], asOf: dawn)
            let late = try await world.verdict(reason, on: ids[1], asOf: dawn + .seconds(1))
            #expect(try await world.apply([early, late]).retired == 1)
            #expect(try await world.device("i1").state == .active)
        }
    }

    @Test("about a replaced token says nothing about the new one")
    func replaced() async throws {
        try await withStores { world in
            let id = try await world.register(1...1)[0]
            try await world.register(StoreWorld.registration("i1", token: 2))
            let verdict = try await world.verdict(.unregistered(since: nil, reason: "Unregistered"), on: id)
            #expect(try await world.apply([verdict]) == none)
            #expect(try await world.device("i1").state == .active)
        }
    }

    @Test("about a deleted device is nothing")
    func deleted() async throws {
        try await withStores { world in
            let id = try await world.register(1...1)[0]
            let verdict = try await world.verdict(gone, on: id)
            _ = try await world.stores.registry.removeDevice(app: world.app, installation: "i1")
            #expect(try await world.apply([verdict]) == none)
        }
    }

    @Test("and a doubt about one token in one batch: the graver one counts")
    func gravest() async throws {
        try await withStores { world in
            let id = try await world.register(1...1)[0]
            let verdicts = [
                try await world.verdict(gone, on: id),
                try await world.verdict(.suspected(reason: "BadDeviceToken"), on: id),
            ]
            #expect(try await world.apply(verdicts).retired == 1)
            #expect(try await world.number("SELECT count(*) FROM suspicions") == 0)
        }
    }

    @Test("beside a registration of that moment never outlives it")
    func race() async throws {
        try await withStores { world in
            let ids = try await world.register(1...40)
            let verdicts = try await withVerdicts(ids, world)
            for _ in 0..<5 {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { _ = try await world.stores.parcels.applyVerdicts(verdicts) }
                    group.addTask { try await world.register(1...40, at: dawn + .seconds(100)) }
                    try await group.waitForAll()
                }
                #expect(try await world.number("SELECT count(*) FROM registrations WHERE state = 1") == 40)
            }
        }
    }

    private func withVerdicts(_ ids: [RegistrationID], _ world: StoreWorld) async throws -> [GuardedVerdict] {
        var verdicts: [GuardedVerdict] = []
        for id in ids.reversed() { verdicts.append(try await world.verdict(gone, on: id)) }
        return verdicts
    }
}

@Suite("A doubt about a token")
struct SuspicionTests {
    @Test("makes it suspected, and pushes still go to it")
    func suspected() async throws {
        try await withStores { world in
            _ = try await world.doubt(answered: 1_000)
            #expect(try await world.device("i1").state == .suspected)
            #expect(try await world.feed().map(\.verdict) == [.suspected])
            try await world.send(world.newMessage())
            let parcel = try #require(try await world.lease())
            #expect(parcel.members.map(\.isSuspected) == [true])
            #expect(parcel.members.map(\.standing) == [.present])
        }
    }

    @Test("is confirmed after its window, once, by any process, and the feed says why")
    func confirmed() async throws {
        try await withStores { world in
            _ = try await world.doubt(answered: 1_000)
            let parcels = world.stores.parcels
            #expect(try await parcels.confirmSuspicions(rule, now: dawn + .seconds(3_599)) == 0)
            let counts = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<4 {
                    group.addTask { try await parcels.confirmSuspicions(rule, now: dawn + .seconds(3_600)) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(counts.reduce(0, +) == 1)
            #expect(try await world.device("i1").state == .retired)
            let feed = try await world.feed()
            #expect(feed.map(\.verdict) == [.suspected, .retired])
            #expect(feed.map(\.reason) == ["BadDeviceToken", "BadDeviceToken"])
            #expect(try await world.number("SELECT count(*) FROM suspicions") == 0)
        }
    }

    @Test("among too few answers, or too many doubts, is not confirmed, however good later days are")
    func notConfirmed() async throws {
        try await withStores { world in
            let id = try await world.doubt(answered: 99)
            let parcels = world.stores.parcels
            #expect(try await parcels.confirmSuspicions(rule, now: dawn + .seconds(3_600)) == 0)
            _ = try await world.apply([], answered: 1_000, suspected: 990)
            #expect(try await parcels.confirmSuspicions(rule, now: dawn + .seconds(3_600)) == 0)
            _ = try await world.apply([], answered: 1_000_000, at: dawn + .seconds(7_200))
            #expect(try await parcels.confirmSuspicions(rule, now: dawn + .seconds(9_000)) == 0)
            #expect(try await world.device("i1").id == id)
            #expect(try await world.device("i1").state == .suspected)
        }
    }

    @Test("falls when the token works, and the feed says so")
    func cleared() async throws {
        try await withStores { world in
            let id = try await world.doubt(answered: 1_000)
            let cleared = try await world.apply([try await world.verdict(.cleared, on: id)])
            #expect(cleared == VerdictReport(retired: 0, suspected: 0, cleared: 1))
            #expect(try await world.device("i1").state == .active)
            #expect(try await world.feed().map(\.verdict) == [.suspected, .cleared])
            #expect(try await world.stores.parcels.confirmSuspicions(rule, now: dawn + .seconds(9_999)) == 0)
        }
    }

    @Test("falls when the device registers again, and an older doubt can't raise it anew")
    func registeredAgain() async throws {
        try await withStores { world in
            let id = try await world.doubt(answered: 1_000)
            try await world.register(1...1, at: dawn + .seconds(10))
            #expect(try await world.stores.parcels.confirmSuspicions(rule, now: dawn + .seconds(9_999)) == 0)
            let doubt = try await world.verdict(.suspected(reason: "BadDeviceToken"), on: id, asOf: dawn + .seconds(9))
            #expect(try await world.apply([doubt]) == none)
            #expect(try await world.device("i1").state == .active)
        }
    }
}
