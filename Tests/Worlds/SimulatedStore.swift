import Basis
import Model
import QueueRules
import RegistryRules

/// The registry and the queue as a value: the same operations with the same meaning as Store over PostgreSQL.
///
/// Each call is one committed transaction, except a whole round of upkeep. `ConformanceTests` hold the two stores
/// together.
package struct SimulatedStore: Equatable, Sendable {
    /// All rows here rise by id.
    package var routes: [RouteRow] = []
    package var registrations: [RegistrationRow] = []
    package var messages: [MessageRow] = []
    package var plans: [PlanRow] = []
    /// The app planned last, by urgency: the apps rotate. Not stored.
    var lastPlanned: [MessageUrgency: AppID] = [:]
    /// Messages that are paused, or cancelled and not yet accounted for.
    package var stops: [MessageID] = []
    /// Messages that have a rate and are not over, in the order in which they got it.
    package var rates: [RateRow] = []
    /// Messages that wait for their due time.
    package var schedules: [ScheduleRow] = []
    package var parcels: [ParcelRow] = []
    /// Rows in the order of the settles.
    package var history: [HistoryRow] = []
    package var suspicions: [SuspicionRow] = []
    package var minutes: [RouteMinute] = []
    package var feedback: [FeedbackRow] = []
    package var inlineTargets: [InlineRow] = []
    package var senders: [SenderRow] = []
    /// The apps that set any limits.
    package var limits: [LimitRow] = []
    package var userDays: [UserDayRow] = []
    /// Rows in the order in which processes were first heard.
    package var projectSenders: [ProjectSenderRow] = []
    /// The leaves of the apps' data trees, in no order.
    package var leaves: [LeafRow] = []
    /// Rows rise by id.
    package var watches: [WatchRow] = []
    /// Rows in the order of the writes.
    package var childChanges: [ChildChangeRow] = []
    package var dueWatches: [DueWatchRow] = []
    package var subscriptions: [SubscriptionRow] = []
    /// The app whose watch had the last turn. Not stored.
    var lastFannedOut: Int64 = 0
    /// Rows rise by id.
    package var items: [ItemRow] = []
    /// Rows rise by id.
    package var pushTemplates: [PushTemplateRow] = []
    /// Rows rise by id.
    package var itemSubscriptions: [ItemSubscriptionRow] = []
    package var itemFollowers: [ItemFollowerRow] = []
    package var heldPushes: [HeldPushRow] = []
    package var deviceWindows: [DeviceWindowRow] = []
    package var dueItems: [DueItemRow] = []
    /// The apps whose item, and whose held push, had the last turn. Not stored.
    var lastFollowed: Int64 = 0
    var lastReleased: Int64 = 0
    /// The last identities that were handed out.
    package var lastRoute: Int64 = 0
    package var lastRegistration: Int64 = 0
    package var lastParcel: Int64 = 0
    package var lastFeedback: Int64 = 0
    package var lastWatch: Int64 = 0
    package var lastSubscription: Int64 = 0
    package var lastItemSubscription: Int64 = 0
    /// The number of the last set of any badge. Other numbers than PostgreSQL's, in the same order.
    package var lastBadgeSet: Int64 = 0

    package init() {}
}

package struct RouteRow: Equatable, Sendable {
    package let id: RouteID
    package let app: AppID
    package let provider: Provider
    package let environment: PushEnvironment
    package let topic: String

    package func ready(_ service: TopicService, ordinary: Bool, urgent: Bool, lapsed: Bool) -> ReadyRoute {
        ReadyRoute(
            route: id, service: service, app: app, provider: provider, environment: environment, topic: topic,
            hasOrdinary: ordinary, hasUrgent: urgent, hasLapsed: lapsed)
    }
}

/// An app's active credential for APNs in one environment.
package struct SenderRow: Equatable, Sendable {
    package let app: AppID
    package let environment: PushEnvironment
    /// The one topic service that it is for; nil: good for every topic.
    package var service: TopicService?
    /// The provider refuses it until then.
    package var blockedUntil: WallInstant?

    package init(
        app: AppID, environment: PushEnvironment, service: TopicService? = nil, blockedUntil: WallInstant? = nil
    ) {
        self.app = app
        self.environment = environment
        self.service = service
        self.blockedUntil = blockedUntil
    }
}

