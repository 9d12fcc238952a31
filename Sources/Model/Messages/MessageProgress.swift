import Basis

/// A message in one snapshot: its account, its pending pushes, the causes of their waits, and its pace.
package struct MessageProgress: Equatable, Sendable {
    package let account: MessageAccount
    /// The time of the snapshot, by the database's clock.
    package let at: WallInstant
    /// The parts by provider number.
    package let providers: [ProviderProgress]
    /// The waits, the largest first.
    package let waits: [PushWait]
    /// The pushes that can be sent, by what they wait for: their message's rate, or pushes before them.
    package let queued: [PushWait]
    /// The latest due time among all `waits` that are due later.
    package let lastDue: WallInstant?
    /// The share of the app's ids that planners have scanned, 0 to 1. nil: known already, or not found by scanning.
    package let scanned: Double?
    /// Why the message's audience is not cut to its end; nil: it is.
    package let planWait: PlanWait?
    /// The time of the pause or cancellation; nil: the message is not stopped, or all its pushes have ended.
    package let stoppedAt: WallInstant?

    package enum PlanWait: Equatable, Sendable {
        /// The message follows another one, whose pushes have not all had their first attempt.
        case predecessor(MessageID)
        /// Planners cut it slice by slice, in turn with others.
        case queued
        /// The audience could not be cut, for a reason that the log has.
        case setAside(until: WallInstant)
    }

    package init(
        account: MessageAccount, at: WallInstant, providers: [ProviderProgress], waits: [PushWait],
        queued: [PushWait] = [], lastDue: WallInstant? = nil, scanned: Double? = nil, planWait: PlanWait? = nil,
        stoppedAt: WallInstant? = nil
    ) {
        (self.account, self.at, self.providers) = (account, at, providers)
        (self.waits, self.queued, self.lastDue, self.scanned) = (waits, queued, lastDue, scanned)
        (self.planWait, self.stoppedAt) = (planWait, stoppedAt)
    }

    /// Whether a later query would show no more than elapsed time.
    package func isSame(as other: MessageProgress) -> Bool {
        account == other.account && waits == other.waits && queued == other.queued && planWait == other.planWait
            && providers.count == other.providers.count
            && zip(providers, other.providers).allSatisfy { $0.withoutPace == $1.withoutPace }
    }

    /// Whether nothing will change: of a cancelled message, once pushes in flight are answered and others counted.
    package var isOver: Bool {
        switch account.state {
        case .finished: true
        case .cancelled: account.pending == 0 && account.audience != nil
        case .accepted, .scheduled, .planning, .sending, .paused: false
        }
    }
}

/// One provider's part. `sending`, `ready` and `waiting` add up to its pending pushes.
package struct ProviderProgress: Equatable, Sendable {
    package let provider: Provider
    /// Pushes in leased parcels.
    package let sending: Int64
    /// Pushes that can be sent and only wait to be leased.
    package let ready: Int64
    /// Pushes with a cause in `MessageProgress.waits`.
    package let waiting: Int64
    /// The reasons of ended pushes, the most frequent first. Rare ones may be missing.
    package let reasons: [TerminalTotal]
    /// Pushes that ended for reasons not listed in `reasons`.
    package let otherReasons: Int64
    /// The recent pace of ended pushes; nil if unknown.
    package let pace: Pace?

    package init(
        provider: Provider, sending: Int64, ready: Int64, waiting: Int64, reasons: [TerminalTotal], otherReasons: Int64,
        pace: Pace?
    ) {
        (self.provider, self.sending, self.ready, self.waiting) = (provider, sending, ready, waiting)
        (self.reasons, self.otherReasons, self.pace) = (reasons, otherReasons, pace)
    }

    fileprivate var withoutPace: ProviderProgress {
        ProviderProgress(
            provider: provider, sending: sending, ready: ready, waiting: waiting, reasons: reasons,
            otherReasons: otherReasons, pace: nil)
    }
}

/// A number of pushes that ended within a period.
package struct Pace: Equatable, Sendable {
    package let ended: Int64
    package let time: Duration
    package let idle: Duration

    /// Returns nil if none ended, or if the period is too short for an estimate.
    package init?(ended: Int64, in time: Duration, idle: Duration = .zero) {
        guard ended > 0, time >= Self.shortest else { return nil }
        (self.ended, self.time) = (ended, time)
        self.idle = max(.zero, idle)
    }

    /// A shorter period shows the noise of single settles, which come up to a second late.
    private static let shortest: Duration = .seconds(2)

    /// The last pushes of a message are at most this late. Beyond it something blocks them for an unknown time.
    private static let lateMax: Duration = .seconds(5)

    package var perSecond: Double { Double(ended) / Self.seconds(time) }

    /// The time in which this many pushes end. nil if it exceeds a year, or if they should have ended by now.
    package func lasting(for pushes: Int64) -> Duration? {
        let seconds = Double(max(0, pushes)) / perSecond
        guard seconds < Self.secondsMax else { return nil }
        let time = Duration.milliseconds(Int64(seconds * 1_000))
        return idle > time + time + Self.lateMax ? nil : time
    }

    private static let secondsMax = 366.0 * 86_400

    private static func seconds(_ time: Duration) -> Double { Double(time.wholeNanoseconds) / 1e9 }
}

