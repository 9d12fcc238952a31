import Basis
import Model

/// One parcel as its lease handed it over: what to send, to whom, and until when it is ours.
///
/// Members stand in the frozen order of the parcel. A member's position there is its index, and its only name in the
/// engine's inner loops. Their tokens lie in one flat array, so that a parcel costs a handful of allocations.
package struct LeasedParcel: Equatable, Sendable {
    package let id: ParcelID
    package let message: MessageID
    package let app: AppID
    package let route: RouteID
    /// Raised by each lease; settling and renewing name it.
    package let epoch: Int32
    /// How often this parcel was settled in part. A settle names it, so that an ambiguous commit can be repeated.
    package let settles: Int32
    /// The number of attempts that its members have behind them.
    package let attempt: Int16
    /// The number of its leases that expired without a sign of the owner.
    package let lapses: Int16
    /// The part of the retry budget that earlier attempts used up.
    package let retrySpent: Duration
    /// An earlier attempt's answer was lost: the push may already have been shown.
    package let answerLost: Bool
    /// Set in a cross-environment parcel: the rejection of its members on the origin route.
    package let origin: OriginRejection?
    /// The sibling route, if a usable credential of the app covers it. nil in cross-environment parcels, and for
    /// providers with one environment.
    package let otherEnvironment: RouteID?
    package let ratePerSecond: Int32?
    package let urgency: MessageUrgency
    package let expiresAt: WallInstant
    /// The database's clock when the lease was written. Verdicts that carry no time count from here.
    package let leasedAt: WallInstant
    /// All frozen members, settled ones included.
    package let memberCount: Int
    /// The members that are not settled yet, in frozen order.
    package let members: [LeasedMember]
    /// Each member's deferral, by position. Empty: no member is deferred.
    package var deferrals: [MemberDeferral] = []
    package var deferredCount: Int { deferrals.count { $0 != .none } }
    /// By position: no earlier lease was free to send to the member, whatever became of its owner. Set only if an
    /// earlier owner or answer was lost; empty: false for all.
    package var neverSent: [Bool] = []
    /// The message increments badges, and the badge mark covers the members now, except those in `uncounted`.
    package var countsBadges = false
    /// The number of the last set of a badge before the members' badges were incremented. nil: it is not known, and no
    /// increment is taken back.
    package var badgeSet: Int64?
    /// By position: neither this lease nor an earlier one incremented the member's badge. Empty: false for all.
    package var uncounted: [Bool] = []
    package let tokens: [UInt8]
    /// The members' registered locales, also in one array. Empty if the message has no texts that depend on them.
    package let locales: [UInt8]
    /// The stored bitmap: bit `index` is set if the member is settled or handed over. Empty: no bit is set.
    package let settledBits: [UInt8]
    package var leaseName: LeaseName { LeaseName(parcel: id, epoch: epoch) }

    package init(
        id: ParcelID, message: MessageID, app: AppID, route: RouteID, epoch: Int32, settles: Int32, attempt: Int16,
        lapses: Int16, retrySpent: Duration, answerLost: Bool, origin: OriginRejection? = nil,
        otherEnvironment: RouteID? = nil, ratePerSecond: Int32? = nil, urgency: MessageUrgency = .bulk,
        expiresAt: WallInstant, leasedAt: WallInstant, memberCount: Int, members: [LeasedMember], tokens: [UInt8],
        locales: [UInt8] = [], settledBits: [UInt8]
    ) {
        (self.id, self.message, self.app, self.route, self.epoch) = (id, message, app, route, epoch)
        (self.settles, self.attempt, self.lapses, self.retrySpent) = (settles, attempt, lapses, retrySpent)
        (self.answerLost, self.origin, self.otherEnvironment) = (answerLost, origin, otherEnvironment)
        (self.ratePerSecond, self.urgency, self.expiresAt) = (ratePerSecond, urgency, expiresAt)
        (self.leasedAt, self.memberCount, self.members, self.tokens) = (leasedAt, memberCount, members, tokens)
        (self.locales, self.settledBits) = (locales, settledBits)
    }
}