/// The wide row and the pulse together.
package struct RegistrationRow: Equatable, Sendable {
    package let id: RegistrationID
    package let app: AppID
    package var stored: StoredRegistration
    package var badge: Int32
    package var registeredAt: WallInstant
    package let createdAt: WallInstant
    /// The time at which the backend learned the stored values, by its own account.
    package var asOf: WallInstant?
    /// The generation of the token for which both environments were asked.
    package var environmentsCompared: TokenGeneration?
    /// The part of the badge that messages added since it was set.
    package var raised: Int32 = 0
    /// The number of its badge's last set.
    package var badgeSet: Int64 = 0
    /// Only subscriptions named the token, and it never took a push.
    package var isUnproven = false
    /// The first answer that blamed the unproven token.
    package var blamedAt: WallInstant?

    /// The row with which a new registration is compared.
    package var storedRow: StoredRegistration {
        var row = stored
        row.asOf = max(registeredAt, asOf ?? registeredAt)
        return row
    }
    package var isLive: Bool { stored.state != .retired }
    package func status(isGuarded: Bool) -> TokenStatus {
        TokenStatus(
            state: stored.state, generation: stored.generation, registeredAt: registeredAt,
            unproven: isUnproven ? UnprovenToken(blamedAt: blamedAt, isGuarded: isGuarded) : nil)
    }
}

package struct MessageRow: Equatable, Sendable {
    package let id: MessageID
    package let app: AppID
    package let format: Int16
    package let service: TopicService
    package var state: MessageState
    package let urgency: MessageUrgency
    package let kind: TokenKind
    package let badge: BadgeChange
    package let audienceWanted: Audience
    package let ignored: AppLimits
    package var horizon: RegistrationID
    package let acceptedAt: WallInstant
    package let expiresAt: WallInstant
    package var dueAt: WallInstant?
    package let localSending: LocalSending?
    package var ratePerSecond: Int32?
    package var finishedAt: WallInstant?
    package var plannedMembers: Int64 = 0
    /// nil until planning ended.
    package var audience: Int64?
    /// Members settled for good, whose parcels are gone. One count per terminal state.
    package var counts = [Int64](repeating: 0, count: TerminalState.allCases.count)
    /// Totals by state, then reason.
    package var reasons: [TerminalTotal] = []
    /// Like `counts`, by the provider of the routes; rising.
    package var providers: [ProviderCounts] = []

    package var members: Int64 { counts.reduce(0, +) }
}

package struct ProviderCounts: Equatable, Sendable {
    package let provider: Provider
    package var counts = [Int64](repeating: 0, count: TerminalState.allCases.count)
}

/// The cursor of a message's planning. The row exists until planning ends.
package struct PlanRow: Equatable, Sendable {
    package let message: MessageID
    package let app: AppID
    package let format: Int16
    package let urgency: MessageUrgency
    /// The highest registration id that was read, or the number of named installations that were looked up.
    package var plannedThrough: Int64 = 0
    package var slices: Int64 = 0
    package var plannedAt: WallInstant?
}

package struct RateRow: Equatable, Sendable {
    package let message: MessageID
    /// The time from which the next quantum may be leased.
    package var nextAt: WallInstant
}

package struct ScheduleRow: Equatable, Sendable {
    package let message: MessageID
    package let dueAt: WallInstant
    /// The plan that it becomes.
    package let plan: PlanRow
}

