import Basis
import LaneRules
import Model

/// The brain of one process's delivery: which parcels to lease, when to settle, renew, withdraw and stop.
///
/// Event and now in, actions out; no clock, no chance, no waiting. The shell in Delivery performs the actions against
/// PostgreSQL and the lanes, the simulation against a model of both.
package struct Dispatcher: Sendable {
    package let settings: DispatcherSettings
    /// Ordered by app, then line, so that going round serves every app in turn.
    var routes: [RouteState] = []
    var lanes: [LaneState] = []
    var runs = RunTable()
    /// Where the next round starts: the app after the one served last.
    var lastServed: AppID?
    var isPolling = false
    var pollAt: MonotonicInstant
    /// When the poll began that is under way, or the last one.
    var pollStartedAt: MonotonicInstant
    /// A hint came while a poll was under way: it may have looked too early.
    var pollAgain = false
    var isDraining = false
    var reportedDrained = false
    var leasesOutstanding = 0
    var quarantine = PoisonQuarantine.off(until: nil)
    /// Where what calls passed by may be asked for again.
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
        case .leaseFailed(let request):
            // The poll looks again, after its pause.
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

    /// Members leased here that are neither settled nor handed back.
    package var membersInFlight: Int { lanes.reduce(0) { $0 + $1.members + $1.urgentMembers } }

    package var runningLeases: [LeaseName] { runs.states.map(\.name) }

    /// Messages of the leases in hand, each once.
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
    /// The rest that was told last; nil: that it is over.
    var reportedBreaker: OpenBreaker?
    /// Leased within the lane's bound.
    var members = 0
    /// Leased on top of it.
    var urgentMembers = 0
    /// Leased within the lane's bound. What is leased on top has a member at least, which bounds its parcels too.
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
    /// As what it was asked for.
    let scope: LeaseScope
    var leaseEnd: MonotonicInstant
    var renewAt: MonotonicInstant
    var renewStartedAt: MonotonicInstant?
    /// The next partial settle, where there is news.
    var settleAt: MonotonicInstant
    /// After a settle without a reply: when to send it again.
    var settleAgainAt: MonotonicInstant?
    var verdictsDone = false
    /// As it was leased, or said since; nil: none.
    var ratePerSecond: Int32?
    /// Its pushes have left, as far as any will: none waits for a stream.
    var isSent = false
    // The table's own: which of all that were begun it is, when its alarm rings, and whether that may be wrong by now.
    var number = 0
    var alarmAt: MonotonicInstant?
    var isTouched = false
    var name: LeaseName { LeaseName(parcel: run.parcel.id, epoch: run.parcel.epoch) }

    /// When something of it is due, whatever happens elsewhere.
    var dueAt: MonotonicInstant {
        var due = leaseEnd
        if renewStartedAt == nil { due = min(due, renewAt) }
        if run.settling != nil {
            if let again = settleAgainAt { due = min(due, again) }
        } else if run.hasChanges {
            // What is complete has been due all the time.
            due = min(due, run.openCount == 0 ? MonotonicInstant(nanoseconds: .min) : settleAt)
        }
        return due
    }

    /// A request's answer has to fit into the lease; and nothing is sent that has expired.
    func noStreamAfter(_ requestDeadline: Duration) -> MonotonicInstant {
        let fits = MonotonicInstant(nanoseconds: leaseEnd.nanoseconds - requestDeadline.wholeNanoseconds)
        return min(fits, run.expiry)
    }
}