/// One registration that a leased parcel still owes a push.
package struct LeasedMember: Equatable, Sendable {
    /// Position in the parcel's frozen list.
    package let index: Int32
    package let registration: RegistrationID
    package let status: MemberStatus
    package let generation: TokenGeneration
    /// The value to send with this attempt, read in the lease's transaction.
    package let badge: Int32
    package let tokenStart: Int32
    package let tokenCount: Int32
    /// A 200 for this member lifts a suspicion.
    package let isSuspected: Bool
    /// The member is a registration whose token has a sibling environment, and this generation was not compared there
    /// yet.
    package let mayBeInSibling: Bool
    /// Answers about the member count in its route's sample of suspicions (P5). Not those about a registration that
    /// only subscriptions made: anybody can make one, with any token.
    package let isSampled: Bool
    /// The token never took a push, and only subscriptions named it. A 200 proves it.
    package let isUnproven: Bool
    /// Into `LeasedParcel.locales`. 0 bytes: no locale is known, or the message needs none.
    package let localeStart: Int32
    package let localeCount: Int32

    package init(
        index: Int32, registration: RegistrationID, status: MemberStatus, generation: TokenGeneration, badge: Int32,
        tokenStart: Int32, tokenCount: Int32, isSuspected: Bool, mayBeInSibling: Bool = false, isSampled: Bool = true,
        isUnproven: Bool = false, localeStart: Int32 = 0, localeCount: Int32 = 0
    ) {
        (self.index, self.registration, self.status, self.generation) = (index, registration, status, generation)
        (self.badge, self.tokenStart, self.tokenCount, self.isSuspected) = (badge, tokenStart, tokenCount, isSuspected)
        (self.mayBeInSibling, self.isSampled, self.isUnproven) = (mayBeInSibling, isSampled, isUnproven)
        (self.localeStart, self.localeCount) = (localeStart, localeCount)
    }
}

/// The rejection that a cross-environment parcel carries: which route rejected its members, and how.
///
/// Written once, and inherited by retries on the sibling route. A remainder for another route drops it.
package struct OriginRejection: Equatable, Sendable {
    package let route: RouteID
    /// The token generation that was rejected there. A newer generation was never tried on the origin route.
    package let generation: TokenGeneration
    /// The provider's reason, which stands unless the sibling environment accepts the token.
    package let reason: String
    /// When the origin route's parcel was leased. The rejection counts from then, however late the sibling environment
    /// is tried.
    package let asOf: WallInstant
    /// Until when an answer from there is waited for. A lane that is blocked for longer must delay neither the
    /// judgement of a suspicion nor the end of a message.
    package let until: WallInstant

    package init(route: RouteID, generation: TokenGeneration, reason: String, asOf: WallInstant, until: WallInstant) {
        (self.route, self.generation, self.reason, self.asOf, self.until) = (route, generation, reason, asOf, until)
    }
}

/// The state of a frozen member's row at the lease.
package enum MemberStatus: Equatable, Sendable {
    /// The registration is live: on the parcel's route, or on the origin route with the same token.
    case present
    /// The row is gone: the push ends as unregistered (`device_deleted`).
    case deleted
    /// Another verdict retired the token: the push ends as unregistered (`retired`).
    case retired
    /// The registration is on another route now: the push is handed over to a parcel there.
    case moved(to: RouteID)
    /// The registration no longer meets the conditions of the message's audience. The push ends as unregistered, with
    /// the change's reason.
    case excluded(AudienceChange)
}

/// Why a registration no longer meets the conditions of a message's audience (rule 2).
package enum AudienceChange: Equatable, Sendable {
    /// The message is for named users, and the device belongs to none of them now.
    case user
    /// The message is for tags or a filter, and the registration no longer matches.
    case condition

    package var reason: String {
        switch self {
        case .user: TerminalReason.userChanged
        case .condition: TerminalReason.audienceChanged
        }
    }
}

