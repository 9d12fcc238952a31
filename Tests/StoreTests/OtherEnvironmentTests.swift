import Basis
import Model
import QueueRules
import Store
import Testing

private let dawn = StoreWorld.dawn
private let noone = VerdictReport(retired: 0, suspected: 0, cleared: 0)

extension StoreWorld {
    /// Inserts an active key for the given topics, or for all topics.
    @discardableResult
    fileprivate func sender(_ environment: PushEnvironment, topics: [String] = []) async throws -> CredentialID {
        let credential = NewCredential(
            id: try await stores.credentials.nextIDs(1)[0], app: app, provider: .apns, environment: environment,
            kind: .token, topics: topics, facts: Array("{}".utf8), sealed: [1])
        return try await stores.credentials.insert(credential, activate: true).id
    }

    /// The rejection that a parcel carries when production did not know its members.
    fileprivate func refusal(generation: Int32 = 1) async throws -> OriginRejection {
        OriginRejection(
            route: try await route(), generation: TokenGeneration(generation), reason: "BadDeviceToken",
            asOf: Self.dawn + .seconds(-20), until: Self.dawn + .seconds(300))
    }

    fileprivate func crossEnvironment(_ parcel: LeasedParcel, generation: Int32 = 1) async throws -> Remainder {
        Remainder(
            route: try await route(.sandbox), dueAfter: .zero, attempt: 1, lapses: 0, retrySpent: .zero,
            answerLost: false, cause: .otherEnvironment, origin: try await refusal(generation: generation),
            members: parcel.members.map(\.registration))
    }

    /// Moves all members of the message from production to the sandbox.
    fileprivate func sendCrossEnvironment(_ message: NewMessage? = nil) async throws {
        try await send(message ?? newMessage())
        let parcel = try #require(try await lease())
        let settlement = parcel.settling([], remainders: [try await crossEnvironment(parcel)])
        #expect(try await stores.parcels.settle([settlement], now: Self.dawn)[0].get() == .settled)
    }

    fileprivate func write(
        _ verdict: TokenVerdict, of id: RegistrationID, generation: Int32 = 1, asOf: WallInstant = dawn
    ) async throws -> VerdictReport {
        let registration = GuardedVerdict(
            registration: id, generation: TokenGeneration(generation), route: try await route(), verdict: verdict,
            asOf: asOf)
        return try await stores.parcels.applyVerdicts([registration], now: Self.dawn)
    }

    fileprivate func found() async throws -> TokenVerdict { .found(on: try await route(.sandbox)) }
}

@Suite("An APNs route")
struct SiblingRouteTests {
    @Test("gets a sibling route in the other environment; routes of other providers get none")
    func duplicates() async throws {
        try await withStores { world in
            try await world.register(1...1)
            try await world.pool.script(
                """
                INSERT INTO routes (app_id, provider, environment, topic) VALUES (\(world.app.value), 1, 2, 'old'),
                    (\(world.app.value), 2, 1, '')
                """)
            #expect(try await world.number("SELECT count(*) FROM routes WHERE provider = 1") == 4)
            #expect(try await world.number("SELECT count(*) FROM routes WHERE provider = 1 AND number = 0") == 2)
            #expect(try await world.number("SELECT count(*) FROM routes WHERE provider = 2") == 1)
            #expect(try await world.number("SELECT max(id) FROM routes") == 5, "no route id is skipped")
        }
    }

