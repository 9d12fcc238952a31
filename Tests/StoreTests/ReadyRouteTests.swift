import Basis
import Model
import QueueRules
import Store
import Testing

private let dawn = StoreWorld.dawn

@Suite("A route with work that is due")
struct ReadyRouteTests {
    @Test("appears in the ready routes by rising id, page by page, with its app and topic")
    func reported() async throws {
        try await withStores { world in
            try await world.register(1...1)
            try await world.register(2...2, environment: .sandbox)
            try await world.send(world.newMessage())
            let (first, second) = (try await world.route(), try await world.route(.sandbox))
            let all = try await world.stores.parcels.readyRoutes(knownFormats: [1], now: dawn).routes
            #expect(all.map(\.route) == [first, second].sorted())
            #expect(all.first?.app == world.app)
            #expect(all.first?.provider == .apns)
            #expect(all.map(\.environment) == [.production, .sandbox])
            #expect(all.first?.topic == StoreWorld.topic)
            let page = try await world.stores.parcels.readyRoutes(knownFormats: [1], limit: 1, now: dawn)
            #expect(page.routes.map(\.route) == [first] && page.last == first && page.isFull)
            let remaining = try await world.stores.parcels.readyRoutes(knownFormats: [1], after: first, now: dawn)
            #expect(remaining.routes.map(\.route) == [second] && !remaining.isFull)
        }
    }

    @Test("stays out of the ready routes when its parcels have an unknown format")
    func unknownFormat() async throws {
        try await withStores { world in
            try await world.register(1...1)
            let message = world.newMessage(format: 7)
            _ = try await world.stores.messages.accept([message], now: dawn)
            _ = try await world.stores.messages.plan(atMost: 1, knownFormats: [7], now: dawn)
            let parcels = world.stores.parcels
            #expect(try await parcels.readyRoutes(knownFormats: [1, 2], now: dawn).routes.isEmpty)
            #expect(try await parcels.readyRoutes(knownFormats: [1, 7], now: dawn).routes.count == 1)
            // The same holds for cross-environment and lapsed parcels.
            try await world.pool.script(
                """
                UPDATE parcels SET lapses = 2, origin_route_id = route_id, origin_generation = 1,
                    origin_reason = 'BadDeviceToken', origin_as_of = due_at, origin_until = expires_at
                """)
            #expect(try await parcels.readyRoutes(knownFormats: [1, 2], now: dawn).routes.isEmpty)
            #expect(try await parcels.readyRoutes(knownFormats: [7], now: dawn).routes.map(\.hasLapsed) == [true])
            try await world.send(world.newMessage(2))
            #expect(try await parcels.readyRoutes(knownFormats: [1], now: dawn).routes.map(\.hasLapsed) == [false])
        }
    }

    @Test("appears once per topic service with a due parcel, and each lease takes from one service")
    func services() async throws {
        try await withStores { world in
            try await world.register(1...1)
            let route = try await world.route()
            for (number, type) in zip(UInt64(1)..., [PushType.alert, .voip, .complication]) {
                try await world.send(world.newMessage(number, pushType: type))
            }
            let parcels = world.stores.parcels
            let ready = try await parcels.readyRoutes(knownFormats: [1, 2], now: dawn).routes
            #expect(ready.map(\.serviceRoute) == [.app, .voip, .complication].map { ServiceRoute(route, $0) })
            let order = LeaseOrder(
                route: route, service: .voip, owner: StoreWorld.ann, leaseFor: .seconds(60), knownFormats: [1, 2])
            #expect(try await parcels.lease(order, now: dawn).parcel?.message == StoreWorld.message(2))
            #expect(try await parcels.lease(order, now: dawn) == Lease())
            try await world.pool.script(
                """
                UPDATE parcels SET lapses = 2, origin_route_id = route_id, origin_generation = 1,
                    origin_reason = 'BadDeviceToken', origin_as_of = due_at, origin_until = expires_at
                WHERE service = \(TopicService.complication.rawValue)
                """)
            let remaining = try await parcels.readyRoutes(knownFormats: [1, 2], now: dawn).routes
            #expect(remaining.map(\.service) == [.app, .complication])
            #expect(remaining.map(\.hasOrdinary) == [true, false] && remaining.map(\.hasLapsed) == [false, true])
        }
    }

