import Basis
import Model
import Postgres
import Store
import TestSupport
import Testing
import WakeUpStore

extension FanOutWorld {
    /// Registers an installation for a user, or for nobody, with the token with which a device subscribes.
    fileprivate func register(_ installation: String, for user: String?, token device: String = "phone") async throws {
        var registration = DeviceRegistration(
            installation: installation, provider: .fcm, token: DeviceToken(bytes: Array(Self.token(device).utf8)))
        registration.profile[.user] = user.map { .set($0) } ?? .clear
        _ = try await world.stores.registry.register([registration], app: world.app)[0].get()
    }

    fileprivate func patch(user: String?) async throws {
        var patch = DevicePatch()
        patch.profile[.user] = user.map { .set($0) } ?? .clear
        let limits = DevicePatchLimits(tagsMax: 100, attributesBytesMax: 4_096, attributesMembersMax: 100)
        _ = try await world.stores.registry.patch(
            patch, app: world.app, installation: "phone", kind: nil, limits: limits)
    }

    /// The subscriptions, each as "installation path user".
    fileprivate func subscriptions() async throws -> [String] {
        try await world.pool.read(
            query(
                """
                SELECT r.installation || ' ' || w.path || ' ' || s.user_id FROM subscriptions s
                JOIN registrations r ON r.id = s.registration_id JOIN watches w ON w.id = s.watch_id ORDER BY 1
                """)
        ).map { row throws(PostgresError) in try row.text() }
    }
}

@Suite("Subscriptions of a device whose user changes")
struct NextUserTests {
    enum Change: String, CaseIterable {
        case registeredForAnother, registeredForNobody, patchedToAnother, patchedToNobody, movedToAnother, movedToNobody

        var isForBob: Bool { [.registeredForAnother, .patchedToAnother, .movedToAnother].contains(self) }
        var installation: String { [.movedToAnother, .movedToNobody].contains(self) ? "tablet" : "phone" }

        func make(in world: FanOutWorld) async throws {
            let user = isForBob ? "bob" : nil
            switch self {
            case .registeredForAnother, .registeredForNobody: try await world.register("phone", for: user)
            case .patchedToAnother, .patchedToNobody: try await world.patch(user: user)
            case .movedToAnother, .movedToNobody: try await world.register("tablet", for: user)
            }
        }
    }

    /// Ann's phone. Her token, bob's token and no token came with its subscriptions.
    private static func withPhone(_ body: (FanOutWorld) async throws -> Void) async throws {
        try await withFanOuts { world in
            try await world.register("phone", for: "ann")
            try await world.subscribe("phone", "/ann", .value, user: "ann")
            try await world.subscribe("phone", "/bob", .value, user: "bob")
            try await world.subscribe("phone", "/all", .value)
            try await body(world)
        }
    }

    @Test("end with a notice, except those of the new user and those of no user", arguments: Change.allCases)
    func ended(change: Change) async throws {
        try await Self.withPhone { world in
            try await change.make(in: world)
            let phone = change.installation
            var left = ["\(phone) /all ", "\(phone) /bob bob"]
            var notices = ["\(phone): clock-tower: permission_denied /ann"]
            if !change.isForBob {
                left.removeLast()
                notices.append("\(phone): clock-tower: permission_denied /bob")
            }
            #expect(try await world.subscriptions() == left)
            try await world.put("/ann", "1")
            try await world.fanOut()
            #expect(try await world.waiting().filter { $0.hasSuffix(": 1") } == [])
            try await world.receive()
            #expect(try await world.revoke() == notices.count)
            #expect(try await world.waiting() == notices)
            #expect(try await world.revoke() == 0)
            #expect(try await world.world.number("SELECT count(*) FROM ended_subscriptions") == 0)
        }
    }

    @Test("get nothing that was cut for them before the change", arguments: Change.allCases)
    func cutBefore(change: Change) async throws {
        try await Self.withPhone { world in
            try await world.put("/ann", "1")
            try await world.fanOut()
            #expect(try await world.waiting() == ["phone: 1"])
            try await change.make(in: world)
            #expect(try await world.send() == [])
        }
    }

    @Test("get nothing that a fan-out under way cuts for them", arguments: Change.allCases)
    func cutMeanwhile(change: Change) async throws {
        try await Self.withPhone { world in
            try await world.put("/ann", "1")
            #expect(try await world.fanOut(beside: { try await change.make(in: world) }) == 1)
            #expect(try await world.send().filter { $0.hasSuffix(": 1") } == [])
            try await world.fanOut()
            #expect(try await world.send().filter { $0.hasSuffix(": 1") } == [])
        }
    }