    @Test("exists once per environment when many processes create it and its sibling at once")
    func atOnce() async throws {
        try await withStores { world in
            let crowd = (1...40).map { number in
                DeviceRegistration(
                    installation: "i\(number)", provider: .apns,
                    environment: number % 2 == 0 ? .production : .sandbox, topic: "t\(number / 2 % 10)",
                    token: StoreWorld.token(number))
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for each in crowd {
                    group.addTask {
                        // Each one is a process of its own: it has not cached the routes of another.
                        _ = try await Stores(pool: world.pool).registry.register([each], app: world.app)[0].get()
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await world.number("SELECT count(*) FROM routes") == 20)
        }
    }
}

@Suite("The sibling environment")
struct OtherEnvironmentOfLeaseTests {
    private func offered(_ world: StoreWorld, at now: WallInstant = dawn) async throws -> RouteID? {
        let parcel = try #require(try await world.lease(at: now))
        _ = try await world.stores.parcels.settle(
            [parcel.settling([], remainders: [parcel.remainder(0..<parcel.members.count)])], now: now)[0].get()
        return parcel.otherEnvironment
    }

    @Test("comes with a lease only when an active, unblocked credential covers the topic there")
    func offered() async throws {
        try await withStores { world in
            try await world.register(1...1)
            try await world.send(world.newMessage())
            let sandbox = try await world.route(.sandbox)
            #expect(try await offered(world) == nil)
            try await world.sender(.production)
            try await world.sender(.sandbox, topics: ["com.example.other"])
            #expect(try await offered(world) == nil)
            let named = try await world.sender(.sandbox, topics: [StoreWorld.topic])
            #expect(try await offered(world) == sandbox)
            try await world.stores.credentials.block(named, reason: "Forbidden", for: .seconds(60), now: dawn)
            #expect(try await offered(world) == nil)
            let later = dawn + .seconds(60)
            #expect(try await offered(world, at: later) == sandbox)
            _ = try await world.stores.credentials.retire([named], app: world.app)
            #expect(try await offered(world, at: later) == nil)
            try await world.sender(.sandbox)
            #expect(try await offered(world, at: later) == sandbox)
        }
    }

    @Test("stays closed to a token that is suspected in both environments, until the token changes")
    func members() async throws {
        try await withStores { world in
            try await world.sender(.sandbox)
            let ids = try await world.register(1...3)
            #expect(try await world.write(.suspectedInBoth(reason: "BadDeviceToken"), of: ids[0]).suspected == 1)
            #expect(try await world.write(.suspected(reason: "BadDeviceToken"), of: ids[1]).suspected == 1)
            for badge in [BadgeChange.none, .increment] {
                let number: UInt64 = badge == .none ? 1 : 2
                try await world.send(world.newMessage(number, badge: badge))
                for lease in 1...2 {
                    let parcel = try #require(try await world.lease())
                    #expect(parcel.members.map(\.mayBeInSibling) == [false, true, true])
                    let again = parcel.settling([], remainders: [parcel.remainder(0..<3)])
                    _ = try await world.stores.parcels.settle([lease == 1 ? again : parcel.settlingAll()], now: dawn)[0]
                        .get()
                }
            }
            // After another token was registered, or the same one returned, the sibling may be asked again.
            try await world.register(StoreWorld.registration("i1", token: 9))
            try await world.send(world.newMessage(3))
            #expect(try await world.lease()?.members.map(\.mayBeInSibling) == [true, true, true])
        }
    }
}

@Suite("A cross-environment parcel")
struct CrossEnvironmentRunTests {
    @Test("keeps the rejection by the origin route until its members return to that route")
    func crossEnvironment() async throws {
        try await withStores { world in
            try await world.sender(.production)
            try await world.register(1...3)
            try await world.sendCrossEnvironment()
            #expect(try await world.lease(on: .sandbox, formats: [2]) == nil)
            let parcel = try #require(try await world.lease(on: .sandbox))
            #expect(parcel.origin == (try await world.refusal()))
            #expect(parcel.otherEnvironment == nil)
            #expect(parcel.members.map(\.status) == [.present, .present, .present])
            // One member waits in the sandbox, one has returned to its origin route.
            let waits = Remainder(
                route: parcel.route, dueAfter: .zero, attempt: 1, lapses: 0, retrySpent: .zero, answerLost: false,
                cause: .handedBack, origin: parcel.origin, members: [parcel.members[0].registration])
            let leaves = parcel.remainder(1..<2, route: try await world.route())
            _ = try await world.stores.parcels.settle(
                [parcel.settling([(2..<3, TerminalStatus(.accepted))], remainders: [waits, leaves])], now: dawn)[0]
                .get()
            #expect(try await world.lease(on: .sandbox)?.origin == parcel.origin)
            #expect(try await world.number("SELECT count(*) FROM parcels WHERE origin_route_id IS NULL") == 1)
            let back = try #require(try await world.lease())
            #expect(back.origin == nil && back.members.map(\.status) == [.present])
        }
    }

    @Test("marks members as moved when their token changed or their environment was found meanwhile")
    func changed() async throws {
        try await withStores { world in
            let ids = try await world.register(1...4)
            try await world.sendCrossEnvironment()
            try await world.register(StoreWorld.registration("i1", token: 9))
            #expect(try await world.write(try await world.found(), of: ids[1]) == noone)
            _ = try await world.write(.unregistered(since: nil, reason: "Unregistered"), of: ids[2])
            let (origin, here) = (try await world.route(), try await world.route(.sandbox))
            let parcel = try #require(try await world.lease(on: .sandbox))
            #expect(
                parcel.members.map(\.status) == [.moved(to: origin), .moved(to: here), .retired, .present])
        }
    }

    @Test("adds its answers to the sample of the origin route, in the minute of its settle")
    func sample() async throws {
        try await withStores { world in
            try await world.register(1...4)
            try await world.sendCrossEnvironment()
            let parcel = try #require(try await world.lease(on: .sandbox))
            let suspicion = AnswerSample(answered: 4, suspected: 1)
            _ = try await world.stores.parcels.settle(
                [parcel.settling([(0..<4, TerminalStatus(.accepted))], sample: suspicion)], now: dawn + .seconds(90))[0]
                .get()
            let origin = try await world.route().value
            #expect(
                try await world.number(
                    """
                    SELECT answered * 100 + suspected FROM route_minutes WHERE route_id = \(origin)
                        AND minute = timestamptz '2026-10-31 12:01:00+00'
                    """) == 401)
            #expect(try await world.number("SELECT count(*) FROM route_minutes") == 1)
            let account = try await world.account()
            #expect(account.state == .finished && account.outcomes == [4, 0, 0, 0, 0, 0, 0])
        }
    }

