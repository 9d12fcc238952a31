import Basis
import LaneRules
import Model

/// The decisions of one process's delivery: which parcels to lease, when to settle, renew, withdraw and stop.
///
/// Takes events and the time, returns actions, without clock, chance or waiting. The shell in Delivery performs the
/// actions against PostgreSQL and the lanes, the simulation against a model of both.
package struct Dispatcher: Sendable {
    package let settings: DispatcherSettings
    /// Ordered by app, then service route, so that round-robin serves every app.
    var routes: [RouteState] = []
    var lanes: [LaneState] = []
    var runs = RunTable()
    /// The app that was served last; the next round starts after it.
    var lastServed: AppID?
    var isPolling = false
    var pollAt: MonotonicInstant
    /// When the present poll began, or the last one.
    var pollStartedAt: MonotonicInstant
    /// A hint came during a poll, which may have read too early.
    var pollAgain = false
    var isDraining = false
    var reportedDrained = false
    var leasesOutstanding = 0
    /// Room on lanes for the members that cuts under way may lease.
    var cuts: [CutReservation] = []
    var quarantine = PoisonQuarantine.off(until: nil)
    /// Lanes on which passed-over messages may be asked for again.
    var lanesWithLess: [LaneKey?] = []

    package init(settings: DispatcherSettings, now: MonotonicInstant) {
        self.settings = settings
        pollAt = now
        pollStartedAt = now
    }

    package mutating func handle(_ event: DispatchEvent, now: MonotonicInstant) -> [DispatchAction] {
        var actions: [DispatchAction] = []
        switch event {
        case .hint:
            if isPolling { pollAgain = true } else { pollAt = now }
        case .planned(let ready):
            notePlanned(ready, now, &actions)
        case .polled(let ready):
            notePolled(ready, now, &actions)
        case .pollFailed:
            isPolling = false
            pollAt = now + settings.storePause
        case .resolved(let serviceRoute, let lane, let canSend):
            noteResolved(serviceRoute, lane, canSend)
        case .credentialsChanged:
            for place in routes.indices { actions.append(.resolve(routes[place].ready)) }
        case .lane(let key, let canSend):
            let place = placeOfLane(key)
            lanes[place].canSend = canSend
        case .stopped(let messages):
            noteStopped(messages, &actions)
        case .rated(let messages):
            noteRated(messages, &actions)
        case .leased(let parcels, let request, let again):
            noteLeaseEnded(request, parcels.first?.parcel, again: again, now)
            for read in parcels { begin(read.parcel, request, read.reading, now, &actions) }
        case .cut(let id, let leased):
            noteCut(id, leased, now, &actions)
        case .leaseFailed(let request):
            // The poll runs again, after its pause.
            noteLeaseFailed(request, now)
            pollAt = min(pollAt, now + settings.storePause)
        case .answered(let leases):
            for lease in leases {
                if lease.isFromProvider { apply(lease, now, &actions) }
                noteAnswers(lease, now)
            }
        case .settled(let leases, let failed):
            for lease in leases { noteSettled(lease.name, lease.reply, now, &actions) }
            for lease in failed { noteSettleFailed(lease, now) }
        case .renewed(let leases, let failed):
            for lease in leases { noteRenewed(lease.name, lease.isHeld, now, &actions) }
            for name in failed { noteRenewFailed(name, now) }
        case .timer:
            break
        case .drain:
            startDraining(&actions)
        }
        advance(now, &actions)
        return actions
    }

    /// When `timer` is due next.
    package func nextWake() -> MonotonicInstant {
        var wake = isPolling || isDraining ? MonotonicInstant(nanoseconds: .max) : pollAt
        if !isDraining, let change = nextQuarantineChange { wake = min(wake, change) }
        if let quantum = nextQuantum { wake = min(wake, quantum) }
        for lane in lanes { if let at = lane.throttle.wakeAt { wake = min(wake, at) } }
        if let alarm = runs.nextAlarm { wake = min(wake, alarm) }
        return wake
    }

    /// The number of members leased here that are neither settled nor handed back.
    package var membersInFlight: Int { lanes.reduce(0) { $0 + $1.members + $1.urgentMembers } }

    package var runningLeases: [LeaseName] { runs.states.map(\.name) }

    /// The messages of the leases in hand, each once.
    package var runningMessages: [MessageID] {
        var seen: Set<MessageID> = []  // lookup only
        return runs.states.map(\.run.parcel.message).filter { seen.insert($0).inserted }
    }

    package var knownLanes: Int { lanes.count }
}

struct LaneState: Sendable {
    let key: LaneKey
    var canSend = true
    var throttle: LaneThrottle
    /// The open breaker that was reported last; nil: reported closed.
    var reportedBreaker: OpenBreaker?
    /// Members leased within the lane's bound.
    var members = 0
    /// Members leased on top of the bound.
    var urgentMembers = 0
    /// Parcels leased within the lane's bound. A parcel on top of it has at least one member, so `urgentMembers` bounds
    /// those.
    var parcels = 0

    init(key: LaneKey, signalsMin: Int) {
        self.key = key
        throttle = LaneThrottle(signalsMin: signalsMin)
    }

    mutating func begin(_ parcel: LeasedParcel, _ scope: LeaseScope) { count(1, parcel.members.count, scope) }

    mutating func end(_ parcel: LeasedParcel, _ scope: LeaseScope) { count(-1, -parcel.members.count, scope) }

    private mutating func count(_ parcels: Int, _ members: Int, _ scope: LeaseScope) {
        guard scope != .urgent else { return urgentMembers += members }
        self.parcels += parcels
        self.members += members
    }
}

struct RunState: Sendable {
    var run: ParcelRun
    let lane: LaneKey?
    /// The scope of the request that leased it.
    let scope: LeaseScope
    var leaseEnd: MonotonicInstant
    var renewAt: MonotonicInstant
    var renewStartedAt: MonotonicInstant?
    /// When the next partial settle is due, if anything has changed.
    var settleAt: MonotonicInstant
    /// When to repeat a settle that got no reply.
    var settleAgainAt: MonotonicInstant?
    var verdictsDone = false
    /// The rate at the lease, or the latest change since; nil: none.
    var ratePerSecond: Int32?
    /// All pushes that will leave have left: none waits for a stream.
    var isSent = false
    // Owned by `RunTable`: the run's ordinal, when its alarm is due, and whether that alarm may be out of date.
    var number = 0
    var alarmAt: MonotonicInstant?
    var isTouched = false
    var name: LeaseName { LeaseName(parcel: run.parcel.id, epoch: run.parcel.epoch) }

    /// When this run is due for anything, whatever happens elsewhere.
    var dueAt: MonotonicInstant {
        var due = leaseEnd
        if renewStartedAt == nil { due = min(due, renewAt) }
        if run.settling != nil {
            if let again = settleAgainAt { due = min(due, again) }
        } else if run.hasChanges {
            // A complete run is due at once.
            due = min(due, run.openCount == 0 ? MonotonicInstant(nanoseconds: .min) : settleAt)
        }
        return due
    }

    /// The latest start of a stream: the answer must fit into the lease, and expired pushes are not sent.
    func noStreamAfter(_ requestDeadline: Duration) -> MonotonicInstant {
        let fits = MonotonicInstant(nanoseconds: leaseEnd.nanoseconds - requestDeadline.wholeNanoseconds)
        return min(fits, run.expiry)
    }
}
