import Delivery
import Lanes
import Logging
import Model
import ProviderInterface
import QueueRules
import Reactor
import Store
import TLS
import Testing

/// These tests cover what the delivery engine relies on between an answer and its next action.
@Suite("A pool of lanes")
struct LanePoolTests {
    private let route = ReadyRoute(
        route: RouteID(7), app: AppID(1), provider: .apns, environment: .production, topic: "com.example.app")

    @Test("pauses a route at once when its topic is refused, so that leased pushes are not sent")
    func refusedTopic() async throws {
        let loop = try ReactorLoop(name: "lane")
        let credentials = OneCredential(CredentialID(1))
        let pool = credentials.pool(on: loop)
        let key = try #require(await pool.lane(for: route))
        #expect(await pool.target(of: route.serviceRoute, on: key) == PushTarget(.apns, "com.example.app"))

        pool.apply(.topicRefused, on: key, route.serviceRoute)
        #expect(pool.isPaused(route.serviceRoute, on: key))
        #expect(await pool.target(of: route.serviceRoute, on: key) == nil)
        #expect(await pool.lane(for: route) == nil)

        let calls = ServiceRoute(route.route, .voip)
        _ = await pool.lane(
            for: ReadyRoute(
                route: route.route, service: .voip, app: route.app, provider: .apns, environment: .production,
                topic: route.topic))
        #expect(await pool.target(of: calls, on: key) != nil, "calls have a topic of their own")
        #expect(
            await pool.target(of: route.serviceRoute, on: LaneKey(CredentialID(2))) != nil,
            "another credential may send")

        // The pause takes effect at once. Many rounds would reveal a delay by one task.
        for number in Int64(100)..<200 {
            let serviceRoute = ServiceRoute(RouteID(number))
            pool.apply(.topicRefused, on: key, serviceRoute)
            #expect(pool.isPaused(serviceRoute, on: key))
        }
        await pool.drain()
        loop.stop()
    }
}

/// A credential for a provider that cannot be reached, because no name resolves.
private struct OneCredential: LaneCredentials {
    let id: CredentialID

    init(_ id: CredentialID) { self.id = id }

    func pool(on loop: ReactorLoop) -> LanePool {
        LanePool(
            credentials: self, loops: [loop], credentialBlock: .seconds(3_600),
            log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    func credential(for route: ReadyRoute) async -> CredentialStatus {
        guard let trust = try? TLSTrust.system(), let tls = try? TLSContext.client(trust: trust, identity: nil) else {
            return .missing
        }
        var settings = LaneSettings(
            host: "push.example", port: 443, tls: tls, connectionsMax: 8, requestDeadline: .seconds(20))
        settings.resolver = NoAddresses()
        return .ready(LaneCredential(id: id, app: "news", settings: settings, reach: .topics(.apns, only: nil)))
    }

    func block(_ credential: CredentialID, reason: String, for pause: Duration) async {}
    func providerTokenExpired(_ credential: CredentialID, generation: UInt64) async {}
    func needsNewConnections(_ credential: CredentialID) async {}
    func slug(of app: AppID) async -> String { "news" }
    func inactive(among credentials: [CredentialID]) async -> [CredentialID] { [] }
    func report(outages: [LaneOutage]) async -> Bool { true }
}

private struct NoAddresses: HostResolver {
    func addresses(of host: String, port: UInt16) async throws(ReactorError) -> [SocketAddress] { [] }
}
