import Basis
import Model
import QueueRules
import RegistryRules

/// The effects of a batch of verdicts.
package struct SimulatedVerdictReport: Equatable, Sendable {
    package var retired = 0
    package var suspected = 0
    package var cleared = 0
    /// Routes whose tokens were found in the other environment, and did not move.
    package var suspectRoutes: [RouteID] = []
}

/// The effects of a check of suspicions.
package struct SimulatedSuspicionReport: Equatable, Sendable {
    package let judged: Int
    package let retired: Int
}

extension SimulatedStore {
    package mutating func applyVerdicts(
        _ verdicts: [GuardedVerdict], under rule: SuspicionRule, now: WallInstant
    ) -> SimulatedVerdictReport {
        var report = SimulatedVerdictReport()
        let verdicts = SimulatedStore.eachOnce(verdicts)
        report.suspectRoutes = count(verdicts, rule, now)
        for verdict in verdicts.map({ report.suspectRoutes.contains($0.route) ? $0.staying : $0 }) {
            guard let place = placeOfRegistration(verdict.registration) else { continue }
            let status = registrations[place].status(
                isGuarded: isGuarded(registrations[place].stored.route, rule, now))
            guard let state = TokenLifecycle.judge(verdict, status: status) else { continue }
            if state == .active { registrations[place].isUnproven = false }
            if state == .suspected, registrations[place].blamedAt == nil, status.unproven?.counts(verdict) == true {
                registrations[place].blamedAt = now
            }
            // The first push of a token that nobody suspected changes nothing else.
            if status.state == .active, verdict.verdict == .cleared { continue }
            apply(state, verdict, place, &report, now)
        }
        return report
    }

    /// One verdict per registration, by rising id: the gravest, and among equals the last.
    private static func eachOnce(_ verdicts: [GuardedVerdict]) -> [GuardedVerdict] {
        var kept: [GuardedVerdict] = []
        for verdict in verdicts {
            guard let place = kept.firstIndex(where: { $0.registration == verdict.registration }) else {
                kept.append(verdict)
                continue
            }
            if !kept[place].isDeath || verdict.isDeath { kept[place] = verdict }
        }
        return kept.sorted { $0.registration < $1.registration }
    }

    private mutating func apply(
        _ state: RegistrationState, _ verdict: GuardedVerdict, _ place: Int, _ report: inout SimulatedVerdictReport,
        _ now: WallInstant
    ) {
        let row = registrations[place]
        registrations[place].stored.state = state
        switch (state, verdict.verdict) {
        case (.retired, .suspected(let reason)), (.retired, .suspectedInBoth(let reason)),
            (.retired, .unregistered(_, let reason)):
            if case .suspectedInBoth = verdict.verdict { registrations[place].noteCompared() }
            report.retired += 1
            forgetSuspicion(row.id)
            publish(.retired, reason, of: row, now)
        case (.active, .found(let route)):
            registrations[place].move(to: route)
            if row.stored.state == .suspected {
                report.cleared += 1
                forgetSuspicion(row.id)
                publish(.cleared, "accepted", of: row, now)
            }
            guard let from = self.route(row.stored.route), let to = self.route(route) else { return }
            let change = EnvironmentChange(from: from.environment, to: to.environment)
            publish(.environmentChanged, "accepted", of: row, now, change)
        case (.suspected, .suspected(let reason)), (.suspected, .suspectedInBoth(let reason)):
            suspicion(row, reason, now)
            if case .suspectedInBoth = verdict.verdict { registrations[place].noteCompared() }
            guard row.stored.state != .suspected else { return }
            report.suspected += 1
            publish(.suspected, reason, of: row, now)
        default:
            report.cleared += 1
            forgetSuspicion(row.id)
            publish(.cleared, "accepted", of: row, now)
        }
    }

    /// Repeats the pending suspicion, or opens a window.
    private mutating func suspicion(_ row: RegistrationRow, _ reason: String, _ now: WallInstant) {
        if let place = suspicions.firstIndex(where: { $0.registration == row.id }) {
            suspicions[place].repeatedAt = now
            return
        }
        suspicions.append(
            SuspicionRow(
                registration: row.id, route: row.stored.route, generation: row.stored.generation, reason: reason,
                suspectedAt: now, checkAt: now))
        suspicions.sort { $0.registration < $1.registration }
    }

    /// Counts found tokens in the minutes of their routes. → routes where too many were found
    private mutating func count(_ verdicts: [GuardedVerdict], _ rule: SuspicionRule, _ now: WallInstant) -> [RouteID] {
        let found = verdicts.filter(\.isFound)
        for verdict in found {
            guard let place = placeOfRegistration(verdict.registration), registrations[place].isLive,
                registrations[place].stored.generation == verdict.generation
            else { continue }
            let minute = placeOfMinute(registrations[place].stored.route, now)
            minutes[minute].found += 1
        }
        return Set(found.map(\.route)).sorted().filter { !rule.letsMove(findings(on: $0, rule, now)) }
    }

