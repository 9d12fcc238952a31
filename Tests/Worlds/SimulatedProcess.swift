import Basis
import FCM
import LaneRules
import Model
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
    /// Still there, but gets no time.
    var isFrozen = false
    var isDraining = false
    /// What came while it was frozen.
    var delayed: [WorldEvent] = []
    var lanes: [SimulatedLane] = []
    /// Google's, as this process counts them.
    var projects: [SimulatedProject] = []
    var leases: [ActiveLease] = []
    var answers: [AnswerBatch] = []
    var isFlushScheduled = false
    /// Of apps whose settles are on their way. Looked up, never walked.
    var settles: [AppID: SettleQueue] = [:]
    var renewals = BatchQueue<LeaseName>(batchesMax: RenewalBatches.batchesMax, entriesMax: RenewalBatches.leasesMax)
    /// Looked up, never walked.
    var roundsInFlight: Set<Upkeep> = []
    /// They are to be followed by another. Looked up, never walked.
    var notified: Set<Upkeep> = []
    /// The alarm clock, if it is set.
    var wakesAt: SimulatedTime?
    var leaseCalls = 0
    /// Since when nothing kept it from hearing what the database says.
    var receivesSince = SimulatedTime.zero
    /// A poll is under way that is lost or late.
    var isPollTroubled = false
    /// One for each account that it knows.
    var accounts: [SimulatedAccount] = []
    /// Turns without time passing: a dispatcher that wakes itself at once, again and again, is spinning.
    var ticksWithoutTime = 0

    var isIdle: Bool {
        isAlive && !isFrozen && !isDraining && dispatcher.runningLeases.isEmpty && leaseCalls == 0
            && lanes.allSatisfy { $0.waiting.isEmpty && $0.open.isEmpty }
    }

    var addressee: Addressee { Addressee(process: index, incarnation: incarnation) }

    func lease(_ name: LeaseName) -> ActiveLease? { placeOfLease(name).map { leases[$0] } }

    func placeOfLease(_ name: LeaseName) -> Int? { leases.indices.first { leases[$0].name == name } }

    /// nil: it is not held any more, or was never handed to a lane.
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

    /// Its word about the position waits for the Dispatcher.
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

/// What the shell keeps of a lease: the material of its requests, and until when streams may open.
struct ActiveLease: Sendable {
    let name: LeaseName
    let parcel: LeasedParcel
    let number: Int
    let lane: LaneKey?
    let askedAt: MonotonicInstant
    var until: MonotonicInstant?
    /// The process was told that its message is stopped.
    var isSilenced = false
    /// The process was told that its pushes have left.
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
    /// In the order in which they leave: transactional before bulk.
    var waiting: [WaitingPush] = []
    var open: [WirePush] = []
    var connections: [SimulatedConnection] = []
    /// When the provider token was signed that its requests carry.
    var signedAt = SimulatedTime.zero
    var isBlocked = false
    /// The checkers' count.
    var slowness = ThrottleSignals()
    /// nil: the provider doesn't count.
    var quota: LaneQuota?
    /// When its credential was taken last.
    var provenAt: SimulatedTime?
    /// Since when there is nothing to be allowed in with; nil while there is.
    var unusableSince: SimulatedTime?
    /// Its alarm clock, if it is set.
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
    /// Its place among the process's projects.
    let project: Int
    /// nil: this world sends as fast as it likes.
    let share: SharedPace.Share?
}

/// A project of Google's in one process: the real pace of all its lanes.
struct SimulatedProject: Sendable {
    let number: Int64
    var pace: SharedPace?
}

/// One service account in one process: the real cache of its access token, and what lanes read of it.
struct SimulatedAccount: Sendable {
    let credential: CredentialID
    var cache = FCMAccessTokenCache()
    /// What requests carry; nil where there is none that may be used.
    var serving: FCMAccessToken?
    var isFetching = false
    /// The bookkeeper's: those that Google refused, and that it was told of.
    var refused: [FCMAccessToken] = []
}

/// What a gateway's machine takes for the time of day: wrong from the start, drifting, and set now and then.
struct ProcessWallClock: Sendable {
    var offset = Duration.zero
    var partsPerMillion: Int64 = 0

    func read(at time: SimulatedTime) -> WallInstant {
        SimulatedWorld.wall(at: time) + offset + .nanoseconds(time.nanoseconds / 1_000_000 * partsPerMillion)
    }

    /// How far it is ahead of true time.
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
