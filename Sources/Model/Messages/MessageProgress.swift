import Basis

/// How far a message is, in one snapshot: its account, where the pushes are that have not ended, what they wait for, and
/// how fast their providers answer.
package struct MessageProgress: Equatable, Sendable {
    package let account: MessageAccount
    /// By the database's clock.
    package let at: WallInstant
    /// Rising by their numbers.
    package let providers: [ProviderProgress]
    /// The largest first.
    package let waits: [PushWait]
    /// For all of `waits`: when the last of those that are due later is.
    package let lastDue: WallInstant?
    /// While planners go through the app's ids: how much of them lies behind, from 0 to 1. nil: the audience is known, or
    /// is not found by ids.
    package let scanned: Double?

    package init(
        account: MessageAccount, at: WallInstant, providers: [ProviderProgress], waits: [PushWait],
        lastDue: WallInstant? = nil, scanned: Double? = nil
    ) {
        self.account = account
        self.at = at
        self.providers = providers
        self.waits = waits
        self.lastDue = lastDue
        self.scanned = scanned
    }

    /// Whether a later look shows anything else than that time went by.
    package func isSame(as other: MessageProgress) -> Bool {
        account == other.account && waits == other.waits && providers.count == other.providers.count
            && zip(providers, other.providers).allSatisfy { $0.withoutPace == $1.withoutPace }
    }

    /// Nothing of it will change any more. Of a cancelled one what was in flight is answered, and the rest counted.
    package var isOver: Bool {
        switch account.state {
        case .finished: true
        case .cancelled: account.pending == 0 && account.audience != nil
        case .accepted, .scheduled, .planning, .sending, .paused: false
        }
    }
}

/// One provider's part: `sending`, `ready` and `waiting` are its pending pushes.
package struct ProviderProgress: Equatable, Sendable {
    package let provider: Provider
    /// A process has them.
    package let sending: Int64
    /// Nothing keeps them but their turn.
    package let ready: Int64
    /// For what `MessageProgress.waits` tells.
    package let waiting: Int64
    /// Why its pushes ended, the most frequent first, and not all where there are many.
    package let reasons: [TerminalTotal]
    /// Pushes that ended for reasons which are not told.
    package let otherReasons: Int64
    /// How fast its pushes ended of late; nil: nothing can be said.
    package let pace: Pace?

    package init(
        provider: Provider, sending: Int64, ready: Int64, waiting: Int64, reasons: [TerminalTotal], otherReasons: Int64,
        pace: Pace?
    ) {
        self.provider = provider
        self.sending = sending
        self.ready = ready
        self.waiting = waiting
        self.reasons = reasons
        self.otherReasons = otherReasons
        self.pace = pace
    }

    fileprivate var withoutPace: ProviderProgress {
        ProviderProgress(
            provider: provider, sending: sending, ready: ready, waiting: waiting, reasons: reasons,
            otherReasons: otherReasons, pace: nil)
    }
}

/// So many pushes that ended, in so much time.
package struct Pace: Equatable, Sendable {
    package let ended: Int64
    package let time: Duration
    /// For how long none has ended.
    package let idle: Duration

    /// nil where nothing ended, or the time is too short to say anything.
    package init?(ended: Int64, in time: Duration, idle: Duration = .zero) {
        guard ended > 0, time >= Self.shortest else { return nil }
        self.ended = ended
        self.time = time
        self.idle = max(.zero, idle)
    }

    /// Less is the noise of one settle: they come up to a second late.
    private static let shortest: Duration = .seconds(2)

    /// The last ones of a message are late by more than that: something keeps them, and nobody knows until when.
    private static let lateMax: Duration = .seconds(5)

    package var perSecond: Double { Double(ended) / Self.seconds(time) }

    /// nil: no estimate is worth its words, or so many should have ended by now.
    package func lasting(for pushes: Int64) -> Duration? {
        let seconds = Double(max(0, pushes)) / perSecond
        guard seconds < Self.secondsMax else { return nil }
        let time = Duration.milliseconds(Int64(seconds * 1_000))
        return idle > time + time + Self.lateMax ? nil : time
    }

    /// A year.
    private static let secondsMax = 366.0 * 86_400

    private static func seconds(_ time: Duration) -> Double { Double(time.wholeNanoseconds) / 1e9 }
}

/// Pushes of a message that nobody takes up at present, and why.
package struct PushWait: Equatable, Sendable {
    /// The numbers stand in statements.
    package enum Cause: Int16, Sendable {
        /// Until it is resumed; or, of a cancelled message, until they are counted.
        case onHold = 3
        /// Until an hour: a pause after an attempt, or what the message's options ask for.
        case later = 4
        /// No active credential covers them.
        case credential = 5
        /// The provider refuses the credential.
        case credentialRefused = 6
        /// No process that tells of it gets a connection.
        case unreachable = 7
        /// Their provider answers most pushes that it wants less.
        case throttled = 8
    }

    package let cause: Cause
    package let provider: Provider
    package let environment: PushEnvironment
    /// Empty where the credential's only one is meant.
    package let topic: String
    package let pushes: Int64
    package let since: WallInstant?
    /// When the first of them is due, or tried next.
    package let until: WallInstant?
    package let reason: String?

    package init(
        cause: Cause, provider: Provider, environment: PushEnvironment, topic: String, pushes: Int64,
        since: WallInstant? = nil, until: WallInstant? = nil, reason: String? = nil
    ) {
        self.cause = cause
        self.provider = provider
        self.environment = environment
        self.topic = topic
        self.pushes = pushes
        self.since = since
        self.until = until
        self.reason = reason
    }
}

extension MessageProgress {
    /// Of less than this share of the ids nobody should conclude what the others hold.
    private static let scannedMin = 0.02

    /// Of all its providers, while any of its pushes is left; nil: nothing can be said.
    package var pushesPerSecond: Double? {
        guard account.state == .sending || account.state == .planning else { return nil }
        let paces = providers.compactMap(\.pace)
        guard !paces.isEmpty else { return nil }
        return min(paces.reduce(0) { $0 + $1.perSecond }, account.ratePerSecond.map(Double.init) ?? .infinity)
    }

    /// The audience; while it is being found, how large it will be if the rest of the ids holds as many as those that lie
    /// behind. nil: nothing can be said.
    package var estimatedAudience: Int64? {
        if let audience = account.audience { return audience }
        let found = account.outcomes.reduce(account.pending, +)
        guard found > 0, let scanned, scanned >= Self.scannedMin else { return nil }
        return account.providers.reduce(found) { $0 + coming(to: $1.provider) }
    }

    /// Pushes of a provider that planners have still to find.
    private func coming(to provider: Provider) -> Int64 {
        guard account.audience == nil, let scanned, scanned >= Self.scannedMin, scanned < 1,
            let found = account.providers.first(where: { $0.provider == provider })?.members
        else { return 0 }
        return Int64(Double(found) / scanned + 0.5) - found
    }

    /// Whether so few are still to be sent to a provider that it makes no difference how fast they are: most often those
    /// that are tried again, one by one.
    private func isNearlyAll(of part: ProviderProgress, but few: Int64) -> Bool {
        guard let account = account.providers.first(where: { $0.provider == part.provider }) else { return false }
        return few * Self.fewOf <= account.members - account.pending
    }

    /// One in so many.
    private static let fewOf: Int64 = 100

    /// When its last push may have ended, where each provider goes on as it answers now; nil where something has to
    /// happen first, or nothing can be said.
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
            // Of whom everything was sent that has been found: planners are slower than that provider, and whoever has
            // something open will tell how slow.
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
