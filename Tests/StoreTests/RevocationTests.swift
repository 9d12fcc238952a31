import Basis
import Encodings
import JSON
import Model
import Postgres
import QueueRules
import Reactor
import Signing
import Store
import TestSupport
import Testing
import WakeUpRules
import WakeUpStore

@Suite("Subscriptions whose token another installation registers")
struct AdoptedSubscriptionTests {
    private static func registration(_ installation: String, _ device: String) -> DeviceRegistration {
        DeviceRegistration(
            installation: installation, kind: .alert, provider: .fcm, environment: .production, topic: "",
            token: DeviceToken(bytes: Array(FanOutWorld.token(device).utf8)))
    }

    @Test("follow it and are told once more")
    func adopted() async throws {
        try await withFanOuts { world in
            try await world.subscribe("early", "/a", .childEvent)
            try await world.put("/a/x", "1")
            try await world.fanOut()
            try await world.world.register(Self.registration("phone", "early"))
            #expect(try await world.world.feed().isEmpty)
            #expect(try await world.world.number("SELECT count(*) FROM registrations") == 1)
            try await world.receive()
            try await world.fanOut()
            #expect(try await world.waiting() == ["phone: too big"])
            try await world.receive()
            try await world.put("/a/y", "1")
            try await world.fanOut()
            #expect(try await world.waiting() == ["phone: +y"])
        }
    }

    @Test("follow it also while a fan-out reads them, and are told once more")
    func adoptedMeanwhile() async throws {
        try await withFanOuts { world in
            try await world.subscribe("early", "/a", .value)
            try await world.put("/a", "1")
            let register = { @Sendable in _ = try await world.world.register(Self.registration("phone", "early")) }
            #expect(try await world.fanOut(beside: register) == 1)
            try await world.receive()
            #expect(try await world.fanOut() == 1)
            #expect(try await world.waiting() == ["phone: 1"])
            #expect(try await world.dueWatches() == 0)
        }
    }

    @Test("become one for each path, the younger of two")
    func united() async throws {
        try await withFanOuts { world in
            try await world.world.register(Self.registration("phone", "old"))
            try await world.subscribe("old", "/a", .noData)
            try await world.subscribe("old", "/b", .noData)
            try await world.subscribe("new", "/a", .value)
            try await world.world.register(Self.registration("phone", "new"))
            #expect(try await world.world.number("SELECT count(*) FROM subscriptions") == 2)
            #expect(try await world.world.number("SELECT count(*) FROM subscriptions WHERE mode = 2") == 1)
            #expect(try await world.world.number("SELECT count(DISTINCT registration_id) FROM subscriptions") == 1)
        }
    }
}

@Suite("Devices with subscriptions that end")
struct RevocationTests {
    @Test("hear of an expiry once, and of nothing after it")
    func expired() async throws {
        try await withFanOuts { world in
            try await world.subscribe("short", "/a", lifetime: .seconds(60))
            try await world.subscribe("long", "/a")
            #expect(try await world.revoke() == 0)
            #expect(try await world.revoke(after: .seconds(120)) == 1)
            #expect(try await world.waiting() == ["short: clock-tower: expired /a"])
            #expect(try await world.revoke(after: .seconds(120)) == 0)
            try await world.put("/a", "1")
            try await world.fanOut()
            #expect(try await world.waiting() == ["long: changed", "short: clock-tower: expired /a"])
        }
    }

    @Test("wait for one job, however often the rules change")
    func oneJob() async throws {
        try await withFanOuts { world in
            for device in ["one", "two"] { try await world.subscribe(device, "/a") }
            for rules in [#"{".read": true}"#, "{}", #"{".read": false}"#] { try await world.setRules(rules) }
            #expect(try await world.world.number("SELECT count(*) FROM revocations") == 1)
            try await world.subscribe("three", "/a")
            #expect(try await world.revoke() == 2)
            #expect(try await world.world.number("SELECT count(*) FROM revocations") == 0)
            try await world.setRules("{}")
            #expect(try await world.revoke() == 1)
        }
    }

    @Test("hear that the rules were closed also if they subscribed in the same moment")
    func closedMeanwhile() async throws {
        try await withFanOuts { world in
            try await world.subscribe("early", "/a")
            let (pool, revision) = (world.world.pool, Int64(1))
            let waiting = """
                SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
                """
            let (late, closed) = try await pool.transaction {
                transaction throws(PostgresError) -> (Task<SubscriptionStore.Reply, any Error>, Task<Void, any Error>)
                in
                _ = try await transaction.run(query("LOCK TABLE subscription_progress IN SHARE MODE"))
                let late = Task { try await world.subscribe("late", "/a", rulesRevision: revision) }
                while try await pool.number(waiting) < 1 { await Task.yield() }
                let closed = Task { try await world.setRules("{}") }
                while try await pool.number(waiting) < 2 { await Task.yield() }
                return (late, closed)
            }
            #expect(try await late.value == .subscribed)
            try await closed.value
            #expect(try await world.subscribe("later", "/a", rulesRevision: revision) == .rulesChanged)
            try await world.revoke()
            #expect(
                try await world.waiting() == ["early", "late"].map { $0 + ": clock-tower: permission_denied /a" })
            #expect(try await world.world.number("SELECT count(*) FROM subscriptions") == 0)
        }
    }

