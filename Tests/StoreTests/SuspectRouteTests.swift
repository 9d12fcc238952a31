import Basis
import Model
import QueueRules
import RegistryRules
import Store
import Testing

private let dawn = StoreWorld.dawn
private let rule = SuspicionRule(window: .seconds(600), shareMax: 0.2, sampleMin: 50)

extension StoreWorld {
    /// The sandbox accepted the tokens, and production did not know them.
    fileprivate func find(
        _ ids: some Sequence<RegistrationID>, at now: WallInstant = dawn
    ) async throws -> VerdictReport {
        let (origin, sandbox) = (try await route(), try await route(.sandbox))
        let registration = ids.map { id in
            GuardedVerdict(
                registration: id, generation: TokenGeneration(1), route: origin, verdict: .found(on: sandbox), asOf: now
            )
        }
        return try await stores.parcels.applyVerdicts(registration, under: rule, now: now)
    }

    /// Counts the answers of production, as a settle does.
    fileprivate func receive(_ answered: Int, suspected: Int = 0, at now: WallInstant) async throws {
        let receive = query(
            """
            INSERT INTO route_minutes (route_id, minute, answered, suspected)
            VALUES (:route, date_trunc('minute', :now::timestamptz), :answered, :suspected)
            """
        ) { [route = try await route()] in
            $0.int64("route", route.value)
            $0.instant("now", now)
            $0.int64("answered", Int64(answered))
            $0.int64("suspected", Int64(suspected))
        }
        _ = try await pool.run(receive)
    }

    fileprivate func inSandbox() async throws -> Int {
        try await number("SELECT count(*) FROM registrations JOIN routes r ON r.id = route_id WHERE r.environment = 2")
    }
}

@Suite("A route whose whole audience is refused")
struct RefusedRouteTests {
    private func refused(_ world: StoreWorld, at now: WallInstant, within time: Duration = .seconds(600)) async throws
        -> [RefusedRoute]
    {
        try await world.stores.parcels.refusedRoutes(rule, within: time, now: now)
    }

    @Test("appears with its latest answers, until others come")
    func listed() async throws {
        try await withStores { world in
            try await world.register(1...12)
            try await world.send(world.newMessage())
            let parcel = try #require(try await world.lease())
            let all = TerminalStatus(.rejected, "SENDER_ID_MISMATCH")
            let sample = AnswerSample(answered: 12, suspected: 12)
            try await world.settle(parcel.settling([(0..<12, all)], sample: sample))
            let told = RefusedRoute(
                route: try await world.route(), app: "clock-tower", provider: .apns, environment: .production,
                topic: StoreWorld.topic, sample: sample)
            #expect(try await refused(world, at: dawn + .seconds(60)) == [told])
            let nextDay = dawn + .seconds(86_400)
            #expect(try await refused(world, at: nextDay).isEmpty)
            #expect(try await refused(world, at: nextDay, within: SuspicionRule.windowMax) == [told])
            try await world.receive(100, suspected: 1, at: nextDay)
            #expect(try await refused(world, at: nextDay, within: SuspicionRule.windowMax).isEmpty)
        }
    }
}

@Suite("A route with too many tokens found in the sibling environment")
struct SuspectRouteTests {
    @Test("keeps all its tokens if it worked before, and they can be found again later")
    func outage() async throws {
        try await withStores { world in
            let ids = try await world.register(1...60)
            try await world.receive(1, at: dawn + .seconds(-3_600))
            let report = try await world.find(ids)
            #expect(
                report.suspectRoutes == [
                    SuspectRoute(
                        route: try await world.route(), environment: .production, topic: StoreWorld.topic, found: 60,
                        answered: 0)
                ])
            #expect(report.cleared == 0)
            #expect(try await world.inSandbox() == 0)
            #expect(try await world.feed().isEmpty)
            #expect(try await world.number("SELECT count(*) FROM registrations WHERE generation > 1") == 0)
            let compared = "SELECT count(*) FROM registrations WHERE environments_compared IS NOT NULL"
            #expect(try await world.number(compared) == 0)
            #expect(try await world.number("SELECT found FROM route_minutes WHERE found > 0") == 60)
        }
    }

    @Test("moves only the allowed share of tokens in each window, over all batches together")
    func share() async throws {
        try await withStores { world in
            let ids = try await world.register(1...30)
            try await world.receive(1_000, at: dawn + .seconds(-3_600))
            for id in ids[..<10] { #expect(try await world.find([id]).suspectRoutes.isEmpty) }
            #expect(try await world.find([ids[10]]).suspectRoutes.map(\.found) == [11])
            #expect(try await world.find([ids[11]], at: dawn + .seconds(599)).suspectRoutes.map(\.found) == [12])
            #expect(try await world.inSandbox() == 10)
            // More good answers allow more moves.
            try await world.receive(200, at: dawn + .seconds(480))
            #expect(try await world.find(ids[11..<20], at: dawn + .seconds(599)).suspectRoutes.isEmpty)
            #expect(try await world.inSandbox() == 19)
            #expect(try await world.find(ids[20...], at: dawn + .seconds(3_600)).suspectRoutes.isEmpty)
            #expect(try await world.inSandbox() == 29)
        }
    }

    @Test("moves all tokens if it never worked; only good answers of the last week prove that it did")
    func young() async throws {
        try await withStores { world in
            let ids = try await world.register(1...80)
            try await world.receive(50, at: dawn + .seconds(-8 * 86_400))
            try await world.receive(50, suspected: 50, at: dawn + .seconds(-86_400))
            #expect(try await world.find(ids[..<20]).suspectRoutes.isEmpty)
            // The answers to those tokens, and the first accepted ones of the origin route, are still in the window.
            try await world.receive(25, at: dawn + .seconds(60))
            #expect(try await world.find(ids[20...], at: dawn + .seconds(90)).suspectRoutes.isEmpty)
            #expect(try await world.inSandbox() == 80)
        }
    }

    @Test("clears the suspicion of a found token, although it moves none")
    func suspected() async throws {
        try await withStores { world in
            let ids = try await world.register(1...60)
            let suspicion = GuardedVerdict(
                registration: ids[0], generation: TokenGeneration(1), route: try await world.route(),
                verdict: .suspected(reason: "BadDeviceToken"), asOf: dawn)
            _ = try await world.stores.parcels.applyVerdicts([suspicion], now: dawn)
            try await world.receive(1, at: dawn + .seconds(-3_600))
            #expect(try await world.find(ids).cleared == 1)
            #expect(try await world.device("i1").state == .active)
            #expect(try await world.number("SELECT count(*) FROM suspicions") == 0)
            #expect(try await world.inSandbox() == 0)
        }
    }

    @Test("moves no more tokens for many concurrent processes than for one")
    func atOnce() async throws {
        try await withStores { world in
            let ids = try await world.register(1...40)
            try await world.receive(1, at: dawn + .seconds(-3_600))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for id in ids { group.addTask { _ = try await world.find([id]) } }
                try await group.waitForAll()
            }
            #expect(try await world.inSandbox() == 10)
        }
    }
}
