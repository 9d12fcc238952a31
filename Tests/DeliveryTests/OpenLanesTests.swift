import Basis
import Delivery
import LaneRules
import Lanes
import Model
import ProviderInterface
import QueueRules
import Reactor
import TLS
import Testing

@Suite("An open lane")
struct OpenLanesTests {
    private static let key = LaneKey(CredentialID(1))
    private static let route = readyRoute("com.example.app")

    private static func readyRoute(_ topic: String) -> ReadyRoute {
        ReadyRoute(route: RouteID(7), app: AppID(1), provider: .apns, environment: .production, topic: topic)
    }

    @Test("has a destination for each route with a topic, and reads answers for its health")
    func resolved() async throws {
        try await Self.withOpenLane { lanes, _ in
            let (credential, target) = (try Self.credential(), PushTarget(.apns, "com.example.app"))
            #expect(lanes.target(of: Self.route, with: credential) == LaneTarget(Self.key, target))
            #expect(lanes.target(of: Self.readyRoute(""), with: credential) == nil)
            #expect(
                lanes.apply(
                    .topicRefused(reason: "BadTopic"), quoting: AnswerQuote(status: 400, reason: "BadTopic"),
                    on: Self.key, Self.route.serviceRoute)
                    == .topicRefused(Self.route.serviceRoute, for: .seconds(3_600), reason: "BadTopic"))
            let tooOld = AnswerQuote(status: 403, reason: "ExpiredProviderToken")
            #expect(lanes.apply(.alarm(.clock), quoting: tooOld, on: Self.key, Self.route.serviceRoute) == nil)
        }
    }

    @Test("reads refusals and suspicions for its health, and other events for the log")
    func findings() async throws {
        try await Self.withOpenLane { lanes, _ in
            func finding(_ event: LaneEvent) -> LaneHealth.Event? {
                lanes.read(LaneReport(key: Self.key, lane: 1, kind: .noted(event)))
            }
            #expect(finding(.credentialRefused(reason: "Forbidden")) == .credentialRefused(reason: "Forbidden"))
            let reason = "ExpiredProviderToken"
            #expect(finding(.credentialSuspected(reason: reason)) == .credentialSuspected(reason: reason))
            #expect(finding(.connected) == nil)
        }
    }

    @Test("logs answers of the provider with reason, status, app and credential")
    func quotes() async throws {
        try await Self.withOpenLane { lanes, log in
            func apply(_ consequence: LaneConsequence, _ status: UInt16, _ reason: String) {
                let quote = AnswerQuote(status: status, reason: reason)
                _ = lanes.apply(consequence, quoting: quote, on: Self.key, Self.route.serviceRoute)
            }
            func expect(_ line: String, _ status: String, _ reason: String) {
                let fields = log.fields(of: line)
                #expect(fields?["app"] == "news" && fields?["credential"] == "1", "\(line)")
                #expect(fields?["status"] == status && fields?["reason"] == reason, "\(line)")
            }
            apply(.alarm(.credential), 403, "InvalidProviderToken")
            expect("error: Provider rejects requests: action needed", "403", "InvalidProviderToken")
            lanes.logRefusedCredential(Self.key, reason: "InvalidProviderToken")
            expect("error: The provider refuses a credential: its pushes wait", "403", "InvalidProviderToken")
            apply(.topicRefused(reason: "TopicDisallowed"), 400, "TopicDisallowed")
            lanes.logRefusedTopic(Self.route.serviceRoute, Self.key, reason: "TopicDisallowed")
            expect("error: Route paused: its pushes wait", "400", "TopicDisallowed")
            apply(.alarm(.ourRequest), 404, "BadPath")
            lanes.log(.ourFault(reason: "BadPath"), of: MessageID(UniversalID(high: 1, low: 1)), on: Self.key)
            expect("error: Provider rejected a request as malformed", "404", "BadPath")
            lanes.note(throttling: AnswerQuote(status: 429, reason: "TooManyRequests"), on: Self.key)
            let now = Clocks.monotonicNow()
            lanes.log(Self.key, LaneHealth.Wait(.throttled, since: now, until: now + .seconds(10)), before: nil)
            expect("warning: Circuit breaker opened: provider is throttling", "429", "TooManyRequests")
        }
    }

    @Test("leaves no other lane whose reports count")
    func dropped() async throws {
        try await Self.withOpenLane { lanes, _ in
            func event(_ lane: Int, of credential: Int64 = 1) -> LaneHealth.Event? {
                let change = LaneReport.Kind.changed(canSend: false, because: .tlsRefused(detail: "expired"))
                return lanes.read(LaneReport(key: LaneKey(CredentialID(credential)), lane: lane, kind: change))
            }
            #expect(event(1) == .blocked(.tlsRefused, reason: "expired"))
            #expect(event(2) == nil && event(1, of: 2) == nil)
        }
    }

    private static func withOpenLane(_ body: (OpenLanes, RecordedLog) throws -> Void) async throws {
        let (loop, log) = (try ReactorLoop(name: "lane"), RecordedLog())
        defer { loop.stop() }
        let lanes = OpenLanes(loops: [loop], credentialBlock: .seconds(3_600), log: log.logger)
        _ = lanes.target(of: route, with: try credential())
        try body(lanes, log)
        await lanes.drain()
    }

    /// A credential for a provider that cannot be reached, because no name resolves.
    private static func credential() throws -> LaneCredential {
        var settings = LaneSettings(
            host: "push.example", port: 443, tls: try TLSContext.client(trust: TLSTrust.system(), identity: nil),
            connectionsMax: 8, requestDeadline: .seconds(20))
        settings.resolver = NoAddresses()
        return LaneCredential(
            id: CredentialID(1), app: "news", settings: settings, reach: .topics(.apns, only: nil))
    }
}

private struct NoAddresses: HostResolver {
    func addresses(of host: String, port: UInt16) async throws(ReactorError) -> [SocketAddress] { [] }
}
