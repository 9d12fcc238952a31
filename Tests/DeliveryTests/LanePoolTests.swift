import Delivery
import LaneRules
import Lanes
import Logging
import Model
import ProviderInterface
import QueueRules
import Reactor
import Store
import TLS
import Testing

@Suite("A pool of lanes")
struct LanePoolTests {
    private let route = ReadyRoute(
        route: RouteID(7), app: AppID(1), provider: .apns, environment: .production, topic: "com.example.app")

    @Test("resolves a route to lane and destination, and reads answers for the lane's health")
    func resolved() async throws {
        let loop = try ReactorLoop(name: "lane")
        let pool = OneCredential(CredentialID(1)).pool(on: loop)
        let key = LaneKey(CredentialID(1))
        let target = PushTarget(.apns, "com.example.app")
        #expect(await pool.resolve(route) == .leaves(LaneTarget(key, target)))
        #expect(
            pool.apply(.topicRefused(reason: "BadTopic"), on: key, route.serviceRoute)
                == .topicRefused(route.serviceRoute, for: .seconds(3_600), reason: "BadTopic"))
        #expect(pool.apply(.alarm(.clock), on: key, route.serviceRoute) == nil)
        let nameless = ReadyRoute(
            route: RouteID(8), app: AppID(1), provider: .apns, environment: .production, topic: "")
        #expect(await pool.resolve(nameless) == .waits(key, .topicMissing))
        await pool.drain()
        loop.stop()
    }

    @Test("reads refusals and suspicions for the lane's health, and other events for the log")
    func findings() async throws {
        let loop = try ReactorLoop(name: "lane")
        let pool = OneCredential(CredentialID(1)).pool(on: loop)
        _ = await pool.resolve(route)
        func finding(_ event: LaneEvent) -> LaneHealth.Event? {
            pool.read(LaneReport(key: LaneKey(CredentialID(1)), lane: 1, kind: .noted(event)))
        }
        #expect(finding(.credentialRefused(reason: "Forbidden")) == .credentialRefused(reason: "Forbidden"))
        let reason = "ExpiredProviderToken"
        #expect(finding(.credentialSuspected(reason: reason)) == .credentialSuspected(reason: reason))
        #expect(finding(.connected) == nil)
        await pool.drain()
        loop.stop()
    }

    @Test("drops reports of a lane that is not open")
    func dropped() async throws {
        let loop = try ReactorLoop(name: "lane")
        let pool = OneCredential(CredentialID(1)).pool(on: loop)
        _ = await pool.resolve(route)
        func event(_ lane: Int, of credential: Int64 = 1) -> LaneHealth.Event? {
            let change = LaneReport.Kind.changed(canSend: false, because: .tlsRefused(detail: "expired"))
            return pool.read(LaneReport(key: LaneKey(CredentialID(credential)), lane: lane, kind: change))
        }
        #expect(event(1) == .blocked(.tlsRefused, reason: "expired"))
        #expect(event(2) == nil && event(1, of: 2) == nil)
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
    func providerTokenExpired(_ credential: CredentialID, generation: UInt64) async -> Bool { false }
    func needsNewConnections(_ credential: CredentialID) async {}
    func slug(of app: AppID) async -> String { "news" }
    func inactive(among credentials: [CredentialID]) async -> [CredentialID] { [] }
    func report(outages: [LaneOutage]) async -> Bool { true }
}

private struct NoAddresses: HostResolver {
    func addresses(of host: String, port: UInt16) async throws(ReactorError) -> [SocketAddress] { [] }
}
