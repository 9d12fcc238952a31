import Basis
import Model
import Postgres
import Store
import Testing

private let dawn = StoreWorld.dawn

@Suite("A registered device")
struct RegisterTests {
    @Test("stores every field of its registration, with its badge and its times")
    func created() async throws {
        try await withStores { world in
            var registration = StoreWorld.registration("i1", token: 1, environment: .sandbox)
            registration.profile[.user] = .set("ada")
            registration.profile[.locale] = .set("en_GB")
            registration.profile[.timeZone] = .set("Europe/London")
            registration.profile[.appVersion] = .set("5.1")
            registration.profile.tags = .set(["news", #"a "quoted\" one"#, "", "{x,y}", "NULL"])
            registration.profile.attributes = .set(Array(#"{"plan":"gold"}"#.utf8))
            registration.badge = 3
            let device = try await world.register(registration)
            #expect(device.change == .created)
            let record = try await world.device("i1")
            #expect(record == device.record)
            #expect(record.token == registration.token)
            #expect(record.state == .active)
            #expect(record.badge == 3)
            #expect(record.environment == .sandbox)
            #expect(record.topic == StoreWorld.topic)
            #expect(record.registeredAt == dawn && record.createdAt == dawn)
            #expect(
                [
                    record.profile[.user], record.profile[.locale], record.profile[.timeZone],
                    record.profile[.appVersion],
                ]
                    == ["ada", "en_GB", "Europe/London", "5.1"])
            #expect(.set(record.profile.tags) == registration.profile.tags)
            #expect(String(decoding: record.profile.attributes, as: UTF8.self) == #"{"plan": "gold"}"#)
        }
    }

    @Test("gets a new registration time, but no new row version, when it repeats a registration")
    func unchanged() async throws {
        try await withStores { world in
            var registration = StoreWorld.registration("i1", token: 1)
            registration.profile.attributes = .set(Array(#"{"b":1,"a":[1,2]}"#.utf8))
            registration.asOf = dawn
            try await world.register(registration)
            let version = "SELECT xmin::text::int8 FROM registrations"
            let before = try await world.number(version)
            registration.profile.attributes = .set(Array(#"{ "a": [1, 2], "b": 1 }"#.utf8))
            registration.asOf = dawn + .seconds(60)
            let device = try await world.register(registration, at: dawn + .seconds(60))
            #expect(device.change == .unchanged)
            #expect(device.record.registeredAt == dawn + .seconds(60))
            #expect(device.record.createdAt == dawn)
            // Locking the row leaves its version in place.
            #expect(try await world.number(version) == before)
        }
    }

    @Test("sets the badge at each registration that has one, unless it is stale")
    func badge() async throws {
        try await withStores { world in
            var registration = StoreWorld.registration("i1", token: 1)
            registration.badge = 3
            try await world.register(registration)
            registration.badge = nil
            #expect(try await world.register(registration).record.badge == 3)
            registration.badge = 0
            #expect(try await world.register(registration).record.badge == 0)
            registration.badge = 9
            registration.profile[.user] = .set("ada")
            #expect(try await world.register(registration).record.badge == 9)
            registration.badge = 1
            registration.asOf = dawn + .seconds(-60)
            let stale = try await world.register(registration)
            #expect(stale.change == .stale && stale.record.badge == 9)
        }
    }

    @Test("keeps its badge and tags when its token is replaced, and the feed reports the replacement")
    func replaced() async throws {
        try await withStores { world in
            var registration = StoreWorld.registration("i1", token: 1)
            registration.profile.tags = .set(["news"])
            registration.badge = 4
            try await world.register(registration)
            let device = try await world.register(StoreWorld.registration("i1", token: 2))
            #expect(device.change == .replaced)
            #expect(device.record.badge == 4)
            #expect(device.record.profile.tags == ["news"])
            let feed = try await world.feed()
            #expect(feed.map(\.verdict) == [.replaced])
            #expect(feed.map(\.installation) == ["i1"])
        }
    }

    @Test("takes its token over from the installation that had it")
    func moved() async throws {
        try await withStores { world in
            try await world.register(StoreWorld.registration("old", token: 1))
            let device = try await world.register(StoreWorld.registration("new", token: 1))
            #expect(device.change == .moved && device.isNew)
            #expect(try await world.device("old").state == .retired)
            let back = try await world.register(StoreWorld.registration("old", token: 1))
            #expect(back.change == .moved && !back.isNew)
            try await world.register(StoreWorld.registration("new", token: 1))
            #expect(try await world.device("new").state == .active)
            let feed = try await world.feed()
            #expect(feed.map(\.verdict) == [.moved, .moved, .moved])
            #expect(feed.map(\.installation) == ["old", "new", "old"])
        }
    }

    @Test("may hold the same token as a device of another app")
    func otherApp() async throws {
        try await withStores { world in
            let other = try await world.stores.registry.createApp(slug: "other", name: "Other").id
            try await world.register(StoreWorld.registration("i1", token: 1))
            #expect(
                try await world.register(StoreWorld.registration("i1", token: 1), app: other).change == .created)
            #expect(try await world.device("i1").state == .active)
        }
    }

    @Test("ignores a registration that is older than the stored one")
    func stale() async throws {
        try await withStores { world in
            var registration = StoreWorld.registration("i1", token: 2)
            registration.asOf = dawn
            try await world.register(registration)
            var old = StoreWorld.registration("i1", token: 1)
            old.asOf = dawn + .seconds(-1)
            let device = try await world.register(old, at: dawn + .seconds(9))
            #expect(device.change == .stale)
            #expect(device.record.token == StoreWorld.token(2))
            #expect(device.record.registeredAt == dawn)
        }
    }

    @Test("becomes active again when it registers, and loses its suspicion")
    func revived() async throws {
        try await withStores { world in
            let ids = try await world.register(1...2)
            try await world.pool.script(
                """
                UPDATE registrations SET state = 3 WHERE id = \(ids[0].value);
                UPDATE registrations SET state = 2 WHERE id = \(ids[1].value);
                INSERT INTO suspicions SELECT id, route_id, 1, 'BadDeviceToken', now() FROM registrations WHERE state = 2
                """)
            try await world.register(1...2)
            #expect(try await world.device("i1").state == .active)
            #expect(try await world.device("i2").state == .active)
            #expect(try await world.number("SELECT count(*) FROM suspicions") == 0)
        }
    }

    @Test("keeps a separate registration for each kind of token")
    func kinds() async throws {
        try await withStores { world in
            try await world.register(StoreWorld.registration("i1", token: 1))
            try await world.register(StoreWorld.registration("i1", token: 2, kind: .voip))
            let devices = try await world.stores.registry.devices(app: world.app, installation: "i1")
            #expect(devices.map(\.kind) == [.alert, .voip])
            #expect(try await world.stores.registry.removeDevice(app: world.app, installation: "i1") == 2)
            #expect(try await world.stores.registry.devices(app: world.app, installation: "i1").isEmpty)
            #expect(try await world.number("SELECT count(*) FROM registration_pulse") == 0)
        }
    }

    @Test("counts as another device when its name differs only in Unicode normalization")
    func spelling() async throws {
        try await withStores { world in
            try await world.register(StoreWorld.registration("caf\u{e9}", token: 1))
            let other = try await world.register(StoreWorld.registration("cafe\u{301}", token: 1))
            #expect(other.change == .moved)
            #expect(try await world.device("caf\u{e9}").state == .retired)
        }
    }
}

@Suite("A batch of registrations")
struct RegisterBatchTests {
    @Test("lets two devices swap their tokens")
    func swap() async throws {
        try await withStores { world in
            try await world.register(1...2)
            let batch = [StoreWorld.registration("i1", token: 2), StoreWorld.registration("i2", token: 1)]
            let devices = try await world.stores.registry.register(batch, app: world.app, now: dawn).map {
                try $0.get()
            }
            #expect(devices.map(\.record.state) == [.active, .active])
            #expect(try await world.device("i1").token == StoreWorld.token(2))
            #expect(try await world.device("i2").token == StoreWorld.token(1))
        }
    }

    @Test("lets tokens move along a chain of devices, in either order", arguments: [false, true])
    func chain(isReversed: Bool) async throws {
        try await withStores { world in
            try await world.register(1...3)
            var batch = [
                StoreWorld.registration("i1", token: 4), StoreWorld.registration("i2", token: 1),
                StoreWorld.registration("i3", token: 2),
            ]
            if isReversed { batch.reverse() }
            for answer in await world.stores.registry.register(batch, app: world.app, now: dawn) {
                _ = try answer.get()
            }
            let seeds = [4, 1, 2]
            for (number, seed) in zip(1...3, seeds) {
                let device = try await world.device("i\(number)")
                #expect(device.token == StoreWorld.token(seed) && device.state == .active)
            }
        }
    }

    @Test("stores the longest text of each profile field, and refuses a longer one", arguments: ProfileField.allCases)
    func longestTexts(field: ProfileField) async throws {
        try await withStores { world in
            var registration = StoreWorld.registration("i1", token: 1)
            let longest = String(repeating: "x", count: field.bytesMax)
            registration.profile[field] = .set(longest)
            let stored = try await world.register(registration).record.profile[field]
            #expect(stored == longest)
            registration.profile[field] = .set(longest + "x")
            let answer = await world.stores.registry.register([registration], app: world.app)[0]
            #expect(throws: StoreFault.invalid(constraint: "registrations_\(field.column)_check")) { try answer.get() }
        }
    }

    @Test("answers in the order of its registrations")
    func order() async throws {
        try await withStores { world in
            try await world.register(StoreWorld.registration("i7", token: 7))
            let batch = (1...20).reversed().map { StoreWorld.registration("i\($0)", token: $0) }
            let devices = try await world.stores.registry.register(batch, app: world.app).map { try $0.get() }
            #expect(devices.map(\.record.installation) == batch.map(\.installation))
            #expect(devices.filter { $0.change == .unchanged }.map(\.record.installation) == ["i7"])
        }
    }

    @Test("registers all other devices when one row is invalid")
    func oneBadRow() async throws {
        try await withStores { world in
            var batch = (1...100).map { StoreWorld.registration("i\($0)", token: $0) }
            batch[41].profile[.locale] = .set(String(repeating: "x", count: 65))
            let answers = await world.stores.registry.register(batch, app: world.app)
            for (place, answer) in answers.enumerated() {
                switch answer {
                case .success(let device): #expect(place != 41 && device.change == .created)
                case .failure(let fault):
                    #expect(place == 41)
                    #expect(fault == .invalid(constraint: "registrations_locale_check"))
                }
            }
        }
    }

    @Test("registers all other devices when one text contains a NUL")
    func oneNUL() async throws {
        try await withStores { world in
            let batch = [StoreWorld.registration("i\u{0}", token: 1), StoreWorld.registration("i2", token: 2)]
            let answers = await world.stores.registry.register(batch, app: world.app)
            guard case .failure(.invalid) = answers[0], case .success = answers[1] else {
                Issue.record("\(answers)")
                return
            }
        }
    }

    @Test("gives up on a locked row after its timeout, and registers the other devices")
    func lockedRow() async throws {
        try await withStores { world in
            try await world.register(1...3)
            try await world.pool.transaction { transaction async throws(PostgresError) in
                _ = try await transaction.run(
                    query("SELECT 1 FROM registrations WHERE installation = 'i2' FOR UPDATE"))
                let batch = (1...3).map { StoreWorld.registration("i\($0)", token: $0) }
                let answers = await world.stores.registry.register(batch, app: world.app)
                #expect(answers.map { (try? $0.get()) != nil } == [true, false, true])
                #expect(answers[1] == .failure(.contended))
            }
        }
    }

    @Test("fails when its app does not exist")
    func unknownApp() async throws {
        try await withStores { world in
            let answers = await world.stores.registry.register(
                [StoreWorld.registration("i1", token: 1)], app: AppID(999))
            #expect(answers == [.failure(.unknownApp)])
        }
    }
}

@Suite("A race between registrations of several processes")
struct RegisterRaceTests {
    @Test("leaves one device, without an error, when all register the same new installation")
    func sameInstallation() async throws {
        try await withStores { world in
            let processes = [Stores(pool: world.pool), Stores(pool: world.pool)]
            for round in 0..<20 {
                let answers = await withTaskGroup(of: [Result<RegisteredDevice, StoreFault>].self) { group in
                    for (number, process) in processes.enumerated() {
                        group.addTask {
                            await process.registry.register(
                                [StoreWorld.registration("r\(round)", token: round * 2 + number)], app: world.app)
                        }
                    }
                    return await group.reduce(into: []) { $0 += $1 }
                }
                for answer in answers { _ = try answer.get() }
                #expect(try await world.stores.registry.devices(app: world.app, installation: "r\(round)").count == 1)
            }
        }
    }

    @Test("leaves each token with one live device when two devices swap tokens")
    func swap() async throws {
        try await withStores { world in
            try await world.register(1...2)
            let processes = [Stores(pool: world.pool), Stores(pool: world.pool)]
            for round in 0..<20 {
                let (first, second) = round % 2 == 0 ? (2, 1) : (1, 2)
                await withTaskGroup(of: Void.self) { group in
                    for (process, (name, seed)) in zip(processes, [("i1", first), ("i2", second)]) {
                        group.addTask {
                            let answers = await process.registry.register(
                                [StoreWorld.registration(name, token: seed)], app: world.app)
                            #expect((try? answers[0].get()) != nil, "\(answers)")
                        }
                    }
                }
                #expect(try await world.device("i1").token == StoreWorld.token(first))
                #expect(try await world.device("i2").token == StoreWorld.token(second))
                let live = try await world.number("SELECT count(*) FROM registrations WHERE state < 3")
                #expect(live == 2)
            }
        }
    }

    @Test("ends without a deadlock when batches have opposite orders")
    func oppositeOrders() async throws {
        try await withStores { world in
            try await world.register(1...50)
            let batch = (1...50).map { StoreWorld.registration("i\($0)", token: $0 + 1_000) }
            await withTaskGroup(of: Void.self) { group in
                for turn in 0..<8 {
                    group.addTask {
                        let own = turn % 2 == 0 ? batch : Array(batch.reversed())
                        let answers = await world.stores.registry.register(own, app: world.app)
                        #expect(answers.allSatisfy { (try? $0.get()) != nil })
                    }
                }
            }
            #expect(try await world.number("SELECT count(*) FROM registrations WHERE state = 1") == 50)
        }
    }
}

@Suite("An app that reaches its limit of topics")
struct TopicBoundTests {
    private func registration(_ number: Int, topic: String) -> DeviceRegistration {
        DeviceRegistration(
            installation: "i\(number)", provider: .apns, environment: .production, topic: topic,
            token: StoreWorld.token(number))
    }

    @Test("rejects only registrations with a further topic, and affects no other app")
    func bounded() async throws {
        try await withStores { world in
            try await world.pool.script(
                """
                INSERT INTO routes (app_id, provider, environment, topic, number)
                SELECT \(world.app.value), 1, 1, 't' || n, n FROM generate_series(1, \(StoreFault.routesPerAppMax - 1)) AS n
                """)
            let batch = [
                registration(1, topic: "last"), registration(2, topic: "one too many"), registration(3, topic: "t7"),
            ]
            let answers = await world.stores.registry.register(batch, app: world.app)
            #expect((try? answers[0].get()) != nil && (try? answers[2].get()) != nil)
            #expect(answers[1] == .failure(.invalid(constraint: StoreFault.routesPerApp)))
            // This process has not cached the new route yet.
            let other = Stores(pool: world.pool).registry
            let known = await other.register([registration(4, topic: "last")], app: world.app)
            #expect((try? known[0].get()) != nil)
            let app = try await world.stores.registry.createApp(slug: "belfry", name: "Belfry").id
            // The sibling route of an existing topic does not count as a further topic.
            var sandbox = registration(6, topic: "t9")
            sandbox.environment = .sandbox
            let duplicate = await other.register([sandbox], app: world.app)
            #expect((try? duplicate[0].get()) != nil)
            let neighbour = await world.stores.registry.register([registration(5, topic: "new")], app: app)
            #expect((try? neighbour[0].get()) != nil)
        }
    }
}