/// The content of one settle, written in one transaction if (parcel, epoch, settles) is still what the owner leased.
package struct Settlement: Equatable, Sendable {
    package let parcel: ParcelID
    package let message: MessageID
    package let route: RouteID
    package let epoch: Int32
    package let settles: Int32
    /// Terminal states since the last settle, counted, ordered by state and reason. The message's terminal counts rise
    /// by them.
    package let terminalCounts: [TerminalCount]
    /// The whole bitmap after this settle.
    package let settledBits: [UInt8]
    package let remainders: [Remainder]
    /// The number of members that are not settled after this settle. 0: the parcel is done and its row is deleted.
    package let pendingAfter: Int
    /// The route's answers since the last settle, for the sample of suspicions (P5). In a cross-environment parcel they
    /// count for the origin route, where its rejections were not counted.
    package let sample: AnswerSample
    /// The same terminal states by member, and members that go on after an attempt. For display, never counted.
    package let history: [HistoryEntry]
    /// Members whose push ended and was surely not shown, although their badges were incremented for it.
    package let takenBack: [RegistrationID]
    /// `LeasedParcel.badgeSet`: a badge that was set later keeps the increments that followed. Remainders inherit it.
    package let badgeSet: Int64?
    /// The provider's complaint about the message, which explains one of the reasons; nil: it named nothing.
    package let complaint: MessageComplaint?

    package init(
        parcel: ParcelID, message: MessageID, route: RouteID, epoch: Int32, settles: Int32,
        terminalCounts: [TerminalCount], settledBits: [UInt8], remainders: [Remainder], pendingAfter: Int,
        sample: AnswerSample = AnswerSample(), history: [HistoryEntry] = [], takenBack: [RegistrationID] = [],
        badgeSet: Int64? = nil, complaint: MessageComplaint? = nil
    ) {
        (self.parcel, self.message, self.route, self.epoch, self.settles) = (parcel, message, route, epoch, settles)
        (self.terminalCounts, self.settledBits, self.remainders) = (terminalCounts, settledBits, remainders)
        (self.pendingAfter, self.sample, self.history) = (pendingAfter, sample, history)
        (self.takenBack, self.badgeSet, self.complaint) = (takenBack, badgeSet, complaint)
    }

    /// The provider's complaint behind a reason; nil: there is none.
    package func detail(of status: TerminalStatus) -> String? {
        complaint.flatMap { $0.terminalStatus == status ? $0.text : nil }
    }
}

package struct TerminalCount: Equatable, Sendable {
    package let terminalStatus: TerminalStatus
    package var count: Int
    package init(terminalStatus: TerminalStatus, count: Int) {
        (self.terminalStatus, self.count) = (terminalStatus, count)
    }
}

/// Members that go on in a new parcel. It inherits the badge mark, unless `isCounted` is false.
package struct Remainder: Equatable, Sendable {
    package let route: RouteID
    /// Counted from the moment of the settle, by the database's clock, unless `dueAt` is set.
    package let dueAfter: Duration
    /// An instant on the database's clock, however long the settle takes.
    package let dueAt: WallInstant?
    package let attempt: Int16
    package let lapses: Int16
    package let retrySpent: Duration
    package let answerLost: Bool
    package let cause: WaitCause
    /// The provider's words for the cause; empty: it gave none.
    package let quote: String
    /// Set if the new parcel is a cross-environment parcel.
    package let origin: OriginRejection?
    /// The badge mark covers the members: their badges and their users' pushes were counted. Otherwise the next lease
    /// does so.
    package let isCounted: Bool
    /// In rising order.
    package internal(set) var members: [RegistrationID]

    package init(
        route: RouteID, dueAfter: Duration, dueAt: WallInstant? = nil, attempt: Int16, lapses: Int16,
        retrySpent: Duration, answerLost: Bool, cause: WaitCause, quote: String = "", origin: OriginRejection? = nil,
        isCounted: Bool = true, members: [RegistrationID] = []
    ) {
        (self.route, self.dueAfter, self.dueAt, self.attempt, self.lapses) = (route, dueAfter, dueAt, attempt, lapses)
        (self.retrySpent, self.answerLost, self.cause, self.origin) = (retrySpent, answerLost, cause, origin)
        (self.quote, self.isCounted, self.members) = (quote, isCounted, members)
    }

    package var isDue: Bool { dueAt == nil && dueAfter <= .zero }
}

