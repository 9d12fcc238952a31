import Basis
import Model

/// One parcel as its lease handed it over: what to send, to whom, until when it is ours.
///
/// Members stand in the frozen order of the parcel; a member's position there is its index, and the only name it has
/// in the engine's inner loops. Their tokens lie in one flat array, so that a parcel costs a handful of allocations.
package struct LeasedParcel: Equatable, Sendable {
    package let id: ParcelID
    package let message: MessageID
    package let app: AppID
    package let route: RouteID
    /// Raised by each lease; settling and renewing name it.
    package let epoch: Int32
    /// How often this parcel was settled in part; settling names it, so that an ambiguous commit can be repeated.
    package let settles: Int32
    /// How many attempts its members have behind them.
    package let attempt: Int16
    /// How many of its leases ended without a word of the owner.
    package let lapses: Int16
    /// How much of the retry budget earlier attempts used up.
    package let retrySpent: Duration
    /// An earlier attempt's answer was lost: the push may already have been shown.
    package let answerLost: Bool
    /// Set where its members are away from home: their own environment refused them, and this one is asked.
    package let origin: OriginRejection?
    /// The same topic's route in the other environment, where a usable credential of the app covers it. nil away from
    /// home, and for providers that know one environment.
    package let otherEnvironment: RouteID?
    /// Its message's rate when it was leased; nil: it has none.
    package let ratePerSecond: Int32?
    package let urgency: MessageUrgency
    package let expiresAt: WallInstant
    /// The database's clock when the lease was written. Verdicts without a time of their own count from here.
    package let leasedAt: WallInstant
    /// All frozen members, settled ones included.
    package let memberCount: Int
    /// Those that are still owed something, in frozen order.
    package let members: [LeasedMember]
    /// What keeps each of them from its push, by position. Empty: nothing keeps anybody.
    package var deferrals: [MemberDeferral] = []
    package var deferredCount: Int { deferrals.count { $0 != .none } }
    /// By position: no lease before this one was free to send to the member, whatever became of its owner. Said only where
    /// an earlier owner or answer was lost; empty: of nobody.
    package var neverSent: [Bool] = []
    package let tokens: [UInt8]
    /// The members' locales as they registered them, likewise in one array. Empty where the message has no words that
    /// depend on them.
    package let locales: [UInt8]
    /// The bitmap as it stands: bit `index` is set where the member is settled or handed over. Empty: none.
    package let settledBits: [UInt8]

    package init(
        id: ParcelID, message: MessageID, app: AppID, route: RouteID, epoch: Int32, settles: Int32, attempt: Int16,
        lapses: Int16, retrySpent: Duration, answerLost: Bool, origin: OriginRejection? = nil,
        otherEnvironment: RouteID? = nil, ratePerSecond: Int32? = nil, urgency: MessageUrgency = .bulk,
        expiresAt: WallInstant, leasedAt: WallInstant, memberCount: Int, members: [LeasedMember], tokens: [UInt8],
        locales: [UInt8] = [], settledBits: [UInt8]
    ) {
        self.id = id
        self.message = message
        self.app = app
        self.route = route
        self.epoch = epoch
        self.settles = settles
        self.attempt = attempt
        self.lapses = lapses
        self.retrySpent = retrySpent
        self.answerLost = answerLost
        self.origin = origin
        self.otherEnvironment = otherEnvironment
        self.ratePerSecond = ratePerSecond
        self.urgency = urgency
        self.expiresAt = expiresAt
        self.leasedAt = leasedAt
        self.memberCount = memberCount
        self.members = members
        self.tokens = tokens
        self.locales = locales
        self.settledBits = settledBits
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
    /// A 200 for it lifts a suspicion.
    package let isSuspected: Bool
    /// A registration whose environments were not compared for this generation of its token, where there is another one to
    /// look in.
    package let mayBeInSibling: Bool
    /// Of `LeasedParcel.locales`. 0 bytes: none is known, or nobody asks.
    package let localeStart: Int32
    package let localeCount: Int32

    package init(
        index: Int32, registration: RegistrationID, status: MemberStatus, generation: TokenGeneration, badge: Int32,
        tokenStart: Int32, tokenCount: Int32, isSuspected: Bool, mayBeInSibling: Bool = false, localeStart: Int32 = 0,
        localeCount: Int32 = 0
    ) {
        self.index = index
        self.registration = registration
        self.status = status
        self.generation = generation
        self.badge = badge
        self.tokenStart = tokenStart
        self.tokenCount = tokenCount
        self.isSuspected = isSuspected
        self.mayBeInSibling = mayBeInSibling
        self.localeStart = localeStart
        self.localeCount = localeCount
    }
}

/// What a parcel carries whose members are tried in the other environment: which route refused them, and how.
///
/// Written once, and inherited by what is tried again there; what leaves for another route leaves it behind.
package struct OriginRejection: Equatable, Sendable {
    /// Where their registrations live.
    package let route: RouteID
    /// The token generation that was refused there: a newer one was never asked about at home.
    package let generation: TokenGeneration
    /// The provider's word, which stands where the other environment doesn't know better.
    package let reason: String
    /// When home's parcel was leased: its word counts from there, however late the other environment is asked.
    package let asOf: WallInstant
    /// Until when an answer from there is waited for. A lane that is shut for longer must not keep a doubt from its
    /// judgement, nor a message from its end.
    package let until: WallInstant

    package init(
        route: RouteID, generation: TokenGeneration, reason: String, asOf: WallInstant, until: WallInstant
    ) {
        self.route = route
        self.generation = generation
        self.reason = reason
        self.asOf = asOf
        self.until = until
    }
}

/// What has become of a frozen member's row since it was frozen.
package enum MemberStatus: Equatable, Sendable {
    /// On the parcel's route, or on the route that it came from with the same token; alive.
    case present
    /// Its row is gone: ends as unregistered (`device_deleted`).
    case deleted
    /// Retired by another verdict meanwhile: ends as unregistered (`retired`).
    case retired
    /// It lives on another route now: its push is handed over to a parcel there.
    case moved(to: RouteID)
    /// Its registration no longer meets the conditions of the message's audience: ends as unregistered, with the change's
    /// reason.
    case excluded(AudienceChange)
}

/// Why a registration no longer meets the conditions of a message's audience (DESIGN, rule 2).
package enum AudienceChange: Equatable, Sendable {
    /// The message is for named users, and the device belongs to none of them now.
    case user
    /// The message is for tags or for a filter, and the registration no longer fits them.
    case condition

    package var reason: String {
        switch self {
        case .user: TerminalReason.userChanged
        case .condition: TerminalReason.audienceChanged
        }
    }
}

/// What one settle writes, in one transaction, if (parcel, epoch, settles) still is what the owner leased.
package struct Settlement: Equatable, Sendable {
    package let parcel: ParcelID
    package let message: MessageID
    package let epoch: Int32
    package let settles: Int32
    /// New endings since the last settle, counted, ordered by state and reason; the terminal counts rise by them.
    package let terminalCounts: [TerminalCount]
    /// The whole bitmap after this settle.
    package let settledBits: [UInt8]
    package let remainders: [Remainder]
    /// How many members are owed something still, after this settle. 0: the parcel is done and its row goes.
    package let pendingAfter: Int
    /// What the parcel's route answered since the last settle: feeds the sample of suspicions (P5). Away from home it
    /// speaks of home, whose refusals were not counted there.
    package let sample: AnswerSample
    /// The same endings member by member, and what goes on after an attempt. Told, never counted with.
    package let history: [HistoryEntry]

    package init(
        parcel: ParcelID, message: MessageID, epoch: Int32, settles: Int32, terminalCounts: [TerminalCount],
        settledBits: [UInt8], remainders: [Remainder], pendingAfter: Int, sample: AnswerSample = AnswerSample(),
        history: [HistoryEntry] = []
    ) {
        self.parcel = parcel
        self.message = message
        self.epoch = epoch
        self.settles = settles
        self.terminalCounts = terminalCounts
        self.settledBits = settledBits
        self.remainders = remainders
        self.pendingAfter = pendingAfter
        self.sample = sample
        self.history = history
    }
}

package struct TerminalCount: Equatable, Sendable {
    package let terminalStatus: TerminalStatus
    package var count: Int
    package init(terminalStatus: TerminalStatus, count: Int) {
        self.terminalStatus = terminalStatus
        self.count = count
    }
}

/// Members that go on in a new parcel, which inherits the badge mark, but for those that it does not speak of.
package struct Remainder: Equatable, Sendable {
    package let route: RouteID
    /// Counted from the moment of the settle, by the database's clock, unless `dueAt` says when.
    package let dueAfter: Duration
    /// By the database's clock, however long the settle takes.
    package let dueAt: WallInstant?
    package let attempt: Int16
    package let lapses: Int16
    package let retrySpent: Duration
    package let answerLost: Bool
    /// Why they wait.
    package let cause: WaitCause
    /// Set where they are tried away from home.
    package let origin: OriginRejection?
    /// The mark speaks of them: their badges were raised, and their users' pushes counted. Else that is still to come.
    package let isCounted: Bool
    /// Rising.
    package let members: [RegistrationID]

    package init(
        route: RouteID, dueAfter: Duration, dueAt: WallInstant? = nil, attempt: Int16, lapses: Int16,
        retrySpent: Duration, answerLost: Bool, cause: WaitCause, origin: OriginRejection? = nil,
        isCounted: Bool = true,
        members: [RegistrationID]
    ) {
        self.route = route
        self.dueAfter = dueAfter
        self.dueAt = dueAt
        self.attempt = attempt
        self.lapses = lapses
        self.retrySpent = retrySpent
        self.answerLost = answerLost
        self.cause = cause
        self.origin = origin
        self.isCounted = isCounted
        self.members = members
    }

    /// At once.
    package var isDue: Bool { dueAt == nil && dueAfter <= .zero }
}

/// The database's answer to a settle or a renewal.
package enum SettleReply: Equatable, Sendable {
    case settled
    /// (parcel, epoch, settles, leased) no longer holds: nothing was written. `status` is what is there now, nil
    /// where the row is gone. Where only `settles` is one ahead, an earlier, ambiguous commit of ours did it.
    case fenced(status: ParcelStatus?)
}

package struct ParcelStatus: Equatable, Sendable {
    package let epoch: Int32
    package let settles: Int32
    package let isLeased: Bool
    package init(epoch: Int32, settles: Int32, isLeased: Bool) {
        self.epoch = epoch
        self.settles = settles
        self.isLeased = isLeased
    }
}

/// A conclusion about one token, guarded: it counts only for this generation, and not where the device registered
/// again after `asOf` (the provider's time in a 410, else the lease).
package struct GuardedVerdict: Equatable, Sendable {
    package let registration: RegistrationID
    package let generation: TokenGeneration
    package let route: RouteID
    package let verdict: TokenVerdict
    package let asOf: WallInstant
    package init(
        registration: RegistrationID, generation: TokenGeneration, route: RouteID, verdict: TokenVerdict,
        asOf: WallInstant
    ) {
        self.registration = registration
        self.generation = generation
        self.route = route
        self.verdict = verdict
        self.asOf = asOf
    }
}

/// How many answers a route gave, and how many of them doubted the token.
package struct AnswerSample: Equatable, Sendable {
    package var answered: Int
    package var suspected: Int
    package init(answered: Int = 0, suspected: Int = 0) {
        self.answered = answered
        self.suspected = suspected
    }
}

/// Which of a route's due parcels a lease asks for.
package enum LeaseScope: Equatable, Sendable {
    /// Those that no process ended over, or one at most.
    case ordinary
    /// Of the ordinary ones the transactional: the lane is full, but for what is kept free for them.
    case urgent
    /// Those whose leases lapsed so often that they travel alone (rule 10).
    case lapsed
    /// The lane can't send: whatever has expired meanwhile, to end it.
    case expired
    /// A share of what waits for its message's rate, as much of it as the rate allows now.
    case rateLimited

    /// Small parcels of it come together (`LeaseGroup`).
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
    /// Some of the ordinary ones are transactional.
    package let hasUrgent: Bool
    package let hasLapsed: Bool
    /// How long it is until one of the messages that wait here for their rate may go on; nil: none waits.
    package var quantumAfter: Duration?
    package init(
        route: RouteID, service: TopicService = .app, app: AppID, provider: Provider, environment: PushEnvironment,
        topic: String, hasOrdinary: Bool = true, hasUrgent: Bool = false, hasLapsed: Bool = false,
        quantumAfter: Duration? = nil
    ) {
        self.route = route
        self.service = service
        self.app = app
        self.provider = provider
        self.environment = environment
        self.topic = topic
        self.hasOrdinary = hasOrdinary
        self.hasUrgent = hasUrgent
        self.hasLapsed = hasLapsed
        self.quantumAfter = quantumAfter
    }

    package var serviceRoute: ServiceRoute { ServiceRoute(route, service) }

    /// Those with ready parcels, and those with parcels that wait for a rate, each line once.
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