    @Test("shows which of its topic services have a transactional parcel")
    func urgent() async throws {
        try await withStores { world in
            try await world.register(1...1)
            try await world.send(world.newMessage(1, pushType: .voip))
            try await world.send(world.newMessage(2))
            #expect(try await world.ready(at: dawn).map(\.hasUrgent) == [false, false])
            try await world.send(world.newMessage(3, urgency: .transactional))
            let ready = try await world.ready(at: dawn)
            #expect(ready.map(\.service) == [.app, .voip] && ready.map(\.hasUrgent) == [true, false])
            #expect(ready.map(\.hasOrdinary) == [true, true])
            _ = try await world.lease(scope: .urgent)
            #expect(try await world.ready(at: dawn).map(\.hasUrgent) == [false, false])
            try await world.pool.script("UPDATE parcels SET lapses = 2, priority = 1 WHERE state = 1")
            #expect(try await world.ready(at: dawn).map(\.hasUrgent) == [false, false])
        }
    }

    @Test("shows the full topic of each service that waits for a credential")
    func waiting() async throws {
        try await withStores { world in
            try await world.register(1...1)
            try await world.send(world.newMessage(1))
            try await world.send(world.newMessage(2, pushType: .voip))
            let messages = world.stores.messages
            let topic = StoreWorld.topic
            #expect(try await messages.waits().map(\.topic) == [topic, topic + ".voip"])
            let calls = NewCredential(
                id: try await world.stores.credentials.nextIDs(1)[0], app: world.app, provider: .apns,
                environment: .production, kind: .certificate, topics: [topic + ".voip"],
                wholeTopics: [topic + ".voip"], facts: Array("{}".utf8), sealed: [1])
            _ = try await world.stores.credentials.insert([calls], app: world.app, activate: true, once: nil) { _ in []
            }
            #expect(try await messages.waits().map(\.topic) == [topic])
            #expect(try await world.waits(1).map(\.cause) == [.credential])
            #expect(try await world.waits(1).map(\.pushes) == [1])
            #expect(try await world.waits(2).isEmpty)
            try await world.stores.credentials.block(calls.id, reason: "BadCertificate", for: .seconds(600))
            let refused = try await world.waits(2)
            #expect(refused.map(\.topic) == [topic + ".voip"] && refused.map(\.reason) == ["BadCertificate"])
            #expect(refused.map(\.cause) == [.credentialRefused])
        }
    }

    @Test("stays out of the ready routes when its provider is unknown, and hides no route behind it")
    func unknownProvider() async throws {
        try await withStores { world in
            try await world.register(1...1)
            try await world.register(2...2, environment: .sandbox)
            try await world.send(world.newMessage())
            let routes = [try await world.route(), try await world.route(.sandbox)].sorted()
            try await world.pool.script(
                """
                SET session_replication_role = replica;
                UPDATE routes SET provider = 99 WHERE id = \(routes[0].value);
                SET session_replication_role = DEFAULT
                """)
            let page = try await world.stores.parcels.readyRoutes(knownFormats: [1], limit: 1, now: dawn)
            #expect(page.routes.isEmpty && page.last == routes[0] && page.isFull)
            let remaining = try await world.stores.parcels.readyRoutes(
                knownFormats: [1], after: page.last, limit: 1, now: dawn)
            #expect(remaining.routes.map(\.route) == [routes[1]])
        }
    }

    @Test("appears in the ready routes only while it has a parcel that is due and not leased")
    func due() async throws {
        try await withStores { world in
            try await world.register(1...1)
            try await world.send(world.newMessage())
            let early = try await world.ready(at: dawn + .microseconds(-1))
            #expect(early.isEmpty)
            let parcel = try #require(try await world.lease())
            #expect(try await world.ready(at: dawn).isEmpty)
            let later = parcel.settling([], remainders: [parcel.remainder(0..<1, after: .seconds(10))])
            _ = try await world.stores.parcels.settle([later], now: dawn)[0].get()
            #expect(try await world.ready(at: dawn + .seconds(9)).isEmpty)
            #expect(try await world.ready(at: dawn + .seconds(10)).count == 1)
        }
    }
}

extension StoreWorld {
    fileprivate func ready(at now: WallInstant) async throws -> [ReadyRoute] {
        try await stores.parcels.readyRoutes(knownFormats: [1], now: now).routes
    }
}
