import Basis
import Model
import Postgres
import QueueRules
import RegistryRules

/// The number of registrations that really changed.
package struct VerdictReport: Equatable, Sendable {
    package let retired: Int
    package let suspected: Int
    package let cleared: Int
    /// Routes with too many tokens found in the other environment to move them there.
    package var suspectRoutes: [SuspectRoute]

    package init(retired: Int, suspected: Int, cleared: Int, suspectRoutes: [SuspectRoute] = []) {
        (self.retired, self.suspected, self.cleared, self.suspectRoutes) = (retired, suspected, cleared, suspectRoutes)
    }
}

/// The result of judging the due suspicions.
package struct SuspicionReport: Equatable, Sendable {
    /// Suspicions that were judged: retired, dropped, or left to wait for more answers.
    package let judged: Int
    package let retired: Int

    package init(judged: Int, retired: Int) { (self.judged, self.retired) = (judged, retired) }
}

extension ParcelStore {
    /// Suspicions that one call judges, so that it never holds many locks.
    package static let judgedMax = 5_000

    /// Applies verdicts about tokens, in a transaction of its own before the settle: a verdict stays true if the lease
    /// was lost meanwhile.
    ///
    /// Each is a compare-and-set on the generation and the registration time (`TokenLifecycle.judge`). Feedback is
    /// written for those that really changed.
    ///
    /// - Parameters:
    ///   - rule: limits how many of a route's tokens may move to the other environment, and guards the route.
    ///   - waitsBriefly: throws `.contended` if others hold one of its rows for long. It is for verdicts that other
    ///     work waits for.
    package func applyVerdicts(
        _ verdicts: [GuardedVerdict], under rule: SuspicionRule, waitsBriefly: Bool = false, now: WallInstant? = nil
    ) async throws(StoreFault) -> VerdictReport {
        let verdicts = Self.eachOnce(verdicts)
        guard !verdicts.isEmpty else { return VerdictReport(retired: 0, suspected: 0, cleared: 0) }
        let options = waitsBriefly ? TransactionOptions(lockTimeout: LockTimeout.brief) : TransactionOptions()
        if verdicts.contains(where: { $0.verdict.foundOn != nil }) {
            return try await applyFindings(verdicts, under: rule, options, now: now)
        }
        let statements = [
            Query(PlannerSQL.throughKeys),
            Query(VerdictSQL.lock) { $0.int64Array("registrations", verdicts.map(\.registration.value)) },
            Query(VerdictSQL.judge) { $0.verdicts(verdicts, under: rule, now: now) },
        ]
        return try await translated(await pool.retryingRun(statements, options)[2].one(VerdictReport.init(_:)))
    }

    /// Judges the due suspicions. Any process may call it at any time. It is worth repeating after `judgedMax` were
    /// judged.
    package func confirmSuspicions(
        _ rule: SuspicionRule, now: WallInstant? = nil
    ) async throws(StoreFault) -> SuspicionReport {
        try await translated(
            await pool.retryingTransaction { transaction throws(PostgresError) -> SuspicionReport in
                let due = Query(VerdictSQL.lockDue) {
                    $0.instant("now", now)
                    $0.int64("limit", Int64(Self.judgedMax))
                }
                let ids = try await transaction.run(due).map(Int64.init)
                if ids.isEmpty { return SuspicionReport(judged: 0, retired: 0) }
                let confirm = Query(VerdictSQL.confirm) {
                    $0.rule(rule, now: now)
                    $0.int64Array("registrations", ids)
                }
                let answers = try await transaction.runAndCommit([Query(PlannerSQL.throughKeys), confirm])
                return SuspicionReport(judged: ids.count, retired: Int(try answers[1].one(Int64.init)))
            })
    }

    /// Keeps one verdict for each registration, by rising id: the gravest, and the last among equals.
    private static func eachOnce(_ verdicts: [GuardedVerdict]) -> [GuardedVerdict] {
        // The sort is stable.
        var kept: [GuardedVerdict] = []
        for verdict in verdicts.sorted(by: { $0.registration < $1.registration }) {
            if let last = kept.last, last.registration == verdict.registration {
                if last.verdict.target == .retired, verdict.verdict.target != .retired { continue }
                kept.removeLast()
            }
            kept.append(verdict)
        }
        return kept
    }
}

extension VerdictReport {
    init(_ row: inout Row) throws(PostgresError) {
        self.init(retired: Int(try row.int64()), suspected: Int(try row.int64()), cleared: Int(try row.int64()))
    }
}

extension TokenVerdict {
    /// The state that the verdict leads to, if it counts.
    fileprivate var target: RegistrationState {
        switch self {
        case .unregistered: .retired
        case .suspected, .suspectedInBoth: .suspected
        case .cleared, .found: .active
        }
    }

    fileprivate var reason: String {
        switch self {
        case .unregistered(_, let reason), .suspected(let reason), .suspectedInBoth(let reason): reason
        case .cleared, .found: "accepted"
        }
    }

    /// The route of the registration from here on; nil: it stays.
    var foundOn: RouteID? {
        if case .found(let route) = self { route } else { nil }
    }

    /// The environments need not be compared again.
    fileprivate var isCompared: Bool {
        switch self {
        case .suspectedInBoth, .found: true
        case .unregistered, .suspected, .cleared: false
        }
    }
}

extension GuardedVerdict {
    /// The time that the verdict speaks of. A registration later than this wins.
    fileprivate var bound: WallInstant {
        if case .unregistered(let since?, _) = verdict { since } else { asOf }
    }
}

extension Parameters {
    fileprivate mutating func rule(_ rule: SuspicionRule, now: WallInstant?) {
        instant("now", now)
        int64("window_us", rule.window.wholeMicroseconds)
        double("sample_min", Double(rule.sampleMin))
        double("share_max", rule.shareMax)
        int64("window_max_us", SuspicionRule.windowMax.wholeMicroseconds)
        int64("pause_us", SuspicionRule.checkAgainAfter.wholeMicroseconds)
    }

    mutating func verdicts(_ verdicts: [GuardedVerdict], under rule: SuspicionRule, now: WallInstant?) {
        int64Array("registrations", verdicts.map(\.registration.value))
        int32Array("generations", verdicts.map(\.generation.value))
        int16Array("states", verdicts.map(\.verdict.target.rawValue))
        instantArray("as_of", verdicts.map(\.bound))
        textArray("reasons", verdicts.map(\.verdict.reason))
        int64Array("found_on", verdicts.map { $0.verdict.foundOn?.value })
        boolArray("compared", verdicts.map(\.verdict.isCompared))
        boolArray("blames", verdicts.map(\.isBlame))
        instant("now", now)
        int64("window_us", rule.window.wholeMicroseconds)
        double("sample_min", Double(rule.sampleMin))
        double("share_max", rule.shareMax)
        double("whole_audience_min", Double(SuspicionRule.wholeAudienceMin))
    }
}
