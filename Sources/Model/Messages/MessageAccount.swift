import Basis

/// The states of a message. The numbers are stored in the database.
package enum MessageState: Int16, Hashable, Sendable, NamedCase {
    case accepted = 1
    case scheduled = 2
    case planning = 3
    case sending = 4
    case paused = 5
    case finished = 6
    case cancelled = 7

    package var name: String {
        switch self {
        case .accepted: "accepted"
        case .scheduled: "scheduled"
        case .planning: "planning"
        case .sending: "sending"
        case .paused: "paused"
        case .finished: "finished"
        case .cancelled: "cancelled"
        }
    }
}

/// Transactional messages go before bulk ones. The numbers are stored in the database.
package enum MessageUrgency: Int16, Hashable, Sendable {
    case transactional = 1
    case bulk = 2
}

/// The status of a message: every member of its audience is counted in exactly one place (P2).
package struct MessageAccount: Equatable, Sendable {
    package let id: MessageID
    package let state: MessageState
    package let acceptedAt: WallInstant
    package let expiresAt: WallInstant
    package let finishedAt: WallInstant?
    /// The size of the audience; nil until planning ended.
    package let audience: Int64?
    /// One count per terminal state, in the order of `TerminalState.allCases`.
    package let outcomes: [Int64]
    /// Planned members that have not ended.
    package let pending: Int64
    /// Terminal states with their reasons, except plain `accepted`, ordered by state and reason.
    package let reasons: [TerminalTotal]
    /// The parts by provider number. They lack the pushes that ended without a route.
    package let providers: [ProviderAccount]
    /// The requested form; nil if its push type is unknown here.
    package var form: MessageForm?
    package var label = MessageLabel()
    /// The requested send time; nil: sent at once.
    package let sendAt: WallInstant?
    /// The requested hour of each device's local time. `sendAt` is then when the message starts, and `expiresAt` belongs
    /// to the last time zone.
    package let localHour: LocalHour?
    /// The rate in pushes per second over all processes; nil: as fast as its providers accept them.
    package let ratePerSecond: Int32?

    package init(
        id: MessageID, state: MessageState, acceptedAt: WallInstant, expiresAt: WallInstant, finishedAt: WallInstant?,
        audience: Int64?, outcomes: [Int64], pending: Int64, reasons: [TerminalTotal],
        providers: [ProviderAccount] = [],
        form: MessageForm? = nil, sendAt: WallInstant? = nil, localHour: LocalHour? = nil, ratePerSecond: Int32? = nil
    ) {
        (self.id, self.state, self.acceptedAt, self.expiresAt) = (id, state, acceptedAt, expiresAt)
        (self.finishedAt, self.audience, self.outcomes, self.pending) = (finishedAt, audience, outcomes, pending)
        (self.reasons, self.providers, self.form, self.sendAt) = (reasons, providers, form, sendAt)
        (self.localHour, self.ratePerSecond) = (localHour, ratePerSecond)
    }

    package func count(_ state: TerminalState) -> Int64 { outcomes.count(of: state) }

    /// When a scheduled message starts, and can no longer be changed; nil: it has started, or is paused.
    package var editableUntil: WallInstant? { state == .scheduled ? sendAt : nil }
}

/// The requested form of a message, without its content and receivers. Kept as long as its account.
package struct MessageForm: Equatable, Sendable {
    package let pushType: PushType
    package let isDryRun: Bool
    /// The requested audience as an object. It counts names and lists tags.
    package let asked: JSONText

    package init(pushType: PushType, isDryRun: Bool, asked: JSONText) {
        (self.pushType, self.isDryRun, self.asked) = (pushType, isDryRun, asked)
    }
}

/// One provider's part of an account: the pushes whose parcel is, or was, on one of its routes.
///
/// A push that continues at another provider counts there from then on.
package struct ProviderAccount: Equatable, Sendable {
    package let provider: Provider
    /// One count per terminal state, in the order of `TerminalState.allCases`.
    package let outcomes: [Int64]
    package let pending: Int64

    package init(provider: Provider, outcomes: [Int64], pending: Int64) {
        (self.provider, self.outcomes, self.pending) = (provider, outcomes, pending)
    }

    package var members: Int64 { outcomes.reduce(pending, +) }

    package func count(_ state: TerminalState) -> Int64 { outcomes.count(of: state) }
}

extension [Int64] {
    /// The count of a state in a list that has one per state.
    fileprivate func count(of state: TerminalState) -> Int64 {
        let place = Int(state.rawValue) - 1
        return place < count ? self[place] : 0
    }
}

package struct TerminalTotal: Equatable, Sendable {
    package let terminalStatus: TerminalStatus
    package let count: Int64
    /// The provider's complaint; nil: it named nothing.
    package let detail: String?
    package init(terminalStatus: TerminalStatus, count: Int64, detail: String? = nil) {
        (self.terminalStatus, self.count, self.detail) = (terminalStatus, count, detail)
    }
}

package struct FeedbackItem: Equatable, Sendable {
    package let id: Int64
    package let installation: String
    package let kind: TokenKind
    package let provider: Provider
    package let verdict: FeedbackVerdict
    package let reason: String
    package let at: WallInstant
    /// Set only if the verdict is `environmentChanged`.
    package let environments: EnvironmentChange?

    package init(
        id: Int64, installation: String, kind: TokenKind, provider: Provider, verdict: FeedbackVerdict, reason: String,
        at: WallInstant, environments: EnvironmentChange? = nil
    ) {
        (self.id, self.installation, self.kind, self.provider) = (id, installation, kind, provider)
        (self.verdict, self.reason, self.at, self.environments) = (verdict, reason, at, environments)
    }
}

/// The environment where a token was registered, and the one where its provider knows it.
package struct EnvironmentChange: Equatable, Sendable {
    package let from: PushEnvironment
    package let to: PushEnvironment
    package init(from: PushEnvironment, to: PushEnvironment) { (self.from, self.to) = (from, to) }
}

/// A verdict in the feed. The numbers are stored in the database.
package enum FeedbackVerdict: Int16, Hashable, Sendable {
    case retired = 1
    case suspected = 2
    case replaced = 3
    case moved = 4
    case undone = 5
    case cleared = 6
    /// The token was found in the other environment.
    case environmentChanged = 7

    package var name: String {
        switch self {
        case .retired: "retired"
        case .suspected: "suspected"
        case .replaced: "replaced"
        case .moved: "moved"
        case .undone: "undone"
        case .cleared: "cleared"
        case .environmentChanged: "environment_changed"
        }
    }
}
