import DeliveryRules
import PushModel

/// The registry and the queue as a value: the same operations with the same meaning as room Store over PostgreSQL.
///
/// Each call is one committed transaction. `ConformanceTests` hold the two together.
struct SimulatedStore: Equatable, Sendable {
    /// Rising by id, as all the rows here.
    var routes: [RouteRow] = []
    var registrations: [RegistrationRow] = []
    var messages: [MessageRow] = []
    var plans: [PlanRow] = []
    var parcels: [ParcelRow] = []
    /// In the order of the settles.
    var history: [HistoryRow] = []
    var suspicions: [SuspicionRow] = []
    var minutes: [RouteMinute] = []
    var feedback: [FeedbackRow] = []
    var inlineTargets: [InlineRow] = []
    var senders: [SenderRow] = []
    /// Identities that were handed out.
    var lastRoute: Int64 = 0
    var lastRegistration: Int64 = 0
    var lastParcel: Int64 = 0
    var lastFeedback: Int64 = 0
}

struct RouteRow: Equatable, Sendable {
    let id: RouteID
    let app: AppID
    let provider: Provider
    let environment: PushEnvironment
    let topic: String

    func ready(_ service: TopicService, ordinary: Bool, lapsed: Bool) -> ReadyRoute {
        ReadyRoute(
            route: id, service: service, app: app, provider: provider, environment: environment, topic: topic,
            hasOrdinary: ordinary,
            hasLapsed: lapsed)
    }
}

/// An app's active credential for APNs in one environment.
struct SenderRow: Equatable, Sendable {
    let app: AppID
    let environment: PushEnvironment
    /// The one topic service that it is for; nil: good for every topic.
    var service: TopicService?
    /// The provider refuses it until then.
    var blockedUntil: WallInstant?
}

/// The wide row and the pulse together.
struct RegistrationRow: Equatable, Sendable {
    let id: RegistrationID
    let app: AppID
    var stored: StoredRegistration
    var badge: Int32
    var registeredAt: WallInstant
    let createdAt: WallInstant
    /// When the backend said to have learned what is stored.
    var asOf: WallInstant?
    /// The generation of the token for which both environments were asked.
    var environmentsCompared: TokenGeneration?

    /// As a registration is decided against it.
    var standingRow: StoredRegistration {
        var row = stored
        row.asOf = max(registeredAt, asOf ?? registeredAt)
        return row
    }
    var isLive: Bool { stored.state != .retired }
    var standing: TokenStanding {
        TokenStanding(state: stored.state, generation: stored.generation, registeredAt: registeredAt)
    }
}

struct MessageRow: Equatable, Sendable {
    let id: MessageID
    let app: AppID
    let format: Int16
    var state: MessageState
    let urgency: MessageUrgency
    let kind: TokenKind
    let badge: BadgeChange
    let audienceWanted: Audience
    let horizon: RegistrationID
    let acceptedAt: WallInstant
    let expiresAt: WallInstant
    var finishedAt: WallInstant?
    var plannedMembers: Int64 = 0
    /// nil until planning ended.
    var audience: Int64?
    /// Settled for good, and their parcels gone. One count per terminal state.
    var counts = [Int64](repeating: 0, count: TerminalState.allCases.count)
    /// By state, then reason.
    var reasons: [EndingTotal] = []
    /// Like `counts`, by the provider of the routes; rising.
    var providers: [ProviderCounts] = []

    var members: Int64 { counts.reduce(0, +) }
}

struct ProviderCounts: Equatable, Sendable {
    let provider: Provider
    var counts = [Int64](repeating: 0, count: TerminalState.allCases.count)
}

/// Exists as long as the message's planning.
struct PlanRow: Equatable, Sendable {
    let message: MessageID
    let format: Int16
    let urgency: MessageUrgency
    /// The highest registration id that was read, or how many of the named installations were looked up.
    var plannedThrough: Int64 = 0
    var plannedAt: WallInstant?
}

struct ParcelRow: Equatable, Sendable {
    let id: ParcelID
    let message: MessageID
    let app: AppID
    let route: RouteID
    /// Its message's. Stored with another one where it is away from home.
    let format: Int16
    let urgency: MessageUrgency
    var epoch: Int32 = 0
    var settles: Int32 = 0
    let attempt: Int16
    var lapses: Int16
    let retrySpent: Duration
    var isBadgeMarked: Bool
    let answerLost: Bool
    var waitsFor: WaitCause?
    var home: HomeRefusal?
    let dueAt: WallInstant
    let expiresAt: WallInstant
    /// nil where ready.
    var lease: LeaseRow?
    let members: [RegistrationID]
    /// One per member: ended, or handed over.
    var settled: [Bool]
    var handedOver = 0
    var counts = [Int64](repeating: 0, count: TerminalState.allCases.count)

    var pending: Int { settled.count { !$0 } }
}

/// One entry of one settle.
struct HistoryRow: Equatable, Sendable {
    let message: MessageID
    let parcel: ParcelID
    /// The how-manieth settle of its parcel.
    let settle: Int32
    /// Among the entries of its settle, from 1.
    let place: Int
    let route: RouteID
    let entry: HistoryEntry
    let at: WallInstant
}

struct LeaseRow: Equatable, Sendable {
    let owner: ProcessID
    var until: WallInstant
}

/// A token that a message named, and no registration holds.
struct InlineRow: Equatable, Sendable {
    /// Drawn as registrations' are.
    let id: RegistrationID
    let message: MessageID
    let route: RouteID
    let token: DeviceToken
}

struct SuspicionRow: Equatable, Sendable {
    let registration: RegistrationID
    let route: RouteID
    let generation: TokenGeneration
    let reason: String
    let suspectedAt: WallInstant
    /// Doubted again, last.
    var doubtedAt: WallInstant?
    var lookAt: WallInstant
}

struct RouteMinute: Equatable, Sendable {
    let route: RouteID
    let minute: WallInstant
    var answered: Int
    var suspected: Int
}

struct FeedbackRow: Equatable, Sendable {
    let id: Int64
    let app: AppID
    let registration: RegistrationID
    let generation: TokenGeneration
    let installation: String
    let kind: TokenKind
    let provider: Provider
    let verdict: FeedbackVerdict
    let reason: String
    let at: WallInstant
    var environments: EnvironmentChange?
    var isUndone = false
}

extension SimulatedStore {
    func placeOfRegistration(_ id: RegistrationID) -> Int? {
        registrations.place { $0.id < id ? .before : $0.id == id ? .here : .behind }
    }
    func placeOfParcel(_ id: ParcelID) -> Int? {
        parcels.place { $0.id < id ? .before : $0.id == id ? .here : .behind }
    }
    func placeOfMessage(_ id: MessageID) -> Int? { messages.firstIndex { $0.id == id } }
    func registration(_ id: RegistrationID) -> RegistrationRow? { placeOfRegistration(id).map { registrations[$0] } }
    func inlineTarget(_ id: RegistrationID) -> InlineRow? {
        inlineTargets.place { $0.id < id ? .before : $0.id == id ? .here : .behind }.map { inlineTargets[$0] }
    }
    func parcel(_ id: ParcelID) -> ParcelRow? { placeOfParcel(id).map { parcels[$0] } }
    func message(_ id: MessageID) -> MessageRow? { placeOfMessage(id).map { messages[$0] } }
    func route(_ id: RouteID) -> RouteRow? { routes.first { $0.id == id } }
}

enum Side { case before, here, behind }

extension Array {
    /// Binary search in rows that rise.
    func place(_ side: (Element) -> Side) -> Int? {
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