/// The database's answer to a settle or a renewal.
package enum SettleReply: Equatable, Sendable {
    case settled
    /// (parcel, epoch, settles, leased) no longer holds: nothing was written. `status` is the present row, nil if it is
    /// gone. If only `settles` is one ahead, an earlier, ambiguous commit of ours did it.
    case fenced(status: ParcelStatus?)
}

package struct ParcelStatus: Equatable, Sendable {
    package let epoch: Int32
    package let settles: Int32
    package let isLeased: Bool
    package init(epoch: Int32, settles: Int32, isLeased: Bool) {
        (self.epoch, self.settles, self.isLeased) = (epoch, settles, isLeased)
    }
}

/// A conclusion about one token, with its guard. It counts only for this generation, and not if the device registered
/// again after `asOf` (the provider's time in a 410, else the lease's).
package struct GuardedVerdict: Equatable, Sendable {
    package let registration: RegistrationID
    package let generation: TokenGeneration
    package let route: RouteID
    package let verdict: TokenVerdict
    package let asOf: WallInstant
    /// The provider blames the token itself. Not so if it may be of another project, topic or environment, because then
    /// the fault may be ours.
    package let isBlame: Bool
    package init(
        registration: RegistrationID, generation: TokenGeneration, route: RouteID, verdict: TokenVerdict,
        asOf: WallInstant, isBlame: Bool = false
    ) {
        (self.registration, self.generation, self.route, self.verdict) = (registration, generation, route, verdict)
        (self.asOf, self.isBlame) = (asOf, isBlame)
    }
}

package struct AnswerSample: Equatable, Sendable {
    package var answered: Int
    package var suspected: Int
    package init(answered: Int = 0, suspected: Int = 0) { (self.answered, self.suspected) = (answered, suspected) }
}

/// The due parcels of a route that a lease asks for.
package enum LeaseScope: Equatable, Sendable {
    /// Parcels with at most one expired lease.
    case ordinary
    /// The transactional among the ordinary parcels: the lane is full except for what is reserved for them.
    case urgent
    /// Parcels whose lease expired so often that they are leased in quarantine (rule 10).
    case lapsed
    /// Expired parcels of a lane that can't send, in order to end them.
    case expired
    /// A quantum of rate-limited parcels, as large as the rate allows now.
    case rateLimited

    /// True if small parcels of this scope come together (`LeaseGroup`).
    package var mayBringSeveral: Bool { self == .ordinary || self == .urgent }
}

/// A route with work that is due for one of its topic's services, as the poll saw it.
package struct ReadyRoute: Equatable, Sendable {
    package let route: RouteID
    package let service: TopicService
    package let app: AppID
    package let provider: Provider
    package let environment: PushEnvironment
    package let topic: String
    package let hasOrdinary: Bool
    /// Some of the ordinary parcels are transactional.
    package let hasUrgent: Bool
    package let hasLapsed: Bool
    /// How long it is until one of the rate-limited messages on this route may go on; nil: none waits.
    package var quantumAfter: Duration?
    package init(
        route: RouteID, service: TopicService = .app, app: AppID, provider: Provider, environment: PushEnvironment,
        topic: String, hasOrdinary: Bool = true, hasUrgent: Bool = false, hasLapsed: Bool = false,
        quantumAfter: Duration? = nil
    ) {
        (self.route, self.service, self.app, self.provider) = (route, service, app, provider)
        (self.environment, self.topic, self.hasOrdinary, self.hasUrgent) = (environment, topic, hasOrdinary, hasUrgent)
        (self.hasLapsed, self.quantumAfter) = (hasLapsed, quantumAfter)
    }

    package var serviceRoute: ServiceRoute { ServiceRoute(route, service) }

    /// Routes with ready parcels and routes with rate-limited parcels, each service route once.
    package static func merging(_ ready: [ReadyRoute], rateLimited: [ReadyRoute]) -> [ReadyRoute] {
        guard !rateLimited.isEmpty else { return ready }
        var merged = ready
        var places: [ServiceRoute: Int] = [:]  // lookup only
        for (place, route) in ready.enumerated() { places[route.serviceRoute] = place }
        for route in rateLimited {
            if let place = places[route.serviceRoute] {
                merged[place].quantumAfter = route.quantumAfter
            } else {
                merged.append(route)
            }
        }
        return merged
    }
}