    @Test("stay while the user stays, and where the device had none")
    func kept() async throws {
        try await Self.withPhone { world in
            let all = ["phone /all ", "phone /ann ann", "phone /bob bob"]
            try await world.register("phone", for: "ann")
            try await world.patch(user: "ann")
            #expect(try await world.subscriptions() == all)
            try await world.register("tablet", for: "ann")
            #expect(try await world.subscriptions() == all.map { $0.replacing("phone", with: "tablet") })
        }
        try await withFanOuts { world in
            try await world.subscribe("phone", "/ann", user: "ann")
            try await world.register("phone", for: nil)
            try await world.register("phone", for: "bob")
            #expect(try await world.subscriptions() == ["phone /ann ann"])
            try await world.subscribe("early", "/ann", user: "ann")
            try await world.register("tablet", for: "bob", token: "early")
            #expect(try await world.subscriptions() == ["phone /ann ann", "tablet /ann ann"])
            try await world.register("phone", for: nil)
            #expect(try await world.subscriptions() == ["tablet /ann ann"])
        }
    }

    @Test("leave the new user's own to the same path, whichever is younger")
    func united() async throws {
        try await withFanOuts { world in
            try await world.register("phone", for: "ann")
            try await world.register("tablet", for: "bob", token: "other")
            try await world.subscribe("other", "/club", user: "bob")
            try await world.subscribe("phone", "/club", user: "ann")
            try await world.register("tablet", for: "bob")
            #expect(try await world.subscriptions() == ["tablet /club bob"])
        }
    }

    @Test("get one notice if several to one path ended, and none if the device subscribes again")
    func repeated() async throws {
        try await Self.withPhone { world in
            for user in ["bob", "carol"] {
                try await world.register("phone", for: user)
                try await world.subscribe("phone", "/ann", user: user)
            }
            try await world.register("phone", for: nil)
            #expect(try await world.revoke() == 4)
            #expect(
                try await world.waiting() == [
                    "phone: clock-tower: permission_denied /ann", "phone: clock-tower: permission_denied /bob",
                ])
            try await world.subscribe("phone", "/ann", user: "dave")
            #expect(try await world.send() == ["phone: clock-tower: permission_denied /bob"])
        }
    }

    @Test("end without a notice if their token is retired or their device is gone")
    func unreachable() async throws {
        for isGone in [true, false] {
            try await Self.withPhone { world in
                if !isGone { try await world.retire("phone") }
                try await world.patch(user: nil)
                if isGone {
                    _ = try await world.world.stores.registry.removeDevice(app: world.world.app, installation: "phone")
                }
                try await world.revoke()
                #expect(try await world.waiting() == [])
                #expect(try await world.world.number("SELECT count(*) FROM ended_subscriptions") == 0)
                #expect(try await world.subscriptions() == (isGone ? [] : ["phone /all "]))
            }
        }
    }

    @Test("get their notice also if their app is deleted in the same moment")
    func deletedApp() async throws {
        try await withFanOuts { world in
            try await world.register("phone", for: "ann")
            try await world.subscribe("phone", "/ann", user: "ann")
            try await world.patch(user: nil)
            #expect(try await world.world.stores.registry.deleteApp(world.world.app))
            _ = try await world.world.stores.sweeper.sweep()
            #expect(try await world.revoke() == 1)
            #expect(try await world.waiting() == ["phone: clock-tower: permission_denied /ann"])
            try await world.receive()
            while try await world.world.stores.sweeper.sweep() > 0 {}
            #expect(try await world.world.number("SELECT count(*) FROM apps") == 0)
        }
    }
}

@Suite("A former user's token that comes late to a device")
struct FormerUserTests {
    @Test("subscribes nothing after the device's user has changed", arguments: NextUserTests.Change.allCases)
    func refused(change: NextUserTests.Change) async throws {
        for hadSubscription in [true, false] {
            try await withFanOuts { world in
                try await world.register("phone", for: "ann")
                if hadSubscription { try await world.subscribe("phone", "/ann", .value, user: "ann") }
                try await change.make(in: world)
                #expect(try await world.subscribe("phone", "/ann", .value, user: "ann") == .formerUser)
                #expect(try await world.subscribe("phone", "/other", .value, user: "ann") == .formerUser)
                #expect(try await world.subscriptions() == [])
                #expect(try await world.subscribe("phone", "/bob", user: "bob") == .subscribed)
                #expect(try await world.subscribe("phone", "/all") == .subscribed)
                try await world.put("/ann", "1")
                try await world.fanOut()
                try await world.revoke()
                #expect(try await world.send().filter { $0.hasSuffix(": 1") } == [])
            }
        }
    }

