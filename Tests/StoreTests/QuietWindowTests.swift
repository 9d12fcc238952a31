import Basis
import Model
import Postgres
import Store
import TestSupport
import Testing
import TriggerRules
import TriggerStore

// Noon in UTC.
private let dawn = StoreWorld.dawn

/// The time so many seconds after dawn.
private func after(_ seconds: Double) -> WallInstant { dawn + .seconds(seconds) }

extension SubscriptionTerms {
    /// The same terms with pushes that nobody sees.
    fileprivate var unseen: SubscriptionTerms {
        var terms = self
        terms.template = TemplateSource(given: template.given, content: template.content, isShown: false)
        return terms
    }
}

@Suite("A push of an item whose device has quiet hours")
struct QuietWindowTests {
    /// Fires when the price is above zero.
    private static func triggered(text: String) throws -> SubscriptionTerms {
        try ItemWorld.terms(["anduct"], trigger: "Double.parseDouble(${last_price}) > 0", text: text)
    }

    @Test("waits until they end on the device's own clock, and the newest goes then")
    func waits() async throws {
        try await withItems { items in
            try await items.register("london")
            try await items.register("paris", zone: "Europe/Paris")
            for phone in ["london", "paris"] {
                try await items.subscribe(phone, try ItemWorld.terms(["anduct"], text: "follower"))
                try await items.subscribe(phone, try Self.triggered(text: "trigger"))
            }
            try await items.world.spare(quiet: (11, 13), cap: 1)
            try await items.update("anduct", #"{"last_price": 1}"#)
            #expect(try await items.release(at: dawn) == 1)
            #expect(try await items.cut() == ["paris trigger: 1"])
            #expect(try await items.follow(at: after(1)) == [0])
            try await items.update("anduct", #"{"last_price": 2}"#, at: after(60))
            #expect(try await items.follow(at: after(61)) == [0])
            #expect(try await items.release(at: after(61)) == 1)
            #expect(try await items.cut() == ["paris follower: 2"])
            #expect(try await items.release(at: after(3_599)) == 0)
            for (seconds, push) in [(3_600.0, "trigger: 1"), (3_630, "follower: 2")] {
                #expect(try await items.release(at: after(seconds)) == 1)
                #expect(try await items.cut() == ["london \(push)"])
            }
            let limited = "SELECT count(*) FROM messages WHERE ignored_limits <> \(AppLimits.all.rawValue)"
            #expect(try await items.world.number(limited) == 0)
        }
    }

    @Test("vanishes if its subscription asks for that, unless a trigger made it")
    func dropped() async throws {
        try await withItems { items in
            try await items.register("phone")
            try await items.subscribe("phone", try ItemWorld.terms(["anduct"], text: "follower").pausing(0, .drop))
            let kept = try await items.subscribe("phone", try Self.triggered(text: "trigger").pausing(0, .drop))
            try await items.world.spare(quiet: (11, 13))
            try await items.update("anduct", #"{"last_price": 1}"#)
            #expect(try await items.release(at: dawn) == 0)
            #expect(try await items.follow(at: after(1)) == [0])
            #expect(try await items.held().map(\.subscription) == [kept.id])
            #expect(try await items.release(at: after(3_600)) == 1)
            #expect(try await items.cut() == ["phone trigger: 1"])
        }
    }

    @Test("goes at once if nobody sees it, whatever else the device holds")
    func unseen() async throws {
        try await withItems { items in
            try await items.register("phone")
            try await items.subscribe("phone", try Self.triggered(text: "seen"))
            try await items.subscribe("phone", try Self.triggered(text: "data").pausing(0).unseen)
            try await items.subscribe(
                "phone", try ItemWorld.terms(["anduct"], text: "follower").pausing(0, .drop).unseen)
            try await items.world.spare(quiet: (11, 13))
            try await items.update("anduct", #"{"last_price": 1}"#)
            #expect(try await items.release(at: dawn) == 1)
            #expect(try await items.cut() == ["phone data: 1"])
            #expect(try await items.follow(at: after(1)) == [1])
            #expect(try await items.cut() == ["phone follower: 1"])
            #expect(try await items.release(at: after(3_599)) == 0)
            #expect(try await items.release(at: after(3_600)) == 1)
            #expect(try await items.cut() == ["phone seen: 1"])
        }
    }

    @Test("stays unseen or seen when its subscription is armed again")
    func reactivated() async throws {
        try await withItems { items in
            try await items.register("phone")
            let data = try await items.subscribe("phone", try Self.triggered(text: "data").pausing(0).unseen)
            try await items.world.spare(quiet: (11, 13))
            for price in 1...2 {
                try await items.update("anduct", #"{"last_price": \#(price)}"#)
                #expect(try await items.release(at: dawn) == 1)
                let phone = try await items.device("phone")
                let again = try await items.stores.subscriptions.reactivate(data.key, of: phone, now: dawn)
                #expect(again.subscription?.status == .active)
                #expect(again.subscription?.terms.template.isShown == false)
            }
        }
    }

    @Test("goes by changed quiet hours at once, however many wait, but not before its pause is over")
    func changed() async throws {
        try await withItems { items in
            let phones = (1...3).map { "phone-\($0)" }
            for phone in phones + ["busy"] { try await items.register(phone) }
            for text in ["first", "second"] {
                try await items.subscribe("busy", try Self.triggered(text: text).pausing(86_400))
            }
            try await items.update("anduct", #"{"last_price": 1}"#)
            #expect(try await items.release(at: dawn) == 1)
            for phone in phones { try await items.subscribe(phone, try Self.triggered(text: "trigger")) }
            try await items.world.spare(quiet: (11, 13))
            try await items.update("anduct", #"{"last_price": 2}"#)
            #expect(try await items.release(at: dawn) == 0)
            try await items.world.spare(quiet: (11, 14), at: after(10))
            #expect(try await items.release(at: after(3_600)) == 0)
            try await items.world.spare(at: after(3_601))
            #expect(try await items.release(at: after(3_601)) == 3)
            #expect(try await items.held().map(\.texts) == [["1"]], "the busy phone's second push")
        }
    }

    @Test("comes up again if a round put it off while its app's quiet hours were changed")
    func changedMeanwhile() async throws {
        try await withItems { items in
            for (phone, zone) in [("london", "Europe/London"), ("paris", "Europe/Paris")] {
                try await items.register(phone, zone: zone)
                try await items.subscribe(phone, try ItemWorld.terms(["anduct"]))
            }
            try await items.world.spare(quiet: (11, 13))
            try await items.update("anduct", #"{"last_price": 1}"#)
            let world = items.world
            let waiting = """
                SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
                """
            let turns = try await items.follow(at: after(1)) {
                Task {
                    do { try await world.spare(at: after(1)) } catch { Issue.record(error) }
                }
                // The round waits for the test, and the change for the round.
                while try await world.number(waiting) < 2 { await Task.yield() }
            }
            #expect(turns == [1])
            let settings = "SELECT count(*) FROM apps WHERE settings ->> 'quiet_hours' IS NOT NULL"
            while try await world.number(settings) > 0 { await Task.yield() }
            #expect(try await items.release(at: after(1)) == 1)
        }
    }
}
