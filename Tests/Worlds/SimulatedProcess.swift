import Basis
import LaneRules
import Model
import ProviderInterface
import QueueRules

/// One gateway process: the real Dispatcher, and a shell that is as thin as the real one.
struct SimulatedProcess: Sendable {
    let index: Int
    var incarnation = 0
    var id: ProcessID
    var dispatcher: Dispatcher
    var clock: ProcessClock
    var wallClock = ProcessWallClock()
    var isAlive = true
    /// Whether the process is alive but gets no processor time.
    var isFrozen = false
    var isDraining = false
    /// The events that came while it was frozen.
    var delayed: [WorldEvent] = []
    var lanes: [SimulatedLane] = []
    /// Google's projects, as this process counts them.
    var projects: [SimulatedProject] = []
    var leases: [ActiveLease] = []
    var answers: [AnswerBatch] = []
    var isFlushScheduled = false
    /// The settles under way, by app. Never iterated.
    var settles: [AppID: SettleQueue] = [:]
    var renewals = BatchQueue<LeaseName>(batchesMax: RenewalBatches.batchesMax, entriesMax: RenewalBatches.leasesMax)
    /// The upkeep rounds under way. Never iterated.
    var roundsInFlight: Set<Upkeep> = []
    /// The rounds that must be followed by another. Never iterated.
    var notified: Set<Upkeep> = []
    /// The time for which its alarm clock is set; nil: it is not.
    var wakesAt: SimulatedTime?
    var leaseCalls = 0
    /// A fan-out is under way, and whether another one must follow.
    var isFanningOut = false
    var mustFanOutAgain = false
    /// A transaction that cuts pushes of items is under way, and whether more must follow.
    var isPushingItems = false
    var mustPushItemsAgain = false
    /// Cuts of direct messages under way.
    var cuts = 0
    /// The time since which nothing kept the process from receiving notifications of the database.
    var receivesSince = SimulatedTime.zero
    /// Whether a poll is under way that is lost or late.
    var isPollTroubled = false
    /// One entry for each service account that the process knows.
    var accounts: [SimulatedAccount] = []
    /// Consecutive ticks without time passing. A dispatcher that wakes itself at once, again and again, is spinning.
    var ticksWithoutTime = 0

    var isIdle: Bool {
        isAlive && !isFrozen && !isDraining && dispatcher.runningLeases.isEmpty && leaseCalls == 0 && cuts == 0
            && lanes.allSatisfy { $0.waiting.isEmpty && $0.open.isEmpty }
    }

    var addressee: Addressee { Addressee(process: index, incarnation: incarnation) }

    func lease(_ name: LeaseName) -> ActiveLease? { placeOfLease(name).map { leases[$0] } }

    func placeOfLease(_ name: LeaseName) -> Int? { leases.indices.first { leases[$0].name == name } }

    /// The time until which streams may open. nil: the process no longer holds the lease, or never handed it to a lane.
    func streamsUntil(_ name: LeaseName) -> MonotonicInstant? { placeOfLease(name).flatMap { leases[$0].until } }

    mutating func placeOfAccount(_ credential: CredentialID) -> Int {
        if let place = accounts.firstIndex(where: { $0.credential == credential }) { return place }
        accounts.append(SimulatedAccount(credential: credential))
        return accounts.count - 1
    }

    mutating func placeOfProject(_ number: Int64, perMinute: Int?) -> Int {
        if let place = projects.firstIndex(where: { $0.number == number }) { return place }
        let pace = perMinute.map { SharedPace(perMinute: $0, amongProcesses: true) }
        projects.append(SimulatedProject(number: number, pace: pace))
        return projects.count - 1
    }

    /// Whether an outcome of the position waits for the Dispatcher.
    func hasUnread(_ position: Int32, of lease: LeaseName) -> Bool {
        answers.contains { batch in
            batch.lease == lease
                && (batch.accepted.contains(position) || batch.others.contains { $0.position == position })
        }
    }

    mutating func collectSent(_ lease: LeaseName) {
        if answers.last?.lease != lease { answers.append(AnswerBatch(lease: lease)) }
        answers[answers.count - 1].isSent = true
    }

    mutating func collect(_ outcome: Outcome, for position: Int32, of lease: LeaseName) {
        if answers.last?.lease != lease { answers.append(AnswerBatch(lease: lease)) }
        if outcome == .accepted {
            answers[answers.count - 1].accepted.append(position)
        } else {
            answers[answers.count - 1].others.append(PositionedOutcome(position: position, outcome: outcome))
        }
    }
}

