import Basis
import Delivery
import LaneRules
import Lanes
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
            pool.apply(
                .topicRefused(reason: "BadTopic"), quoting: AnswerQuote(status: 400, reason: "BadTopic"), on: key,
                route.serviceRoute)
                == .topicRefused(route.serviceRoute, for: .seconds(3_600), reason: "BadTopic"))
        let tooOld = AnswerQuote(status: 403, reason: "ExpiredProviderToken")
        #expect(pool.apply(.alarm(.clock), quoting: tooOld, on: key, route.serviceRoute) == nil)
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

    @Test("logs answers of the provider with reason, status, app and credential")
    func quotes() async throws {
        let loop = try ReactorLoop(name: "lane")
        let log = RecordedLog()
        let (pool, key) = (OneCredential(CredentialID(1)).pool(on: loop, log: log), LaneKey(CredentialID(1)))
        _ = await pool.resolve(route)
        func apply(_ consequence: LaneConsequence, _ status: UInt16, _ reason: String) {
            let quote = AnswerQuote(status: status, reason: reason)
            _ = pool.apply(consequence, quoting: quote, on: key, route.serviceRoute)
        }
        func expect(_ line: String, _ status: String, _ reason: String) {
            let fields = log.fields(of: line)
            #expect(fields?["app"] == "news" && fields?["credential"] == "1", "\(line)")
            #expect(fields?["status"] == status && fields?["reason"] == reason, "\(line)")
        }
        apply(.alarm(.credential), 403, "InvalidProviderToken")
        expect("error: Provider rejects requests: action needed", "403", "InvalidProviderToken")
        await pool.announceRefusal(key, "InvalidProviderToken")
        expect("error: The provider refuses a credential: its pushes wait", "403", "InvalidProviderToken")
        apply(.topicRefused(reason: "TopicDisallowed"), 400, "TopicDisallowed")
        pool.logRefusedTopic(route.serviceRoute, key, reason: "TopicDisallowed")
        expect("error: Route paused: its pushes wait", "400", "TopicDisallowed")
        apply(.alarm(.ourRequest), 404, "BadPath")
        pool.log(.ourFault(reason: "BadPath"), of: MessageID(UniversalID(high: 1, low: 1)), on: key)
        expect("error: Provider rejected a request as malformed", "404", "BadPath")
        pool.note(throttling: AnswerQuote(status: 429, reason: "TooManyRequests"), on: key)
        let now = Clocks.monotonicNow()
        pool.log(key, LaneHealth.Wait(.throttled, since: now, until: now + .seconds(10)), before: nil)
        expect("warning: Circuit breaker opened: provider is throttling", "429", "TooManyRequests")
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

    func pool(on loop: ReactorLoop, log: RecordedLog = RecordedLog()) -> LanePool {
        LanePool(credentials: self, loops: [loop], credentialBlock: .seconds(3_600), log: log.logger)
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
    func providerTokenExpired(
        _ credential: CredentialID, generation: UInt64, quoting quote: AnswerQuote
    ) async -> Bool { false }
    func needsNewConnections(_ credential: CredentialID) async {}
    func slug(of app: AppID) async -> String { "news" }
    func inactive(among credentials: [CredentialID]) async -> [CredentialID] { [] }
    func report(outages: [LaneOutage]) async -> Bool { true }
}

private struct NoAddresses: HostResolver {
    func addresses(of host: String, port: UInt16) async throws(ReactorError) -> [SocketAddress] { [] }
}
