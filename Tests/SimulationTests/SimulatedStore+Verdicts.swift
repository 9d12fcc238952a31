import DeliveryRules
import PushModel

/// What a batch of verdicts did.
struct SimulatedVerdictReport: Equatable, Sendable {
    var retired = 0
    var suspected = 0
    var cleared = 0
}

extension SimulatedStore {
    mutating func applyVerdicts(
        _ verdicts: [GuardedVerdict], now: WallInstant
    ) -> SimulatedVerdictReport {
        var report = SimulatedVerdictReport()
        for verdict in SimulatedStore.eachOnce(verdicts) {
            guard let place = placeOfRegistration(verdict.registration),
                let state = TokenLifecycle.judge(verdict, standing: registrations[place].standing)
            else { continue }
            apply(state, verdict, place, &report, now)
        }
        return report
    }

    /// One verdict a registration, by rising id: the gravest, and of equals the last.
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
        forgetSuspicion(row.id)
        switch (state, verdict.verdict) {
        case (.retired, .unregistered(_, let reason)):
            report.retired += 1
            tell(.retired, reason, of: row, now)
        case (.suspected, .suspected(let reason)):
            report.suspected += 1
            suspicions.append(
                SuspicionRow(
                    registration: row.id, route: row.stored.route, generation: verdict.generation, reason: reason,
                    suspectedAt: now))
            suspicions.sort { $0.registration < $1.registration }
            tell(.suspected, reason, of: row, now)
        default:
            report.cleared += 1
            tell(.cleared, "accepted", of: row, now)
        }
    }

    mutating func count(_ sample: AnswerSample, on route: RouteID, _ now: WallInstant) {
        guard sample != AnswerSample() else { return }
        let minute = now.minute
        if let place = minutes.firstIndex(where: { $0.route == route && $0.minute == minute }) {
            minutes[place].answered += sample.answered
            minutes[place].suspected += sample.suspected
            return
        }
        minutes.append(
            RouteMinute(
                route: route, minute: minute, answered: sample.answered, suspected: sample.suspected))
    }

    /// Doubts that have stood for the window: confirmed where what the route answered in the window that began with
    /// the doubt's minute bears them out (P5).
    @discardableResult
    mutating func confirmSuspicions(_ rule: SuspicionRule, now: WallInstant) -> Int {
        let due = suspicions.filter { suspicion in
            let since = suspicion.suspectedAt.minute
            let sample = sampleOf(suspicion.route, within: since...since + rule.window)
            return rule.confirms(suspectedFor: now - suspicion.suspectedAt, sample: sample)
        }
        var confirmed = 0
        for suspicion in due {
            guard let place = placeOfRegistration(suspicion.registration),
                registrations[place].stored.generation == suspicion.generation,
                registrations[place].stored.state == .suspected,
                registrations[place].registeredAt <= suspicion.suspectedAt
            else { continue }
            tell(.retired, suspicion.reason, of: registrations[place], now)
            registrations[place].stored.state = .retired
            forgetSuspicion(suspicion.registration)
            confirmed += 1
        }
        return confirmed
    }

    private func sampleOf(_ route: RouteID, within window: ClosedRange<WallInstant>) -> AnswerSample {
        minutes.reduce(into: AnswerSample()) { sample, minute in
            guard minute.route == route, window.contains(minute.minute) else { return }
            sample.answered += minute.answered
            sample.suspected += minute.suspected
        }
    }
}

extension GuardedVerdict {
    fileprivate var isDeath: Bool {
        if case .unregistered = verdict { true } else { false }
    }
}

extension WallInstant {
    /// Its minute's beginning.
    var minute: WallInstant { WallInstant(secondsSince1970: secondsSince1970 / 60 * 60) }
}
