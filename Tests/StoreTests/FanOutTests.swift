import Basis
import Encodings
import JSON
import Model
import Postgres
import QueueRules
import Reactor
import Signing
import Store
import Testing
import WakeUpRules

@Suite("A change of a path that has subscriptions")
struct FanOutTests {
    @Test("reaches those at, above and below it once, and none beside it")
    func reach() async throws {
        try await withFanOuts { world in
            try await world.subscribe("root", "/")
            try await world.subscribe("node", "/a/b")
            try await world.subscribe("below", "/a/b/c")
            try await world.subscribe("beside", "/a/b-")
            try await world.put("/a/b", #"{"c": 1}"#)
            try await world.fanOut()
            #expect(try await world.waiting() == ["below: changed", "node: changed", "root: changed"])
            try await world.receive()
            try await world.put("/a/b", #"{"c": 1}"#)
            #expect(try await world.fanOut() == 0)
            try await world.put("/a/b/d", "1")
            try await world.fanOut()
            #expect(try await world.waiting() == ["node: changed", "root: changed"])
            #expect(try await world.dueWatches() == 0)
        }
    }

    @Test("waits for their push under way, and is merged into the next one")
    func merging() async throws {
        try await withFanOuts { world in
            try await world.subscribe("value", "/a", .value)
            try await world.subscribe("children", "/a", .childEvent)
            try await world.put("/a", #"{"x": 1}"#)
            try await world.fanOut()
            let first = ["children: +x", #"value: {"x":1}"#]
            #expect(try await world.waiting() == first)
            try await world.put("/a/x", "2")
            try await world.put("/a/y", "1")
            try await world.put("/a/z", "1")
            try await world.put("/a/z", "null")
            #expect(try await world.fanOut() == 0)
            #expect(try await world.waiting() == first)
            #expect(try await world.dueWatches() == 1)
            try await world.receive()
            try await world.fanOut()
            #expect(try await world.waiting() == ["children: +y ~x -z", #"value: {"x":2,"y":1}"#])
            try await world.receive()
            #expect(try await world.fanOut() == 0)
            #expect(try await world.dueWatches() == 0)
        }
    }

    @Test("reaches none that was made later, and not twice one that was refreshed")
    func start() async throws {
        try await withFanOuts { world in
            try await world.subscribe("early", "/a", .childEvent)
            try await world.put("/a/x", "1")
            try await world.subscribe("late", "/a", .childEvent)
            try await world.fanOut()
            #expect(try await world.waiting() == ["early: +x"])
            try await world.receive()
            try await world.put("/a/y", "1")
            #expect(try await world.subscribe("late", "/a", .childEvent) == .subscribed)
            try await world.fanOut()
            #expect(try await world.waiting() == ["early: +y", "late: +y"])
        }
    }

    @Test("names no child to one that asks for children only now")
    func overflow() async throws {
        try await withFanOuts { world in
            try await world.subscribe("device", "/a", .value)
            try await world.put("/a/x", "1")
            try await world.subscribe("device", "/a", .childEvent)
            try await world.fanOut()
            #expect(try await world.waiting() == ["device: too big"])
        }
    }

    @Test("names no child once after a push about children was discarded")
    func discarded() async throws {
        try await withFanOuts { world in
            try await world.subscribe("device", "/a", .childEvent)
            for child in ["x", "y", "z"] {
                try await world.put("/a/\(child)", "1")
                try await world.fanOut()
                #expect(try await world.waiting() == ["device: " + (child == "y" ? "too big" : "+\(child)")])
                try await world.receive(
                    as: child == "x" ? TerminalStatus(.gaveUp, "retries_exhausted") : TerminalStatus(.accepted))
            }
        }
    }

    @Test("names no child once after the history of its last push was removed")
    func forgotten() async throws {
        try await withFanOuts { world in
            try await world.subscribe("device", "/a", .childEvent)
            for child in ["x", "y"] {
                try await world.put("/a/\(child)", "1")
                try await world.fanOut()
                #expect(try await world.waiting() == ["device: " + (child == "y" ? "too big" : "+\(child)")])
                try await world.receive()
                try await world.world.pool.script("DELETE FROM push_history")
            }
        }
    }

    @Test("reaches each of many once, slice by slice")
    func slices() async throws {
        try await withFanOuts { world in
            for number in 10..<30 { try await world.subscribe("device-\(number)", "/a", .childEvent) }
            try await world.put("/a/x", "1")
            #expect(try await world.fanOut(subscriptionsMax: 7) == 3)
            let all = (10..<30).map { "device-\($0): +x" }
            #expect(try await world.waiting() == all)
            #expect(try await world.dueWatches() == 0)
            try await world.put("/a/y", "1")
            #expect(try await world.fanOut(subscriptionsMax: 7) == 0)
            #expect(try await world.dueWatches() == 1)
            try await world.receive()
            #expect(try await world.fanOut(subscriptionsMax: 7) == 3)
            #expect(try await world.waiting() == (10..<30).map { "device-\($0): +y" })
        }
    }

    @Test("reaches none that ended, expired, or whose token is retired")
    func ends() async throws {
        try await withFanOuts { world in
            for device in ["kept", "left", "gone", "asleep"] { try await world.subscribe(device, "/a") }
            try await world.subscribe("expired", "/a", lifetime: .seconds(3_600))
            #expect(try await world.unsubscribe("left", "/a"))
            #expect(try await world.unsubscribe("left", "/a"), "there is none any more")
            _ = try await world.world.stores.registry.removeDevice(app: world.world.app, installation: "gone")
            try await world.retire("asleep")
            try await world.put("/a", "1")
            try await world.fanOut()
            #expect(try await world.waiting() == ["kept: changed"])
            #expect(try await world.dueWatches() == 0)
            #expect(try await world.world.number("SELECT count(*) FROM subscriptions") == 3)
            #expect(try await world.world.number("SELECT count(*) FROM subscription_progress") == 3)
        }
    }

    @Test("reaches one whose token slept, as soon as it is live again", arguments: Awakening.allCases)
    func awakes(awakening: Awakening) async throws {
        try await withFanOuts { world in
            let stores = world.world.stores
            if awakening != .subscribes { try await world.register("asleep") }
            try await world.subscribe("asleep", "/a")
            // The push that shows that the token is dead, and a change that nobody is told.
            try await world.put("/a", "1")
            try await world.fanOut()
            try await world.receive(as: TerminalStatus(.unregistered, "UNREGISTERED"))
            try await world.retire("asleep")
            if awakening == .registers {
                try await world.put("/a", "2")
                try await world.fanOut()
            }
            #expect(try await world.waiting() == [])
            #expect(try await world.dueWatches() == 0)
            switch awakening {
            case .subscribes: #expect(try await world.subscribe("asleep", "/b") == .subscribed)
            case .registers: try await world.register("asleep")
            case .undone:
                let feedback = try #require(try await world.world.feed().last)
                _ = try await stores.registry.undo(feedback: feedback.id, app: world.world.app)
            }
            try await world.fanOut()
            #expect(try await world.waiting() == ["asleep: changed"])
            #expect(try await world.dueWatches() == 0)
        }
    }

    @Test("comes with no earlier push to one that has unsubscribed and subscribed again")
    func again() async throws {
        try await withFanOuts { world in
            try await world.subscribe("phone", "/a", .value)
            try await world.put("/a", "1")
            try await world.fanOut()
            #expect(try await world.unsubscribe("phone", "/a"))
            try await world.subscribe("phone", "/a", .value)
            try await world.put("/a", "2")
            try await world.fanOut()
            #expect(try await world.waiting() == ["phone: 1", "phone: 2"])
            #expect(try await world.send() == ["phone: 2"])
        }
    }

    @Test("reaches others exactly while one device can't be reached")
    func oneStuck() async throws {
        try await withFanOuts { world in
            try await world.subscribe("stuck", "/a", .childEvent)
            try await world.put("/a/first", "1")
            try await world.fanOut()
            try await world.hold()
            try await world.subscribe("other", "/a", .childEvent)
            for part in 0..<3 {
                let children = (0..<500).map { #""child-\#(part)-\#($0)":1"# }.joined(separator: ",")
                try await world.patch("/a", "{\(children)}")
                try await world.fanOut()
                try await world.receive()
            }
            try await world.put("/a/single", "1")
            try await world.fanOut()
            #expect(try await world.waiting() == ["other: +single", "stuck: +first"])
        }
    }

    @Test("reads a stuck device seldom, and the others at once if something changes")
    func seldom() async throws {
        try await withFanOuts { world in
            for device in ["stuck", "one", "two"] {
                try await world.subscribe(device, "/a")
                try await world.put("/a", "\"\(device)\"")
                try await world.fanOut(subscriptionsMax: 1)
                // The first parcel is leased, and never settled.
                if device == "stuck" { try await world.hold() } else { try await world.receive() }
            }
            // Each of these is ten seconds later than the one before.
            for _ in 0..<30 { #expect(try await world.fanOut(subscriptionsMax: 1) == 0) }
            let wait = "SELECT extract(epoch FROM due_at - soonest_at)::bigint FROM due_watches"
            #expect(try await world.world.number(wait) > 50)
            try await world.put("/a", "9")
            #expect(try await world.world.number(wait) == 0)
            #expect(try await world.fanOut(subscriptionsMax: 1) == 2)
            #expect(try await world.send() == ["one: changed", "two: changed"])
        }
    }

    @Test("reaches one that moved to another installation while the others' pushes are stuck")
    func movedBesideStuck() async throws {
        try await withFanOuts { world in
            for device in ["stuck", "phone"] { try await world.subscribe(device, "/a") }
            try await world.put("/a", "1")
            try await world.fanOut()
            for _ in 0..<2 { try await world.hold() }
            try await world.put("/a", "2")
            for _ in 0..<9 { #expect(try await world.fanOut() == 0) }
            let isDue = "SELECT count(*) FROM due_watches WHERE due_at <= now()"
            #expect(try await world.world.number(isDue) == 0)
            let token = DeviceToken(bytes: Array(FanOutWorld.token("phone").utf8))
            _ = try await world.world.stores.registry.register(
                [DeviceRegistration(installation: "tablet", provider: .fcm, token: token)], app: world.world.app)[0]
                .get()
            #expect(try await world.world.number(isDue) == 1)
            #expect(try await world.fanOut() == 1)
        }
    }

    /// The ways in which a retired token comes back.
    enum Awakening: CaseIterable {
        case subscribes, registers, undone
    }
}