package struct ParcelRow: Equatable, Sendable {
    package var id: ParcelID
    package let message: MessageID
    package let app: AppID
    package let route: RouteID
    /// The message's format.
    package let format: Int16
    package let service: TopicService
    package let urgency: MessageUrgency
    package var epoch: Int32 = 0
    package var settles: Int32 = 0
    package let attempt: Int16
    package var lapses: Int16
    package let retrySpent: Duration
    package var isBadgeMarked: Bool
    /// The number of the last set of a badge before the members' badges were incremented. A settle stores it for the
    /// remainders. nil: no settle did.
    package var badgeSet: Int64?
    /// The members that the badge mark leaves out. nil: it covers all.
    package var uncounted: [Bool]?
    package let answerLost: Bool
    package var waitsFor: WaitCause?
    package var origin: OriginRejection?
    package var dueAt: WallInstant
    package let expiresAt: WallInstant
    /// nil where it is ready or on hold.
    package var lease: LeaseRow?
    /// Kept from leases, because its message is stopped.
    package var isOnHold = false
    /// Kept from leases until its message's rate allows a quantum of it.
    package var isRateLimited = false
    package var members: [RegistrationID]
    /// Whether each member has ended or was handed over.
    package var settled: [Bool]
    package var handedOver = 0
    package var counts = [Int64](repeating: 0, count: TerminalState.allCases.count)

    package var pending: Int { settled.count { !$0 } }
}

/// One entry of one settle.
package struct HistoryRow: Equatable, Sendable {
    package let message: MessageID
    package let parcel: ParcelID
    /// The ordinal of the settle within its parcel.
    package let settle: Int32
    /// The position among the entries of its settle, from 1.
    package let place: Int
    package let route: RouteID
    package let entry: HistoryEntry
    package let at: WallInstant
}

package struct LeaseRow: Equatable, Sendable {
    package let owner: ProcessID
    package var until: WallInstant
    /// The number of the last set of a badge before this lease's increments. The owner knows it, and the row of the
    /// parcel does not. nil: it incremented none.
    package var badgeSet: Int64?
}

/// A token that a message named, and no registration holds.
package struct InlineRow: Equatable, Sendable {
    /// Drawn from the same sequence as registration ids.
    package let id: RegistrationID
    package let message: MessageID
    package let route: RouteID
    package let token: DeviceToken
}

package struct SuspicionRow: Equatable, Sendable {
    package let registration: RegistrationID
    package let route: RouteID
    package let generation: TokenGeneration
    package let reason: String
    package let suspectedAt: WallInstant
    /// The time at which an answer last repeated the suspicion.
    package var repeatedAt: WallInstant?
    package var checkAt: WallInstant
}

package struct RouteMinute: Equatable, Sendable {
    package let route: RouteID
    package let minute: WallInstant
    package var answered = 0
    package var suspected = 0
    /// Tokens found in the other environment.
    package var found = 0
}

package struct FeedbackRow: Equatable, Sendable {
    package let id: Int64
    package let app: AppID
    package let registration: RegistrationID
    package let generation: TokenGeneration
    package let installation: String
    package let kind: TokenKind
    package let provider: Provider
    package let verdict: FeedbackVerdict
    package let reason: String
    package let at: WallInstant
    package var environments: EnvironmentChange?
    package var isUndone = false
}

extension SimulatedStore {
    package func placeOfRegistration(_ id: RegistrationID) -> Int? {
        registrations.place { $0.id < id ? .before : $0.id == id ? .here : .behind }
    }
    package func placeOfParcel(_ id: ParcelID) -> Int? {
        parcels.place { $0.id < id ? .before : $0.id == id ? .here : .behind }
    }
    package func placeOfMessage(_ id: MessageID) -> Int? { messages.firstIndex { $0.id == id } }
    package func registration(_ id: RegistrationID) -> RegistrationRow? {
        placeOfRegistration(id).map { registrations[$0] }
    }
    package func inlineTarget(_ id: RegistrationID) -> InlineRow? {
        inlineTargets.place { $0.id < id ? .before : $0.id == id ? .here : .behind }.map { inlineTargets[$0] }
    }
    package func parcel(_ id: ParcelID) -> ParcelRow? { placeOfParcel(id).map { parcels[$0] } }
    package func message(_ id: MessageID) -> MessageRow? { placeOfMessage(id).map { messages[$0] } }
    package func route(_ id: RouteID) -> RouteRow? { routes.first { $0.id == id } }
}

package enum Side { case before, here, behind }

extension Array {
    /// Finds a row by binary search. The rows must rise.
    package func place(_ side: (Element) -> Side) -> Int? {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            switch side(self[middle]) {
            case .before: low = middle + 1
            case .here: return middle
            case .behind: high = middle
            }
        }
        return nil
    }
}
