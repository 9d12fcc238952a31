import Basis
import Model
import QueueRules
import Store
import Testing

private let dawn = StoreWorld.dawn

/// One test for each cause that keeps a push: the account names it, since when, and in the provider's words.
@Suite("The reason for which pushes wait")
struct WaitTests {
    private func waiting(_ body: (StoreWorld, CredentialID) async throws -> Void) async throws {
        try await withStores { world in
            let credential = try await world.credential()
            try await world.register(1...4)
            try await world.send(world.newMessage())
            try await body(world, credential)
        }
    }

    private func wait(
        _ cause: PushWait.Cause, since: WallInstant?, until: WallInstant? = nil, _ reason: String? = nil
    ) -> PushWait {
        PushWait(
            cause: cause, provider: .apns, environment: .production, topic: StoreWorld.topic, pushes: 4, since: since,
            until: until, reason: reason)
    }

    @Test("can be each cause that a process reports, and the doctor reads it too", arguments: PushWait.Cause.reported)
    func reported(_ cause: PushWait.Cause) async throws {
        try await waiting { world, credential in
            let outage = LaneOutage(
                credential: credential, cause: cause, openFor: cause == .throttled ? .seconds(30) : nil,
                reason: "invalid_grant", age: .seconds(60))
            try await world.stores.credentials.report(outages: [outage], of: StoreWorld.ann, now: dawn)
            let since = dawn + .seconds(-60)
            let until = cause == .throttled ? dawn + .seconds(30) : nil
            #expect(
                try await world.checkedProgress().waits == [wait(cause, since: since, until: until, "invalid_grant")])
            let told = RouteWait(
                app: "clock-tower", provider: .apns, environment: .production, topic: StoreWorld.topic, cause: cause,
                reason: "invalid_grant", since: since)
            #expect(try await world.stores.messages.waits(now: dawn) == [told])
            try await world.stores.credentials.report(outages: [], of: StoreWorld.ann, now: dawn)
            #expect(try await world.checkedProgress().waits.isEmpty)
            #expect(try await world.stores.messages.waits(now: dawn).isEmpty)
        }
    }

    @Test("explains pushes that were refused a moment ago and wait for their next attempt")
    func afterAnAttempt() async throws {
        try await waiting { world, credential in
            let parcel = try #require(try await world.lease())
            let members = parcel.members.map(\.registration)
            let refused = Remainder(
                route: parcel.route, dueAfter: .seconds(15), attempt: 0, lapses: 0, retrySpent: .zero,
                answerLost: false, cause: .providerTokenExpired, members: members)
            try await world.settle(parcel.settling([], remainders: [refused]))
            #expect(try await world.checkedProgress().waits.map(\.cause) == [.later])
            let outage = LaneOutage(
                credential: credential, cause: .token, reason: "ExpiredProviderToken", age: .seconds(1))
            try await world.stores.credentials.report(outages: [outage], of: StoreWorld.ann, now: dawn)
            let told = wait(.token, since: dawn + .seconds(-1), "ExpiredProviderToken")
            #expect(try await world.checkedProgress().waits == [told])
        }
    }

    @Test("began with the first of several attempts in a row that ended in the same way")
    func inARow() async throws {
        try await waiting { world, _ in
            func fail(_ cause: WaitCause, _ quote: String, at now: WallInstant) async throws {
                let parcel = try #require(try await world.lease(at: now))
                let failed = Remainder(
                    route: parcel.route, dueAfter: .seconds(10), attempt: parcel.attempt + 1, lapses: 0,
                    retrySpent: .zero, answerLost: false, cause: cause, quote: quote,
                    members: parcel.members.map(\.registration))
                try await world.settle(parcel.settling([], remainders: [failed]), at: now)
            }
            var begun = dawn
            for (number, cause) in [WaitCause.providerBusy, .providerBusy, .answerLost].enumerated() {
                let now = dawn + .seconds(10 * number)
                if cause == .answerLost { begun = now }
                let quote = cause == .providerBusy ? "ServiceUnavailable" : ""
                try await fail(cause, quote, at: now)
                let until = now + .seconds(10)
                #expect(
                    try await world.checkedProgress(at: now).waits == [
                        wait(.later, since: begun, until: until, quote.isEmpty ? cause.rawValue : quote)
                    ])
            }
        }
    }

    @Test("can be the message's rate, or pushes before them, if nothing else is in the way")
    func queued() async throws {
        try await waiting { world, _ in
            #expect(try await world.checkedProgress().queued == [wait(.turn, since: dawn)])
            _ = try await world.stores.messages.control(
                .rate(1), app: world.app, id: StoreWorld.message(1), now: dawn)
            #expect(try await world.checkedProgress().queued == [wait(.rate, since: dawn)])
        }
    }

    @Test("concerns no other route of the lane if it is about a single one")
    func otherRoute() async throws {
        try await waiting { world, credential in
            let route = try await world.route()
            func report(_ routes: [ServiceRoute]) async throws {
                let outages = routes.map {
                    LaneOutage(
                        credential: credential, route: $0, cause: .topicRefused, reason: "TopicDisallowed", age: .zero)
                }
                try await world.stores.credentials.report(outages: outages, of: StoreWorld.ann, now: dawn)
            }
            try await report([ServiceRoute(RouteID(route.value + 1)), ServiceRoute(route, .voip)])
            #expect(try await world.checkedProgress().waits.isEmpty)
            try await report([ServiceRoute(route), ServiceRoute(route, .voip)])
            #expect(try await world.checkedProgress().waits == [wait(.topicRefused, since: dawn, "TopicDisallowed")])
            #expect(try await world.number("SELECT count(*) FROM lane_outages") == 2)
        }
    }

    @Test("can be a missing credential, since the pushes are due or the last one was retired")
    func uncovered() async throws {
        try await withStores { world in
            try await world.register(1...4)
            try await world.send(world.newMessage())
            #expect(try await world.checkedProgress(at: dawn + .seconds(5)).waits == [wait(.credential, since: dawn)])
            let credential = try await world.credential()
            #expect(try await world.checkedProgress(at: dawn + .seconds(5)).waits.isEmpty)
            #expect(try await world.stores.credentials.retire([credential], app: world.app))
            try await world.pool.script("UPDATE credentials SET retired_at = '2026-11-01T00:00:00Z'")
            let retired = WallInstant(secondsSince1970: 1_793_491_200)
            let later = try await world.progress(at: retired + .seconds(5)).waits
            #expect(later == [wait(.credential, since: retired)])
        }
    }

    @Test("can be a refused credential since its first refusal, however often it was tried since")
    func refused() async throws {
        try await waiting { world, credential in
            let credentials = world.stores.credentials
            try await credentials.block(credential, reason: "Forbidden", for: .seconds(60), now: dawn)
            let again = dawn + .seconds(61)
            while try await world.stores.sweeper.sweep(now: again) > 0 {}
            try await credentials.block(credential, reason: "InvalidProviderToken", for: .seconds(60), now: again)
            let told = wait(.credentialRefused, since: dawn, "InvalidProviderToken")
            #expect(try await world.checkedProgress(at: again).waits == [told])
            let muchLater = again + .seconds(661)
            try await credentials.block(credential, reason: "Forbidden", for: .seconds(60), now: muchLater)
            #expect(try await world.checkedProgress(at: muchLater).waits.map(\.since) == [muchLater])
        }
    }

    @Test("can be a pause, since it was asked for")
    func paused() async throws {
        try await waiting { world, _ in
            let now = dawn + .seconds(1)
            _ = try await world.stores.messages.control(.pause, app: world.app, id: StoreWorld.message(1), now: now)
            #expect(try await world.checkedProgress(at: now).waits == [wait(.onHold, since: now)])
        }
    }

    @Test("can be a newer program that wrote them")
    func newerProgram() async throws {
        try await waiting { world, _ in
            try await world.pool.script("UPDATE parcels SET format = 9999")
            #expect(try await world.checkedProgress().waits.map(\.cause) == [.newerProgram])
            #expect(try await world.checkedProgress().waits.map(\.since) == [dawn])
        }
    }

    @Test("can be the message that they follow, as long as that one was not tried")
    func predecessor() async throws {
        try await withStores { world in
            _ = try await world.credential()
            try await world.register(1...2)
            let messages = [world.newMessage(1), world.newMessage(2)]
            #expect(try await world.stores.messages.accept(messages, now: dawn) == .accepted)
            #expect(try await world.progress(1, at: dawn).planWait == .queued)
            #expect(try await world.progress(2, at: dawn).planWait == .predecessor(messages[0].id))
            _ = try await world.stores.messages.plan(atMost: 1, knownFormats: [1, 2], now: dawn)
            #expect(try await world.progress(2, at: dawn).planWait == .predecessor(messages[0].id))
            let parcel = try #require(try await world.lease(formats: [1, 2]))
            try await world.settle(parcel.settlingAll())
            #expect(try await world.progress(2, at: dawn).planWait == .queued)
        }
    }

    @Test("can be an audience that can't be found, until it is tried again")
    func setAside() async throws {
        try await withStores { world in
            try await world.register(1...1)
            #expect(
                try await world.stores.messages.accept([world.newMessage(audience: .installations(["i1"]))], now: dawn)
                    == .accepted)
            try await world.pool.script("UPDATE message_contents SET audience = 'x'")
            guard case .putAside = try await world.stores.messages.plan(knownFormats: [1], now: dawn) else {
                return #expect(Bool(false), "the message was planned")
            }
            guard case .setAside(let until) = try await world.progress(at: dawn).planWait else {
                return #expect(Bool(false), "the wait is silent")
            }
            #expect(until > dawn)
            #expect(try await world.progress(at: until).planWait == .queued)
        }
    }
}