    @Test("hear that the rules no longer let them read, after a change of data or rules")
    func denied() async throws {
        try await withFanOuts { world in
            try await world.setRules(#"{"$owner": {".read": "auth.sub == $owner || root.open == true"}}"#)
            try await world.put("/open", "true")
            for user in ["ann", "bob"] { try await world.subscribe("phone-\(user)", "/ann", user: user) }
            try await world.subscribe("nobody", "/ann")
            try await world.put("/ann/x", "1")
            try await world.fanOut()
            #expect(try await world.waiting() == ["nobody: changed", "phone-ann: changed", "phone-bob: changed"])
            try await world.receive()
            try await world.put("/open", "false")
            try await world.put("/ann/x", "2")
            try await world.fanOut()
            #expect(
                try await world.waiting() == [
                    "nobody: clock-tower: permission_denied /ann", "phone-ann: changed",
                    "phone-bob: clock-tower: permission_denied /ann",
                ])
            try await world.receive()
            try await world.setRules(#"{"$owner": {".read": false}}"#)
            #expect(try await world.revoke() == 1)
            #expect(try await world.waiting() == ["phone-ann: clock-tower: permission_denied /ann"])
            #expect(try await world.world.number("SELECT count(*) FROM subscriptions") == 0)
        }
    }

    /// Rules at `/a` that hold for a user without the claim, or for any user. The subscription kept `sub` alone.
    static let rulesWithOtherClaims = [
        "auth.role == null", "auth.role != 'guest'", "auth.banned != true", "!(auth.banned == true)",
        "auth.org.id == null", "root.banned[auth.role] == null", "auth.role == null || auth.role != null",
        "auth.sub == 'ann' && auth.banned != true",
    ]

    @Test("hear that new rules ask for a claim that was not kept", arguments: rulesWithOtherClaims)
    func unknownClaim(rule: String) async throws {
        try await withFanOuts { world in
            try await world.setRules(#"{"a": {".read": "auth.sub == 'ann'"}}"#)
            try await world.subscribe("swept", "/a", user: "ann")
            try await world.setRules(#"{"a": {".read": "\#(rule)"}}"#)
            #expect(try await world.revoke() == 1)
            #expect(try await world.waiting() == ["swept: clock-tower: permission_denied /a"])
            try await world.receive()
            try await world.subscribe("woken", "/a", user: "ann")
            try await world.put("/a", "1")
            try await world.fanOut()
            #expect(try await world.waiting() == ["woken: clock-tower: permission_denied /a"])
            #expect(try await world.world.number("SELECT count(*) FROM subscriptions") == 0)
        }
    }

    @Test("hear nothing if the claim was kept as missing, or all claims were kept")
    func knownClaim() async throws {
        try await withFanOuts { world in
            for kept in ["claims = '{\"sub\": \"ann\", \"role\": null}'", "has_all_claims = true"] {
                try await world.subscribe("phone", "/a", user: "ann")
                try await world.world.pool.script("UPDATE subscriptions SET \(kept)")
                try await world.setRules(#"{"a": {".read": "auth.role == null"}}"#)
                #expect(try await world.revoke() == 0, "\(kept)")
                try await world.put("/a", "\(kept.utf8.count)")
                try await world.fanOut()
                #expect(try await world.send() == ["phone: changed"], "\(kept)")
                #expect(try await world.unsubscribe("phone", "/a", user: "ann"))
            }
        }
    }

    @Test("get no push by data that a claim looks up if the subscription did not keep the claim")
    func unknownClaimAtLease() async throws {
        try await withFanOuts { world in
            try await world.subscribe("phone", "/a", .value, user: "ann")
            try await world.put("/a", "1")
            try await world.fanOut()
            #expect(try await world.waiting() == ["phone: 1"])
            // This stands for changed rules whose revocation has not come to this subscription.
            try await world.world.pool.script(
                """
                UPDATE node_rules SET revision = revision + 1,
                    source = '{"a": {".read": "root.banned[auth.role] == null"}}'
                """)
            #expect(try await world.send() == [])
        }
    }

    @Test("hear it also while their last push is being tried, which is not sent any more")
    func deniedMeanwhile() async throws {
        try await withFanOuts { world in
            try await world.setRules(#"{"a": {".read": "data.open == true"}}"#)
            try await world.put("/a", #"{"open": true}"#)
            try await world.subscribe("phone", "/a", .value)
            try await world.put("/a/x", "1")
            try await world.fanOut()
            let first = try await world.waiting()
            #expect(first == [#"phone: {"open":true,"x":1}"#])
            try await world.put("/a/open", "false")
            try await world.fanOut()
            #expect(try await world.send() == ["phone: clock-tower: permission_denied /a"])
            #expect(try await world.world.number("SELECT count(*) FROM subscriptions") == 0)
        }
    }

    @Test("hear nothing of the kind if their user subscribed anew in the same moment")
    func subscribedAnew() async throws {
        try await withFanOuts { world in
            try await world.setRules(#"{"a": {".read": "auth.sub == data.owner"}}"#)
            try await world.put("/a", #"{"owner": "ann"}"#)
            try await world.subscribe("phone", "/a", user: "bob")
            try await world.put("/a/x", "1")
            let (isLocked, locked) = AsyncStream.makeStream(of: Void.self)
            let (waits, waiting) = AsyncStream.makeStream(of: Void.self)
            async let subscribing: Void = world.world.pool.transaction { transaction throws(PostgresError) in
                _ = try await transaction.run(query(#"UPDATE subscriptions SET claims = '{"sub": "ann"}'"#))
                locked.finish()
                for await _ in waits {}
                _ = try await transaction.runAndCommit([query("SELECT 1")])
            }
            for await _ in isLocked {}
            async let fanOut = world.fanOut()
            try await eventually("the fan-out to wait for the subscription") {
                try await world.world.number(
                    """
                    SELECT count(*) FROM pg_stat_activity
                    WHERE datname = current_database() AND wait_event_type = 'Lock'
                    """) > 0
            }
            waiting.finish()
            try await subscribing
            _ = try await fanOut
            let pushes = try await world.waiting()
            #expect(pushes == ["phone: changed"])
        }
    }

    @Test("hear that the node has become too heavy, and not its data")
    func heavy() async throws {
        try await withFanOuts { world in
            try await world.subscribe("phone", "/a", .value)
            var change = AppChange()
            change.wakeUp.weightLeavesMax = 1
            _ = try await world.world.stores.registry.changeApp(world.world.app, change)
            try await world.put("/a", #"{"x": 1, "y": 2}"#)
            try await world.fanOut()
            #expect(try await world.waiting() == [])
            #expect(try await world.revoke() == 1)
            #expect(try await world.waiting() == ["phone: clock-tower: too_big /a"])
        }
    }

    @Test("stay if they were made after the node had become lighter, and end if it is too heavy again")
    func lighter() async throws {
        try await withFanOuts { world in
            try await world.subscribe("phone", "/a", .value)
            var change = AppChange()
            change.wakeUp.weightLeavesMax = 1
            _ = try await world.world.stores.registry.changeApp(world.world.app, change)
            try await world.put("/a", #"{"x": 1, "y": 2}"#)
            try await world.fanOut()
            try await world.put("/a/y", "null")
            try await world.subscribe("tablet", "/a", .value)
            #expect(try await world.revoke() == 1)
            #expect(try await world.waiting() == ["phone: clock-tower: too_big /a"])
            try await world.put("/a/y", "3")
            try await world.fanOut()
            #expect(try await world.revoke() == 1)
        }
    }

    @Test("hear that their app was deleted, before its rows are removed")
    func deleted() async throws {
        try await withFanOuts { world in
            try await world.subscribe("phone", "/a")
            let app = world.world.app
            #expect(try await world.world.stores.registry.deleteApp(app))
            try await world.put("/a", "1")
            try await world.fanOut()
            _ = try await world.world.stores.sweeper.sweep()
            #expect(try await world.world.number("SELECT count(*) FROM apps WHERE deleted_at IS NOT NULL") == 1)
            #expect(try await world.revoke() == 1)
            #expect(try await world.waiting() == ["phone: clock-tower: namespace_does_not_exist /a"])
            _ = try await world.world.stores.sweeper.sweep()
            #expect(try await world.waiting().count == 1)
            try await world.receive()
            while try await world.world.stores.sweeper.sweep() > 0 {}
            for table in ["apps", "nodes", "watches", "subscriptions", "subscription_progress", "due_watches"] {
                #expect(try await world.world.number("SELECT count(*) FROM \(table)") == 0, "\(table)")
            }
        }
    }

    @Test("lose the subscriptions of a user who is erased")
    func erased() async throws {
        try await withFanOuts { world in
            for user in ["ann", "bob"] { try await world.subscribe("phone-\(user)", "/a", user: user) }
            _ = try await world.world.stores.registry.erase(user: "ann", app: world.world.app)
            try await world.put("/a", "1")
            try await world.fanOut()
            #expect(try await world.waiting() == ["phone-bob: changed"])
        }
    }

    @Test("hear that wake-up was switched off, but not those that subscribe after it")
    func disabled() async throws {
        try await withFanOuts { world in
            for device in ["one", "two"] { try await world.subscribe(device, "/\(device)") }
            var change = AppChange()
            change.wakeUp.isEnabled = false
            _ = try await world.world.stores.registry.changeApp(world.world.app, change)
            change.wakeUp.isEnabled = true
            _ = try await world.world.stores.registry.changeApp(world.world.app, change)
            try await world.subscribe("three", "/three")
            #expect(try await world.revoke() == 2)
            #expect(
                try await world.waiting() == ["one: clock-tower: disabled /one", "two: clock-tower: disabled /two"])
            #expect(try await world.world.number("SELECT count(*) FROM subscriptions") == 1)
        }
    }
}
