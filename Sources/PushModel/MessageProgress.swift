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

    package init(
        account: MessageAccount, at: WallInstant, providers: [ProviderProgress], waits: [PushWait],
        lastDue: WallInstant? = nil
    ) {
        self.account = account
        self.at = at
        self.providers = providers
        self.waits = waits
        self.lastDue = lastDue
    }

    /// Whether a later look shows anything else than that time went by.
    package func tellsTheSame(as other: MessageProgress) -> Bool {
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
    package let reasons: [EndingTotal]
    /// Pushes that ended for reasons which are not told.
    package let otherReasons: Int64
    /// What its routes answered of late; nil: nothing can be said.
    package let pace: Pace?

    package init(
        provider: Provider, sending: Int64, ready: Int64, waiting: Int64, reasons: [EndingTotal], otherReasons: Int64,
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

/// So many answers in so much time.
package struct Pace: Equatable, Sendable {
    package let answered: Int64
    package let time: Duration

    /// nil where the time is too short to say anything.
    package init?(answered: Int64, in time: Duration) {
        guard time >= Self.shortest else { return nil }
        self.answered = max(0, answered)
        self.time = time
    }

    /// Less is the noise of one settle.
    private static let shortest: Duration = .seconds(1)

    package var perSecond: Double { Double(answered) / Self.seconds(time) }

    /// nil: never, at this pace.
    package func lasting(for pushes: Int64) -> Duration? {
        guard pushes > 0 else { return .zero }
        guard answered > 0 else { return nil }
        let seconds = Double(pushes) / perSecond
        return seconds < Self.secondsMax ? .milliseconds(Int64(seconds * 1_000)) : nil
    }

    /// A year: beyond it no estimate is worth its words.
    private static let secondsMax = 366.0 * 86_400

    private static func seconds(_ time: Duration) -> Double { Double(time.wholeNanoseconds) / 1e9 }
}

/// Pushes of a message that nobody takes up at present, and why.
package struct PushWait: Equatable, Sendable {
    /// The numbers stand in statements.
    package enum Cause: Int16, Sendable {
        /// Until it is resumed; or, of a cancelled message, until they are counted.
        case held = 3
        /// Until an hour: a pause after an attempt, or what the message's options ask for.
        case later = 4
        /// No active credential covers them.
        case credential = 5
        /// The provider refuses the credential.
        case credentialRefused = 6
        /// No process that tells of it gets a connection.
        case unreachable = 7
    }

    package let cause: Cause
    package let provider: Provider
    package let environment: PushEnvironment
    /// Empty where the credential's only one is meant.
    package let topic: String
    package let pushes: Int64
    package let since: WallInstant?
    /// When the first of them is due.
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
    /// Of a message whose pushes are due later than this, nobody can say when it ends.
    private static var foresight: Duration { .seconds(3_600) }

    /// Of all its providers, while any of its pushes is left; nil: nothing can be said.
    package var pushesPerSecond: Double? {
        guard account.state == .sending || account.state == .planning else { return nil }
        let paces = providers.compactMap(\.pace)
        guard !paces.isEmpty else { return nil }
        return min(paces.reduce(0) { $0 + $1.perSecond }, account.ratePerSecond.map(Double.init) ?? .infinity)
    }

    /// When its last push may have ended, where each provider goes on as it answers now; nil where something has to
    /// happen first, or nothing can be said.
    package var estimatedEnd: WallInstant? {
        guard account.state == .sending, account.audience != nil, waits.allSatisfy({ $0.cause == .later }) else {
            return nil
        }
        var end = at
        for part in providers {
            let pushes = part.sending + part.ready + part.waiting
            guard pushes > part.waiting else { continue }
            guard let time = part.pace?.lasting(for: pushes) else { return nil }
            end = max(end, at + time)
        }
        if let rate = account.ratePerSecond {
            let pushes = providers.reduce(0) { $0 + $1.sending + $1.ready }
            end = max(end, at + .milliseconds(pushes * 1_000 / Int64(rate)))
        }
        guard let lastDue else { return end }
        return lastDue - at <= Self.foresight ? max(end, lastDue) : nil
    }
}
