import Basis
import LaneRules
import Model
import Testing

/// A lane's health with a test clock, and a route that asks it.
private struct HealthBench {
    static let route = ServiceRoute(RouteID(3))
    static let other = ServiceRoute(RouteID(4))

    var health = LaneHealth(signalsMin: 16)
    var now = MonotonicInstant(nanoseconds: 1_000_000_000)

    @discardableResult
    mutating func note(_ event: LaneHealth.Event) -> LaneHealth.Action? { health.note(event, now) }

    mutating func pass(_ time: Duration) {
        now = now + time
        health.pass(now)
    }

    /// Records answers to pushes that were leased now, or `age` ago.
    @discardableResult
    mutating func answer(accepted: Int = 0, signals: Int = 0, leased age: Duration = .zero) -> Bool {
        let signal = Outcome.deferred(after: .seconds(30), .laneThrottled)
        let others = (0..<signals).map { PositionedOutcome(position: Int32($0), outcome: signal) }
        let leasedAt = MonotonicInstant(nanoseconds: now.nanoseconds - age.wholeNanoseconds)
        defer { health.returned(accepted + signals, leasedAt: leasedAt) }
        return health.record(
            LaneAnswers(accepted: accepted, others: others), of: MessageID(UniversalID(high: 1, low: 1)),
            leasedAt: leasedAt, now, entropy: 0)
    }

    func may(_ urgency: MessageUrgency = .bulk, on route: ServiceRoute = route) -> LaneHealth.Permission {
        health.permission(for: urgency, on: route)
    }

    mutating func admit(_ count: Int, _ urgency: MessageUrgency = .bulk) -> Int {
        health.admit(count, urgency, leasedAt: now, now)
    }
}

/// One cause: the event that opens it, what it stops and for how long, and the event that ends it.
struct LaneCauseCase: Sendable, CustomTestStringConvertible {
    let cause: LaneCause
    let begins: LaneHealth.Event
    /// nil: it ends by time.
    let ends: LaneHealth.Event?
    var until: Duration?
    /// The room once it is over.
    var room = Int.max
    /// The lane's other routes go on.
    var isOfOneRoute = false

    var testDescription: String { "\(begins)" }

    static let all: [LaneCauseCase] = {
        let route = HealthBench.route
        let missing: [LaneCause] = [.credentialRefused, .tokenMissing, .credentialPending, .credentialUnusable]
        return [
            LaneCauseCase(
                cause: .unreachable, begins: .blocked(.unreachable, reason: "name not known"), ends: .recovered),
            LaneCauseCase(cause: .tlsRefused, begins: .blocked(.tlsRefused, reason: "expired"), ends: .recovered),
            LaneCauseCase(
                cause: .credentialRefused, begins: .credentialRefused(reason: "Forbidden"), ends: .usable(route),
                room: 1),
            LaneCauseCase(cause: .credentialUnknown, begins: .closed, ends: .usable(route)),
            LaneCauseCase(
                cause: .topicMissing, begins: .waits(route, .topicMissing), ends: .usable(route), isOfOneRoute: true),
            LaneCauseCase(
                cause: .topicRefused, begins: .topicRefused(route, for: .seconds(60)), ends: nil, until: .seconds(60),
                isOfOneRoute: true),
        ] + missing.map { LaneCauseCase(cause: $0, begins: .waits(route, $0), ends: .usable(route)) }
    }()
}

@Suite("The health of a lane")
struct LaneHealthTests {
    @Test("lets a lane send whatever it has room for, until a cause is reported")
    func healthy() {
        var bench = HealthBench()
        #expect(bench.may() == .may(.max) && bench.may(.transactional) == .may(.max))
        #expect(bench.admit(1_000) == 1_000 && bench.health.wait == nil && bench.health.wakeAt == nil)
        #expect(bench.note(.recovered) == nil && bench.note(.usable(HealthBench.route)) == nil)
        #expect(bench.health.takeReports().isEmpty && bench.health.isQuiet)
    }