/// Pushes of a message that are not being sent, and the cause.
package struct PushWait: Equatable, Sendable {
    /// The cause. SQL statements contain the numbers.
    package enum Cause: Int16, CaseIterable, Sendable {
        /// The message is paused, or cancelled and its pushes are not yet counted.
        case onHold = 3
        /// The pushes are due later: after a retry's wait, or because of the message's options.
        case later = 4
        case credential = 5
        case credentialRefused = 6
        /// No process that reports about it gets a connection.
        case unreachable = 7
        case throttled = 8
        /// The credential gets no access token, or its provider token is refused.
        case token = 9
        /// The sealed credential does not open, or its secret does not work.
        case credentialUnusable = 10
        /// The provider refuses the topic to the credential.
        case topicRefused = 11
        /// The registrations name no topic, and the credential has several.
        case topicMissing = 12
        /// The process that was asked does not know the format of the pushes: a newer program wrote them.
        case newerProgram = 13
        /// The pushes can be sent, as fast as their message's rate allows.
        case rate = 14
        /// The pushes can be sent, and wait behind others.
        case turn = 15

        /// The name in the API.
        package var name: String {
            switch self {
            case .onHold: "resume"
            case .later: "later"
            case .credential: "credential"
            case .credentialRefused: "credential_refused"
            case .unreachable: "unreachable"
            case .throttled: "throttled"
            case .token: "token"
            case .credentialUnusable: "credential_unusable"
            case .topicRefused: "topic_refused"
            case .topicMissing: "topic_missing"
            case .newerProgram: "newer_program"
            case .rate: "rate"
            case .turn: "turn"
            }
        }

        /// Whether nothing is in the way of the pushes but other pushes: they count as ready.
        package var isReady: Bool { self == .rate || self == .turn }

        /// The causes that the processes find out, and report while they last.
        package static let reported: [Cause] = [
            .unreachable, .throttled, .token, .credentialUnusable, .topicRefused, .topicMissing,
        ]
    }

    package let cause: Cause
    package let provider: Provider
    package let environment: PushEnvironment
    /// The topic; empty means the credential's only topic.
    package let topic: String
    package let pushes: Int64
    /// Since when the cause keeps pushes; nil: unknown.
    package let since: WallInstant?
    package let until: WallInstant?
    /// The provider's word where it gave one; nil: the cause says it all.
    package let reason: String?

    package init(
        cause: Cause, provider: Provider, environment: PushEnvironment, topic: String, pushes: Int64,
        since: WallInstant? = nil, until: WallInstant? = nil, reason: String? = nil
    ) {
        (self.cause, self.provider, self.environment, self.topic) = (cause, provider, environment, topic)
        (self.pushes, self.since, self.until, self.reason) = (pushes, since, until, reason)
    }
}

extension MessageProgress {
    /// Below this share of scanned ids, no estimate is derived from them.
    private static let scannedMin = 0.02

    /// The pace of all its providers, while pushes are left; nil if unknown.
    package var pushesPerSecond: Double? {
        guard account.state == .sending || account.state == .planning else { return nil }
        let paces = providers.compactMap(\.pace)
        guard !paces.isEmpty else { return nil }
        return min(paces.reduce(0) { $0 + $1.perSecond }, account.ratePerSecond.map(Double.init) ?? .infinity)
    }

    /// The audience, or its estimate if the remaining ids hold as many members as the scanned ones; nil: unknown.
    package var estimatedAudience: Int64? {
        if let audience = account.audience { return audience }
        let found = account.outcomes.reduce(account.pending, +)
        guard found > 0, let scanned, scanned >= Self.scannedMin else { return nil }
        return account.providers.reduce(found) { $0 + coming(to: $1.provider) }
    }

    /// The estimated pushes of a provider that planners have not found yet.
    private func coming(to provider: Provider) -> Int64 {
        guard account.audience == nil, let scanned, scanned >= Self.scannedMin, scanned < 1,
            let found = account.providers.first(where: { $0.provider == provider })?.members
        else { return 0 }
        return Int64(Double(found) / scanned + 0.5) - found
    }

    /// Whether the pushes left are too few for their pace to matter: most often they are retried one by one.
    private func isNearlyAll(of part: ProviderProgress, but few: Int64) -> Bool {
        guard let account = account.providers.first(where: { $0.provider == part.provider }) else { return false }
        return few * Self.fewOf <= account.members - account.pending
    }

    /// The reciprocal of that share.
    private static let fewOf: Int64 = 100

    /// When its last push ends if each provider keeps its pace; nil: something has to happen first, or unknown.
    package var estimatedEnd: WallInstant? {
        guard account.state == .sending || account.state == .planning, estimatedAudience != nil,
            waits.allSatisfy({ $0.cause == .later })
        else { return nil }
        var end = at
        var pushes: Int64 = 0
        var withoutRate: Int64 = 0
        for part in providers {
            let (open, coming) = (part.sending + part.ready, coming(to: part.provider))
            pushes += open + coming
            // All pushes found for this provider are sent, so planning is slower than it is. The pace of providers with
            // open pushes shows how slow.
            guard open > 0 else {
                withoutRate += coming
                continue
            }
            if let time = part.pace?.lasting(for: open + part.waiting + coming) {
                end = max(end, at + time)
            } else if !isNearlyAll(of: part, but: open + coming) {
                return nil
            }
        }
        guard withoutRate == 0 || withoutRate < pushes else { return nil }
        if let rate = account.ratePerSecond { end = max(end, at + .milliseconds(pushes * 1_000 / Int64(rate))) }
        return max(end, lastDue ?? end)
    }
}