/// The shell's part of a lease: the material of its requests, and until when streams may open.
struct ActiveLease: Sendable {
    let name: LeaseName
    let parcel: LeasedParcel
    let number: Int
    let lane: LaneKey?
    let askedAt: MonotonicInstant
    var until: MonotonicInstant?
    /// Whether the process knows that the lease's message is stopped.
    var isSilenced = false
    /// Whether the process knows that the lease's pushes have left.
    var isReportedSent = false
}

struct AnswerBatch: Sendable {
    let lease: LeaseName
    var accepted: [Int32] = []
    var others: [PositionedOutcome] = []
    var isSent = false
}

/// The connections of one credential, as seen from one process.
struct SimulatedLane: Sendable {
    let key: LaneKey
    let provider: Provider
    /// The queue in sending order: transactional before bulk.
    var waiting: [WaitingPush] = []
    var open: [WirePush] = []
    var connections: [SimulatedConnection] = []
    /// The time at which the lane signed the provider token that its requests carry.
    var signedAt = SimulatedTime.zero
    /// nil: it can send.
    var block: LaneCause?
    var isBlocked: Bool { block != nil }
    /// The checkers' own count of throttle signals.
    var slowness = ThrottleSignals()
    /// nil: the provider has no quota.
    var quota: LaneQuota?
    /// The time at which the provider last accepted a push of the lane.
    var provenAt: SimulatedTime?
    /// The time since which waiting pushes have lacked a usable connection or access token; nil: they lack neither.
    var unusableSince: SimulatedTime?
    /// The time for which its alarm clock is set; nil: it is not.
    var timerAt: SimulatedTime?

    mutating func queue(_ positions: [Int32], of lease: LeaseName, _ urgency: MessageUrgency) {
        let pushes = positions.map { WaitingPush(lease: lease, position: $0, urgency: urgency) }
        let next = urgency == .transactional ? waiting.firstIndex { $0.urgency == .bulk } : nil
        waiting.insert(contentsOf: pushes, at: next ?? waiting.count)
    }
}

/// A push that has no stream yet.
struct WaitingPush: Sendable {
    let lease: LeaseName
    let position: Int32
    let urgency: MessageUrgency
}

/// A lane's part in the pace of its project.
struct LaneQuota: Sendable {
    /// Its index among the process's projects.
    let project: Int
    /// nil: this world has no pace.
    let share: SharedPace.Share?
}

/// One of Google's projects in one process: the real pace of all its lanes.
struct SimulatedProject: Sendable {
    let number: Int64
    var pace: SharedPace?
}

/// One service account in one process: the real cache of its access token, and the token that lanes read.
struct SimulatedAccount: Sendable {
    let credential: CredentialID
    var cache = AccessTokenCache()
    /// The token that requests carry; nil where none may be used.
    var serving: AccessToken?
    var isFetching = false
    /// The tokens that Google refused and the process knows about. Only the checkers read them.
    var refused: [AccessToken] = []
}

/// The wall clock of a gateway's machine: wrong from the start, drifting, and set now and then.
struct ProcessWallClock: Sendable {
    var offset = Duration.zero
    var partsPerMillion: Int64 = 0

    func read(at time: SimulatedTime) -> WallInstant {
        SimulatedWorld.wall(at: time) + offset + .nanoseconds(time.nanoseconds / 1_000_000 * partsPerMillion)
    }

    /// The time by which the clock is ahead of true time.
    func error(at time: SimulatedTime) -> Duration { read(at: time) - SimulatedWorld.wall(at: time) }
}

/// A monotonic clock that runs a little wrong.
struct ProcessClock: Sendable {
    let origin: Int64
    let partsPerMillion: Int64

    func read(at time: SimulatedTime) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: origin + time.nanoseconds + time.nanoseconds * partsPerMillion / 1_000_000)
    }

    /// The earliest true time at which the clock has reached the instant.
    func time(of instant: MonotonicInstant) -> SimulatedTime {
        guard instant.nanoseconds < .max / 2 else { return .never }
        let passed = instant.nanoseconds - origin
        var time = SimulatedTime(nanoseconds: passed - passed * partsPerMillion / 1_000_000)
        while read(at: time) < instant {
            time.nanoseconds += max(1, (instant - read(at: time)).wholeNanoseconds)
        }
        return time
    }
}