    @Test("stops pushes of every urgency while a cause lasts, and no longer", arguments: LaneCauseCase.all)
    func causes(_ row: LaneCauseCase) {
        var bench = HealthBench()
        bench.note(row.begins)
        let waits = LaneHealth.Permission.mayNot(row.cause, until: row.until.map { bench.now + $0 })
        for urgency in [MessageUrgency.bulk, .transactional] {
            #expect(bench.may(urgency) == waits)
            #expect(bench.may(urgency, on: HealthBench.other) == (row.isOfOneRoute ? .may(.max) : waits))
        }
        if let ends = row.ends {
            bench.pass(.seconds(3_600))
            #expect(bench.may() == waits, "time alone does not end it")
            bench.note(ends)
        } else if let until = row.until {
            bench.pass(until - .nanoseconds(1))
            #expect(bench.may() == waits && bench.health.wakeAt == bench.now + .nanoseconds(1))
            bench.pass(.nanoseconds(1))
        }
        for urgency in [MessageUrgency.bulk, .transactional] { #expect(bench.may(urgency) == .may(row.room)) }
    }

    @Test("stops bulk while its circuit breaker is open, but lets one transactional push a second try")
    func throttled() {
        var bench = HealthBench()
        #expect(bench.answer(signals: 15) == false && bench.may() == .may(.max))
        #expect(bench.answer(signals: 1) == true)
        let opened = bench.now
        #expect(bench.may() == .mayNot(.throttled, until: opened + .seconds(30)))
        #expect(bench.may(.transactional) == .may(1))
        #expect(bench.admit(5, .transactional) == 1)
        #expect(bench.may(.transactional) == .mayNot(.throttled, until: opened + .seconds(1)))
        bench.pass(.seconds(30))
        #expect(bench.may() == .may(1) && bench.may(.transactional) == .may(1))
        #expect(bench.admit(5) == 1 && bench.may() == .may(0))
    }

    @Test("hands over nothing that was leased before its circuit breaker opened")
    func leasedBefore() {
        var bench = HealthBench()
        let asked = bench.now
        bench.pass(.milliseconds(10))
        bench.answer(signals: 16)
        #expect(bench.health.admit(1, .transactional, leasedAt: asked, bench.now) == 0)
    }

    @Test("announces a refused credential once, and has the transport retry once it is usable again")
    func announced() {
        var bench = HealthBench()
        let refusal = LaneHealth.Event.credentialRefused(reason: "Forbidden")
        #expect(bench.note(refusal) == .announceRefusal(reason: "Forbidden"))
        #expect(bench.note(refusal) == nil)
        #expect(bench.note(.waits(HealthBench.route, .credentialRefused)) == nil)
        #expect(bench.note(.usable(HealthBench.route)) == .retry)
        #expect(bench.note(.usable(HealthBench.route)) == nil)
        #expect(bench.note(refusal) == .announceRefusal(reason: "Forbidden"))
    }

    @Test("tries a refused credential with one push at a time, until one is accepted")
    func suspected() {
        var bench = HealthBench()
        bench.note(.credentialRefused(reason: "Forbidden"))
        bench.pass(.seconds(60))
        bench.answer(accepted: 5, leased: .seconds(61))
        bench.note(.usable(HealthBench.route))
        #expect(bench.admit(40, .transactional) == 1)
        #expect(bench.may() == .may(0) && bench.may(.transactional) == .may(0))
        bench.health.returned(1, leasedAt: bench.now)
        bench.pass(LaneThrottle.memory + LaneThrottle.memory)
        #expect(bench.may() == .may(1) && bench.health.wakeAt == nil, "time does not restore the trust")
        bench.answer(accepted: 1)
        #expect(bench.may() == .may(8))
        bench.pass(.zero)
        #expect(bench.may() == .may(.max), "the breaker was half-open for long enough")
    }

    @Test("tries a suspected credential with one push at a time, without an announcement")
    func suspectedOnce() {
        var bench = HealthBench()
        #expect(bench.note(.credentialSuspected(reason: "ExpiredProviderToken")) == nil)
        #expect(bench.health.wait == nil && bench.admit(40) == 1 && bench.may() == .may(0))
        bench.answer(accepted: 1)
        #expect(bench.may() == .may(8))
        // The next suspicion is a first one again.
        #expect(bench.note(.credentialSuspected(reason: "ExpiredProviderToken")) == nil)
        #expect(bench.may() == .may(1))
    }

    @Test("takes a suspected credential for refused if nothing is accepted until the next refusal")
    func suspectedAgain() {
        var bench = HealthBench()
        bench.note(.credentialSuspected(reason: "ExpiredProviderToken"))
        bench.pass(LaneThrottle.memory)
        let refused = bench.note(.credentialSuspected(reason: "ExpiredProviderToken"))
        #expect(refused == .announceRefusal(reason: "ExpiredProviderToken"))
        #expect(bench.may() == .mayNot(.credentialRefused, until: nil))
        #expect(bench.health.wait?.cause == .credentialRefused)
        #expect(bench.note(.usable(HealthBench.route)) == .retry)
        #expect(bench.may() == .may(1))
    }

    @Test("keeps its breaker closed to one throttle signal while a push tries the credential")
    func throttledTry() {
        var bench = HealthBench()
        bench.note(.credentialRefused(reason: "Forbidden"))
        bench.note(.usable(HealthBench.route))
        #expect(bench.answer(signals: 15) == false && bench.may() == .may(1))
        #expect(bench.answer(signals: 1) == true)
    }

    @Test("keeps the pause of an open circuit breaker when its credential is refused")
    func refusedWhileOpen() {
        var bench = HealthBench()
        bench.answer(signals: 16)
        let until = bench.now + .seconds(30)
        bench.note(.credentialRefused(reason: "Forbidden"))
        bench.note(.usable(HealthBench.route))
        #expect(bench.may() == .mayNot(.throttled, until: until))
        bench.pass(.seconds(30))
        bench.pass(LaneThrottle.memory)
        #expect(bench.may() == .may(1), "the credential is still suspected")
    }

    @Test("announces a refused topic once per pause")
    func refusedTopic() {
        var bench = HealthBench()
        let refusal = LaneHealth.Event.topicRefused(HealthBench.route, for: .seconds(60))
        #expect(bench.note(refusal) == .announceRefusedTopic(HealthBench.route))
        #expect(bench.note(refusal) == nil && bench.health.refusesTopic(of: HealthBench.route))
        bench.note(.usable(HealthBench.route))
        #expect(bench.health.refusesTopic(of: HealthBench.route), "another resolve does not end it")
        bench.pass(.seconds(60))
        #expect(bench.note(refusal) == .announceRefusedTopic(HealthBench.route))
    }

    @Test("can be forgotten only if nothing is worth remembering", arguments: LaneCauseCase.all)
    func calm(_ row: LaneCauseCase) {
        var bench = HealthBench()
        #expect(bench.health.isCalm(bench.now))
        bench.note(row.begins)
        // Findings of the last resolve are found again.
        let isFound = if case .waits = row.begins { true } else { row.begins == .closed }
        #expect(bench.health.isCalm(bench.now) == isFound)
        bench.note(.closed)
        bench.pass(.seconds(60))
        #expect(bench.health.isCalm(bench.now))
    }
}

@Suite("The reports of a lane's health")
struct LaneHealthReportTests {
    @Test("tell each outage when it begins, when its reason changes, and when it ends")
    func outage() {
        var bench = HealthBench()
        bench.note(.blocked(.unreachable, reason: "name not known"))
        let first = LaneHealth.Wait(.unreachable, reason: "name not known", since: bench.now)
        #expect(bench.health.takeReports() == [.report(first, before: nil)])
        #expect(bench.health.takeReports().isEmpty && bench.health.wait == first)
        let since = bench.now
        bench.pass(.seconds(5))
        bench.note(.blocked(.tlsRefused, reason: "expired"))
        let second = LaneHealth.Wait(.tlsRefused, reason: "expired", since: since)
        #expect(bench.health.takeReports() == [.report(second, before: first)])
        bench.note(.recovered)
        #expect(!bench.health.isQuiet, "the end is not reported yet")
        #expect(bench.health.takeReports() == [.report(nil, before: second)])
        #expect(bench.health.isQuiet)
    }