    @Test("expires at its own deadline, although its pushes may live longer")
    func swept() async throws {
        try await withStores { world in
            try await world.register(1...1)
            try await world.sendCrossEnvironment()
            #expect(try await world.lease(on: .sandbox, scope: .expired, at: dawn + .seconds(299)) == nil)
            let parcel = try await world.lease(on: .sandbox, scope: .expired, at: dawn + .seconds(300))
            #expect(parcel?.origin != nil)
        }
    }
}

@Suite("A token that may belong to the sibling environment")
struct FoundTokenStoreTests {
    @Test("moves to the sibling when found, loses its suspicion, and ignores later origin answers")
    func found() async throws {
        try await withStores { world in
            let id = try await world.register(1...1)[0]
            _ = try await world.write(.suspected(reason: "BadDeviceToken"), of: id)
            #expect(try await world.write(try await world.found(), of: id).cleared == 1)
            let device = try await world.device("i1")
            #expect(device.environment == .sandbox && device.state == .active)
            #expect(try await world.number("SELECT count(*) FROM suspicions") == 0)
            #expect(try await world.feed().map(\.verdict) == [.suspected, .cleared, .environmentChanged])
            for verdict in [
                TokenVerdict.suspected(reason: "BadDeviceToken"), .unregistered(since: nil, reason: "Unregistered"),
                .suspectedInBoth(reason: "BadDeviceToken"), try await world.found(),
            ] {
                #expect(try await world.write(verdict, of: id) == noone)
            }
            #expect(try await world.device("i1") == device)
        }
    }

    @Test("appears once in the feed when it is found, with its old and its new environment")
    func reported() async throws {
        try await withStores { world in
            let id = try await world.register(1...1)[0]
            #expect(try await world.write(try await world.found(), of: id) == noone)
            #expect(try await world.device("i1").environment == .sandbox)
            #expect(try await world.write(try await world.found(), of: id) == noone)
            let feed = try await world.feed()
            #expect(feed.map(\.verdict) == [.environmentChanged] && feed.map(\.reason) == ["accepted"])
            #expect(feed.map(\.environments) == [EnvironmentChange(from: .production, to: .sandbox)])
            #expect(feed.map(\.installation) == ["i1"])
        }
    }

    @Test("stays in the found environment when its app repeats the old one; a new token does not")
    func registeredAgain() async throws {
        try await withStores { world in
            let id = try await world.register(1...1)[0]
            _ = try await world.write(try await world.found(), of: id)
            for hour in Int64(1)...2 {
                let again = try await world.register(
                    StoreWorld.registration("i1", token: 1), at: dawn + .seconds(hour * 3_600))
                #expect(again.change == .unchanged)
                #expect(again.record.environment == .sandbox)
                #expect(again.record.registeredAt == dawn + .seconds(hour * 3_600))
            }
            let replaced = try await world.register(StoreWorld.registration("i1", token: 2))
            #expect(replaced.change == .replaced && replaced.record.environment == .production)
        }
    }

    @Test("takes the environment that its app names after both environments suspected it")
    func notFound() async throws {
        try await withStores { world in
            let id = try await world.register(1...1)[0]
            #expect(try await world.write(.suspectedInBoth(reason: "BadDeviceToken"), of: id).suspected == 1)
            #expect(try await world.write(.suspectedInBoth(reason: "BadDeviceToken"), of: id) == noone)
            #expect(try await world.feed().map(\.verdict) == [.suspected])
            let registration = try await world.register(StoreWorld.registration("i1", token: 1, environment: .sandbox))
            #expect(registration.record.environment == .sandbox)
        }
    }

    @Test("ignores a suspicion in both environments that is older than its registration")
    func registeredSince() async throws {
        try await withStores { world in
            try await world.sender(.sandbox)
            let id = try await world.register(1...1)[0]
            let before = dawn + .seconds(-1)
            #expect(try await world.write(.suspectedInBoth(reason: "BadDeviceToken"), of: id, asOf: before) == noone)
            try await world.send(world.newMessage())
            #expect(try await world.lease()?.members.map(\.mayBeInSibling) == [true])
        }
    }
}