    /// Whether the route's latest answers look like a mistake of ours.
    private func isGuarded(_ route: RouteID, _ rule: SuspicionRule, _ now: WallInstant) -> Bool {
        let own = minutes.filter { $0.route == route && $0.minute >= (now + (.zero - rule.window)).minute }
        return rule.isBatch(
            AnswerSample(
                answered: own.reduce(0) { $0 + $1.answered }, suspected: own.reduce(0) { $0 + $1.suspected }))
    }

    private func findings(on route: RouteID, _ rule: SuspicionRule, _ now: WallInstant) -> RouteFindings {
        let since = (now + (.zero - rule.window)).minute
        let first = since + (.zero - SuspicionRule.windowMax)
        let own = minutes.filter { $0.route == route && $0.minute >= first }
        let window = own.filter { $0.minute >= since }
        return RouteFindings(
            found: window.reduce(0) { $0 + $1.found }, answered: window.reduce(0) { $0 + $1.answered },
            borneOut: own.filter { $0.minute < since }.reduce(0) { $0 + $1.answered - $1.suspected - $1.found })
    }

    private mutating func placeOfMinute(_ route: RouteID, _ now: WallInstant) -> Int {
        if let place = minutes.firstIndex(where: { $0.route == route && $0.minute == now.minute }) { return place }
        minutes.append(RouteMinute(route: route, minute: now.minute))
        return minutes.count - 1
    }

    package mutating func count(_ sample: AnswerSample, on route: RouteID, _ now: WallInstant) {
        guard sample != AnswerSample() else { return }
        let place = placeOfMinute(route, now)
        minutes[place].answered += sample.answered
        minutes[place].suspected += sample.suspected
    }

    /// Judges due suspicions by the answers of their route since the minute in which they arose (P5).
    @discardableResult
    package mutating func confirmSuspicions(
        _ rule: SuspicionRule, now: WallInstant, atMost limit: Int = UpkeepLimits().judgedMax
    ) -> SimulatedSuspicionReport {
        let inOrder = suspicions.filter { $0.checkAt <= now }.sorted { left, right in
            left.checkAt == right.checkAt ? left.registration < right.registration : left.checkAt < right.checkAt
        }
        let due = inOrder.prefix(limit).sorted { $0.registration < $1.registration }
        var retired = 0
        for (suspicion, judgement) in due.map({ ($0, rule.judge(status($0, rule, now))) }) {
            switch judgement {
            case .waits(let pause):
                guard let place = suspicions.firstIndex(where: { $0.registration == suspicion.registration }) else {
                    continue
                }
                suspicions[place].checkAt = now + pause
            case .dropped: forgetSuspicion(suspicion.registration)
            case .confirmed:
                forgetSuspicion(suspicion.registration)
                if retire(suspicion, now) { retired += 1 }
            }
        }
        return SimulatedSuspicionReport(judged: due.count, retired: retired)
    }

    private func status(_ suspicion: SuspicionRow, _ rule: SuspicionRule, _ now: WallInstant) -> PendingSuspicion {
        let since = suspicion.suspectedAt.minute
        return PendingSuspicion(
            age: now - suspicion.suspectedAt, repeatedAfter: suspicion.repeatedAt.map { $0 - suspicion.suspectedAt },
            inWindow: sampleOf(suspicion.route, within: since...since + rule.window),
            sinceThen: sampleOf(suspicion.route, within: since...since + SuspicionRule.windowMax))
    }

    private mutating func retire(_ suspicion: SuspicionRow, _ now: WallInstant) -> Bool {
        guard let place = placeOfRegistration(suspicion.registration),
            registrations[place].stored.generation == suspicion.generation,
            registrations[place].stored.state == .suspected,
            registrations[place].registeredAt <= suspicion.suspectedAt
        else { return false }
        publish(.retired, suspicion.reason, of: registrations[place], now)
        registrations[place].stored.state = .retired
        return true
    }

    private func sampleOf(_ route: RouteID, within window: ClosedRange<WallInstant>) -> AnswerSample {
        minutes.reduce(into: AnswerSample()) { sample, minute in
            guard minute.route == route, window.contains(minute.minute) else { return }
            sample.answered += minute.answered
            sample.suspected += minute.suspected
        }
    }
}

extension RegistrationRow {
    /// Moves the registration to the environment where its token was found.
    fileprivate mutating func move(to found: RouteID) {
        let named = stored.route
        stored.route = found
        stored.beginGeneration(stored.generation.next)
        noteCompared()
        stored.mistakenRoute = named
    }

    fileprivate mutating func noteCompared() {
        environmentsCompared = stored.generation
        stored.mistakenRoute = nil
    }
}

extension GuardedVerdict {
    fileprivate var isDeath: Bool {
        if case .unregistered = verdict { true } else { false }
    }

    var isFound: Bool {
        if case .found = verdict { true } else { false }
    }
}

extension WallInstant {
    /// The beginning of its minute.
    package var minute: WallInstant { WallInstant(secondsSince1970: secondsSince1970 / 60 * 60) }
}
