import Basis
import Model
import QueueRules
import RegistryRules
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
        if answered > 0 { try await receive(AnswerSample(answered: answered, suspected: suspected), at: now) }
        return try await stores.parcels.applyVerdicts(verdicts, now: now)
    }

    /// Counts the answers, as a settle does.
    private func receive(_ sample: AnswerSample, at now: WallInstant) async throws {
        let route = try await route()
        let receive = query(
            """
            INSERT INTO route_minutes VALUES (:route, date_trunc('minute', :now::timestamptz), :answered, :suspected)
            ON CONFLICT (route_id, minute) DO UPDATE SET answered = route_minutes.answered + excluded.answered,
                suspected = route_minutes.suspected + excluded.suspected
            """
        ) {
            $0.int64("route", route.value)
            $0.instant("now", now)
            $0.int64("answered", Int64(sample.answered))
            $0.int64("suspected", Int64(sample.suspected))
        }
        _ = try await pool.run(receive)
    }

    /// Registers `i1` and suspects it among the given number of answers.
    fileprivate func suspicion(answered: Int, suspected: Int = 1) async throws -> RegistrationID {
        let id = try await register(1...1)[0]
        try await suspectAll([id], answered: answered, suspected: suspected, at: Self.dawn)
        return id
    }

    fileprivate func suspectAll(
        _ ids: [RegistrationID], answered: Int, suspected: Int, at now: WallInstant
    ) async throws {
        var suspicions: [GuardedVerdict] = []
        for id in ids { suspicions.append(try await verdict(.suspected(reason: "BadDeviceToken"), on: id, asOf: now)) }
        _ = try await apply(suspicions, answered: answered, suspected: suspected, at: now)
    }

    /// The number of tokens that are retired at that time.
    fileprivate func confirm(at seconds: Int64) async throws -> Int {
        try await stores.parcels.confirmSuspicions(rule, now: Self.dawn + .seconds(seconds)).retired
    }

    fileprivate func hasPendingSuspicions() async throws -> Bool {
        try await number("SELECT count(*) FROM suspicions") > 0
    }
}

private let none = VerdictReport(retired: 0, suspected: 0, cleared: 0)

@Suite("A 410 answer")
struct UnregisteredTests {
    private let gone = TokenVerdict.unregistered(since: dawn, reason: "Unregistered")

    @Test("retires its token once, and the feed gives the reason")
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

    @Test("retires an imported token only if it is newer than the time when the token was learned")
    func importedLate() async throws {
        try await withStores { world in
            var registration = StoreWorld.registration("i1", token: 1)
            registration.asOf = dawn + .seconds(-100)
            for time in [dawn, dawn + .seconds(50)] { try await world.register(registration, at: time) }
            let id = try await world.device("i1").id
            let before = TokenVerdict.unregistered(since: dawn + .seconds(-101), reason: "Unregistered")
            #expect(try await world.apply([try await world.verdict(before, on: id)]) == none)
            let after = TokenVerdict.unregistered(since: dawn + .seconds(-99), reason: "Unregistered")
            #expect(try await world.apply([try await world.verdict(after, on: id)]).retired == 1)
        }
    }

    @Test("retires no device that has registered since")
    func older() async throws {
        try await withStores { world in
            let id = try await world.register(1...1)[0]
            try await world.register(1...1, at: dawn + .seconds(1))
            #expect(try await world.apply([try await world.verdict(gone, on: id)]) == none)
            #expect(try await world.device("i1").state == .active)
            #expect(try await world.feed().isEmpty)
        }
    }

    @Test("counts from the time of the lease when it carries no time")
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

    @Test("leaves a device's new token active when it is about the replaced one")
    func replaced() async throws {
        try await withStores { world in
            let id = try await world.register(1...1)[0]
            try await world.register(StoreWorld.registration("i1", token: 2))
            let verdict = try await world.verdict(.unregistered(since: nil, reason: "Unregistered"), on: id)
            #expect(try await world.apply([verdict]) == none)
            #expect(try await world.device("i1").state == .active)
        }
    }

    @Test("changes nothing when the device was deleted")
    func deleted() async throws {
        try await withStores { world in
            let id = try await world.register(1...1)[0]
            let verdict = try await world.verdict(gone, on: id)
            _ = try await world.stores.registry.removeDevice(app: world.app, installation: "i1")
            #expect(try await world.apply([verdict]) == none)
        }
    }

    @Test("prevails over a suspicion about the same token in one batch")
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

    @Test("retires no device that registers at the same moment")
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

@Suite("A suspicion about a token")
struct SuspicionTests {
    @Test("marks the token as suspected, and pushes are still sent to it")
    func suspected() async throws {
        try await withStores { world in
            _ = try await world.suspicion(answered: 1_000)
            #expect(try await world.device("i1").state == .suspected)
            #expect(try await world.feed().map(\.verdict) == [.suspected])
            try await world.send(world.newMessage())
            let parcel = try #require(try await world.lease())
            #expect(parcel.members.map(\.isSuspected) == [true])
            #expect(parcel.members.map(\.status) == [.present])
        }
    }

