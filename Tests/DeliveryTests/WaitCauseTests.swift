import Basis
import Delivery
import LaneRules
import Model
import QueueRules
import Reactor
import Store
import Testing

@Suite("A cause for which a lane or a route waits")
struct WaitCauseTests {
    private static let route = ServiceRoute(RouteID(3), .voip)
    private static let lane = LaneKey(CredentialID(1))
    private static let now = MonotonicInstant(nanoseconds: 1_000_000_000)

    private static func health(_ cause: LaneCause) -> LaneHealth {
        var health = LaneHealth(signalsMin: 1)
        switch cause {
        case .unreachable, .tlsRefused: _ = health.note(.blocked(cause, reason: "said so"), now)
        case .credentialRefused: _ = health.note(.credentialRefused(reason: "said so"), now)
        case .topicRefused: _ = health.note(.topicRefused(route, for: .seconds(60), reason: "said so"), now)
        case .tokenMissing, .topicMissing, .credentialPending, .credentialUnusable:
            _ = health.note(.waits(route, cause, reason: "said so"), now)
        case .credentialUnknown: _ = health.note(.closed, now)
        case .throttled:
            let signal = PositionedOutcome(position: 0, outcome: .deferred(after: .seconds(30), .laneThrottled))
            _ = health.record(
                LaneAnswers(accepted: 0, others: [signal]), of: MessageID(UniversalID(high: 1, low: 1)), leasedAt: now,
                now, entropy: 0)
        }
        return health
    }

    /// A refused credential has a row, a missing one has none, and an opening has a deadline.
    @Test("reaches users with its reason, unless the database shows it anyway", arguments: LaneCause.allCases)
    func reported(_ cause: LaneCause) {
        let health = Self.health(cause)
        #expect(!health.permission(for: .bulk, on: Self.route).isGiven)
        let isOfRoute = cause == .topicRefused || cause == .topicMissing
        let waits =
            (health.wait.map { [LaneWait(Self.lane, $0)] } ?? [])
            + health.routeWaits.map { LaneWait(Self.lane, $0.wait, of: $0.route) }
        var outages = LaneOutages()
        outages.set(waits, now: Self.now)
        let reported = outages.take(now: Self.now + .seconds(5)) ?? []
        let isSeen = [.credentialRefused, .credentialUnknown, .credentialPending].contains(cause)
        #expect(reported.count == (isSeen ? 0 : 1))
        for outage in reported {
            #expect(outage.cause == cause.reported && outage.age == .seconds(5))
            #expect(outage.route == (isOfRoute ? Self.route : nil))
            #expect(cause == .throttled ? !outage.reason.isEmpty : outage.reason == "said so")
            #expect((outage.openFor != nil) == (cause == .throttled))
        }
    }

    @Test("covers everything that users are told a process found out")
    func complete() {
        for cause in PushWait.Cause.reported {
            #expect(LaneCause.allCases.contains { $0.reported == cause }, "\(cause)")
        }
    }
}