    @Test("tell each opening of the circuit breaker, a longer pause, and that it closed, but no try")
    func breaker() {
        var bench = HealthBench()
        func reports() -> [(MonotonicInstant?, MonotonicInstant?)] {
            bench.health.takeReports().map { action in
                guard case .report(let wait, _) = action else { return (nil, nil) }
                return (wait?.since, wait?.until)
            }
        }
        let start = bench.now
        bench.answer(signals: 16)
        #expect(reports().map(\.1) == [start + .seconds(30)])
        bench.pass(.milliseconds(900))
        bench.answer(signals: 1)
        #expect(reports().isEmpty, "the breaker stays open hardly longer")
        bench.pass(.milliseconds(200))
        bench.answer(signals: 1)
        #expect(reports().map(\.1) == [start + .milliseconds(31_100)])
        bench.pass(.seconds(30))
        #expect(bench.may() == .may(1) && reports().isEmpty)
        bench.answer(signals: 1)
        let again = reports()
        #expect(again.map(\.0) == [start] && again.map(\.1) == [bench.now + .seconds(30)])
        bench.pass(.seconds(30))
        bench.pass(LaneThrottle.memory)
        #expect(reports().map(\.0) == [nil] && bench.health.wait == nil)
        #expect(reports().isEmpty)
    }