    @Test("takes no subscription over from the next user")
    func noTakeover() async throws {
        try await withFanOuts { world in
            try await world.register("phone", for: "ann")
            try await world.register("phone", for: "bob")
            try await world.subscribe("phone", "/club", user: "bob")
            #expect(try await world.subscribe("phone", "/club", user: "ann") == .formerUser)
            #expect(try await world.subscriptions() == ["phone /club bob"])
        }
    }

    @Test("takes nothing over while the next user is being registered")
    func beside() async throws {
        try await withFanOuts { world in
            try await world.register("phone", for: "ann")
            try await world.subscribe("phone", "/club", user: "bob")
            let pool = world.world.pool
            let waiting = """
                SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
                """
            for path in ["/club", "/ann"] {
                try await world.register("phone", for: "ann")
                let late = try await pool.transaction {
                    transaction throws(PostgresError) -> Task<SubscriptionStore.Reply, any Error> in
                    _ = try await transaction.run(query("UPDATE registrations SET user_id = 'bob'"))
                    let late = Task { try await world.subscribe("phone", path, user: "ann") }
                    while try await pool.number(waiting) < 1 { await Task.yield() }
                    return late
                }
                #expect(try await late.value == .formerUser, "\(path)")
            }
            #expect(try await world.subscriptions() == [])
        }
    }

    @Test("subscribes again once the device is registered for its user")
    func registeredAgain() async throws {
        try await withFanOuts { world in
            try await world.register("phone", for: "ann")
            try await world.subscribe("phone", "/ann", user: "ann")
            try await world.register("phone", for: nil)
            try await world.register("phone", for: "ann")
            #expect(try await world.subscribe("phone", "/ann", user: "ann") == .subscribed)
            try await world.register("phone", for: "bob")
            #expect(try await world.subscribe("phone", "/ann", user: "ann") == .formerUser)
            try await world.patch(user: "ann")
            #expect(try await world.subscribe("phone", "/ann", user: "ann") == .subscribed)
            #expect(try await world.subscriptions() == ["phone /ann ann"])
        }
    }

    @Test("shuts nobody out where tokens name users differently")
    func otherNames() async throws {
        try await withFanOuts { world in
            func subscribe(_ user: String) async throws -> SubscriptionStore.Reply {
                try await world.subscribe("phone", "/\(user)", user: user)
            }
            try await world.register("phone", for: "42")
            #expect(try await subscribe("ann@example.com") == .subscribed)
            // The next user's app subscribes before its backend registers the user.
            #expect(try await subscribe("bob@example.com") == .subscribed)
            try await world.register("phone", for: "43")
            #expect(try await world.subscriptions() == [])
            #expect(try await subscribe("bob@example.com") == .subscribed)
            try await world.register("phone", for: "42")
            #expect(try await subscribe("ann@example.com") == .subscribed)
        }
    }

    @Test("subscribes where the device never had a registered user before")
    func neverRegistered() async throws {
        try await withFanOuts { world in
            try await world.register("phone", for: nil)
            try await world.subscribe("phone", "/ann", user: "ann")
            try await world.register("phone", for: "bob")
            #expect(try await world.subscribe("phone", "/ann", .value, user: "ann") == .subscribed)
        }
    }

    @Test("subscribes nothing after the device's token has moved on, or the device has a new one")
    func moved() async throws {
        try await withFanOuts { world in
            try await world.register("phone", for: "ann")
            try await world.register("phone", for: nil)
            try await world.register("tablet", for: "bob")
            #expect(try await world.subscribe("phone", "/ann", user: "ann") == .formerUser)
            // The app has the new token before its backend registers it.
            #expect(try await world.subscribe("new", "/ann", user: "ann") == .subscribed)
            #expect(try await world.subscribe("new", "/bob", user: "bob") == .subscribed)
            try await world.register("tablet", for: "bob", token: "new")
            #expect(try await world.subscriptions() == ["tablet /bob bob"])
            #expect(try await world.revoke() == 1)
            #expect(try await world.waiting() == ["tablet: clock-tower: permission_denied /ann"])
        }
    }

    @Test("names nobody any more once its user is erased, or the device is gone")
    func forgotten() async throws {
        try await withFanOuts { world in
            let count = "SELECT count(*) FROM former_users"
            for user in ["ann", "bob", "carol"] { try await world.register("phone", for: user) }
            #expect(try await world.world.number(count) == 2)
            _ = try await world.world.stores.registry.erase(user: "ann", app: world.world.app)
            #expect(try await world.world.number(count + " WHERE user_id = 'bob'") == 1)
            #expect(try await world.world.number(count) == 1)
            _ = try await world.world.stores.registry.removeDevice(app: world.world.app, installation: "phone")
            #expect(try await world.world.number(count) == 0)
        }
    }
}