    @Test("retires its token once when its window has passed, and the feed gives the reason")
    func confirmed() async throws {
        try await withStores { world in
            _ = try await world.suspicion(answered: 1_000)
            let parcels = world.stores.parcels
            #expect(try await world.confirm(at: 3_599) == 0)
            let counts = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<4 {
                    group.addTask { try await parcels.confirmSuspicions(rule, now: dawn + .seconds(3_600)).retired }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(counts.reduce(0, +) == 1)
            #expect(try await world.device("i1").state == .retired)
            let feed = try await world.feed()
            #expect(feed.map(\.verdict) == [.suspected, .retired])
            #expect(feed.map(\.reason) == ["BadDeviceToken", "BadDeviceToken"])
            #expect(try await !world.hasPendingSuspicions())
        }
    }

    @Test("retires no token when a whole batch is suspected, however good later answers are")
    func batch() async throws {
        try await withStores { world in
            let ids = try await world.register(1...40)
            for day in Int64(0)...3 {
                let start = day * 86_400
                try await world.suspectAll(ids, answered: 40, suspected: 40, at: dawn + .seconds(start))
                #expect(try await world.confirm(at: start) == 0)
                _ = try await world.apply([], answered: 1_000_000, at: dawn + .seconds(start + 7_200))
                for hour in Int64(1)...12 {
                    #expect(try await world.confirm(at: start + hour * 3_600) == 0)
                    if hour == 1 {
                        #expect(try await !world.hasPendingSuspicions(), "suspicions are deleted once they are decided")
                    }
                }
            }
            #expect(try await world.number("SELECT count(*) FROM registrations WHERE state = 2") == 40)
        }
    }

    @Test("needs enough answers and a second suspicion to retire a token of a small app")
    func smallApp() async throws {
        try await withStores { world in
            let id = try await world.suspicion(answered: 1)
            for hour in Int64(1)...24 {
                #expect(try await world.confirm(at: hour * 3_600) == 0)
                _ = try await world.apply([], answered: 10, at: dawn + .seconds(hour * 3_600))
            }
            #expect(try await world.confirm(at: 90_000) == 0, "both suspicions may have the same cause")
            try await world.suspectAll([id], answered: 1, suspected: 1, at: dawn + .seconds(90_000))
            #expect(try await world.confirm(at: 90_060) == 1)
            #expect(try await world.device("i1").state == .retired)
            #expect(try await !world.hasPendingSuspicions())
            #expect(try await world.feed().map(\.verdict) == [.suspected, .retired])
        }
    }

    @Test("ends when it is not confirmed, and the next suspicion opens a window of its own")
    func nextWindow() async throws {
        try await withStores { world in
            let id = try await world.suspicion(answered: 1_000, suspected: 500)
            #expect(try await world.confirm(at: 3_600) == 0)
            #expect(try await !world.hasPendingSuspicions())
            #expect(try await world.device("i1").state == .suspected)
            try await world.suspectAll([id], answered: 1_000, suspected: 1, at: dawn + .seconds(50_000))
            #expect(try await world.confirm(at: 53_599) == 0)
            #expect(try await world.confirm(at: 53_600) == 1)
            #expect(try await world.feed().map(\.verdict) == [.suspected, .retired])
        }
    }

    @Test("expires after a week with too few answers, and its token stays suspected")
    func week() async throws {
        try await withStores { world in
            _ = try await world.suspicion(answered: 1)
            let week: Int64 = 7 * 86_400
            for second in [3_600, week - 60, week - 1] {
                #expect(try await world.confirm(at: second) == 0)
                #expect(try await world.hasPendingSuspicions())
            }
            #expect(try await world.confirm(at: week + 60) == 0)
            #expect(try await !world.hasPendingSuspicions())
            #expect(try await world.device("i1").state == .suspected)
        }
    }

    @Test("gets checked only when it is due")
    func inOrder() async throws {
        try await withStores { world in
            _ = try await world.suspicion(answered: 1)
            var due: [Int] = []
            for second in [Int64(0), 1, 3_599, 3_600, 3_601, 3_659, 3_660] {
                let now = dawn + .seconds(second)
                due.append(try await world.stores.parcels.confirmSuspicions(rule, now: now).judged)
            }
            #expect(due == [1, 0, 0, 1, 0, 0, 1])
        }
    }

    @Test("ends when the token works, and the feed reports it")
    func cleared() async throws {
        try await withStores { world in
            let id = try await world.suspicion(answered: 1_000)
            let cleared = try await world.apply([try await world.verdict(.cleared, on: id)])
            #expect(cleared == VerdictReport(retired: 0, suspected: 0, cleared: 1))
            #expect(try await world.device("i1").state == .active)
            #expect(try await world.feed().map(\.verdict) == [.suspected, .cleared])
            #expect(try await world.confirm(at: 9_999) == 0)
        }
    }

    @Test("ends when the device registers again, and an older suspicion does not return")
    func registeredAgain() async throws {
        try await withStores { world in
            let id = try await world.suspicion(answered: 1_000)
            try await world.register(1...1, at: dawn + .seconds(10))
            #expect(try await world.confirm(at: 9_999) == 0)
            let suspicion = try await world.verdict(
                .suspected(reason: "BadDeviceToken"), on: id, asOf: dawn + .seconds(9))
            #expect(try await world.apply([suspicion]) == none)
            #expect(try await world.device("i1").state == .active)
        }
    }
}