    @Test("tell why there is no token, however often one is tried, and when that is over")
    func missingToken() {
        for ends in [true, false] {
            var bench = HealthBench()
            bench.note(.waits(HealthBench.route, .credentialPending))
            #expect(bench.health.takeReports().isEmpty && bench.health.wait == nil, "a fetch has a deadline")
            let wait = LaneHealth.Wait(.tokenMissing, reason: "invalid_grant", since: bench.now)
            bench.note(.waits(HealthBench.route, .tokenMissing, reason: "invalid_grant"))
            #expect(bench.health.takeReports() == [.report(wait, before: nil)] && bench.health.wait == wait)
            bench.pass(.seconds(60))
            bench.note(.waits(HealthBench.route, .credentialPending))
            bench.note(.waits(HealthBench.route, .tokenMissing, reason: "invalid_grant"))
            #expect(bench.health.takeReports().isEmpty && bench.health.wait == wait)
            #expect(!bench.health.isCalm(bench.now), "its end is not reported yet")
            if ends { bench.note(.usable(HealthBench.route)) } else { bench.health.leaveUnused() }
            #expect(bench.health.takeReports() == [.report(nil, before: wait)])
            #expect(bench.health.isCalm(bench.now) && bench.health.isQuiet)
        }
    }

    @Test("tell which of its routes wait for a topic, and since when")
    func routes() {
        var bench = HealthBench()
        let start = bench.now
        bench.note(.topicRefused(HealthBench.route, for: .seconds(60), reason: "TopicDisallowed"))
        bench.note(.waits(HealthBench.other, .topicMissing))
        #expect(bench.health.takeReports() == [.reportRoutes])
        #expect(bench.health.takeReports().isEmpty)
        #expect(bench.health.routeWaits.map(\.route) == [HealthBench.route, HealthBench.other])
        #expect(bench.health.routeWaits.map(\.wait.cause) == [.topicRefused, .topicMissing])
        #expect(bench.health.routeWaits.map(\.wait.reason) == ["TopicDisallowed", ""])
        #expect(bench.health.routeWaits.map(\.wait.since) == [start, start] && bench.health.wait == nil)
        bench.note(.waits(HealthBench.other, .topicMissing))
        #expect(bench.health.takeReports().isEmpty)
        bench.pass(.seconds(60))
        bench.note(.usable(HealthBench.other))
        #expect(bench.health.routeWaits.isEmpty && !bench.health.isQuiet)
        #expect(bench.health.takeReports() == [.reportRoutes] && bench.health.isQuiet)
    }

    @Test("tell of an open circuit breaker beside an outage, which users see first")
    func both() {
        var bench = HealthBench()
        bench.note(.blocked(.unreachable, reason: ""))
        bench.answer(signals: 16)
        #expect(bench.health.takeReports().count == 2 && bench.health.wait?.cause == .unreachable)
        bench.note(.recovered)
        #expect(bench.health.takeReports().count == 1 && bench.health.wait?.cause == .throttled)
    }
}

@Suite("A lane's proof that its credential is accepted")
struct LaneProofTests {
    @Test("lasts for ten minutes after the last accepted push")
    func lasts() {
        var bench = HealthBench()
        #expect(!bench.health.isProven(bench.now))
        bench.health.noteProof(accepted: 1, refused: 4, bench.now)
        #expect(bench.health.isProven(bench.now + .seconds(599)) && !bench.health.isCalm(bench.now + .seconds(599)))
        #expect(!bench.health.isProven(bench.now + .seconds(600)) && bench.health.isCalm(bench.now + .seconds(600)))
    }

    @Test("ends after twenty refusals without an accepted push in between")
    func disproved() {
        var bench = HealthBench()
        bench.health.noteProof(accepted: 1, refused: 0, bench.now)
        bench.health.noteProof(accepted: 0, refused: 19, bench.now)
        #expect(bench.health.isProven(bench.now))
        bench.health.noteProof(accepted: 1, refused: 5, bench.now)
        bench.health.noteProof(accepted: 0, refused: 20, bench.now)
        #expect(!bench.health.isProven(bench.now))
        bench.health.noteProof(accepted: 1, refused: 0, bench.now)
        #expect(bench.health.isProven(bench.now))
    }
}
