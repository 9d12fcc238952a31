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
    var lanes: LaneTable
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
        settings.check()
        self.settings = settings
        lanes = LaneTable(signalsMin: settings.laneSignalsMin, membersMax: settings.laneMembersMax)
        pollAt = now
        pollStartedAt = now
    }

    package mutating func handle(_ event: DispatchEvent, now: MonotonicInstant) -> [DispatchAction] {
        var actions: [DispatchAction] = []
        switch event {
        case .hint:
            if isPolling { pollAgain = true } else { pollAt = now }
        case .planned(let ready): notePlanned(ready, now, &actions)
        case .polled(let ready): notePolled(ready, now, &actions)
        case .pollFailed:
            isPolling = false
            pollAt = now + settings.storePause
        case .resolved(let serviceRoute, let resolution): noteResolved(serviceRoute, resolution, now, &actions)
        case .credentialsChanged:
            for place in routes.indices { actions.append(.resolve(routes[place].ready)) }
        case .lane(let key, let event): note(event, of: key, now, &actions)
        case .stopped(let messages): noteStopped(messages, &actions)
        case .rated(let messages): noteRated(messages, &actions)
        case .leased(let parcels, let request, let again):
            noteLeaseEnded(request, parcels.first?.parcel, again: again, now)
            for read in parcels { begin(read.parcel, request, read.reading, now, &actions) }
        case .cut(let id, let leased): noteCut(id, leased, now, &actions)
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
        case .timer: break
        case .drain:
            isDraining = true
            withdrawAll(&actions)
        }
        advance(now, &actions)
        return actions
    }

    package func nextWake() -> MonotonicInstant {
        var wake = isPolling || isDraining ? MonotonicInstant(nanoseconds: .max) : pollAt
        if !isDraining, let change = nextQuarantineChange { wake = min(wake, change) }
        if let quantum = nextQuantum { wake = min(wake, quantum) }
        for lane in lanes.states { if let at = lane.health.wakeAt { wake = min(wake, at) } }
        if let alarm = runs.nextAlarm { wake = min(wake, alarm) }
        return wake
    }

    /// The number of members leased here that are neither settled nor handed back.
    package var membersInFlight: Int { lanes.load.members + lanes.load.urgentMembers }

    /// The submitted pushes that have no outcome yet.
    package var pushesInFlight: Int { runs.states.reduce(0) { $0 + $1.run.openCount } }

    package var runningLeases: [LeaseName] { runs.states.map(\.name) }

    /// The messages of the leases in hand, each once.
    package var runningMessages: [MessageID] {
        var seen: Set<MessageID> = []  // lookup only
        return runs.states.map(\.run.parcel.message).filter { seen.insert($0).inserted }
    }

    package var knownLanes: Int { lanes.states.count }
}

struct RunState: Sendable {
    var run: ParcelRun
    let lane: LaneKey?
    let scope: LeaseScope
    /// The latest start of a stream. A renewal does not move it: only a lease reads the members' rows.
    let noStreamAfter: MonotonicInstant
    /// The pushes that the lane had answered at the lease (`LaneHold`).
    let answeredBefore: Int
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
    /// The pushes whose answers have arrived from the lane.
    var arrivedCount = 0
    /// Its pushes without a stream were taken back. Those that are still being encoded stay here.
    var isWithdrawn = false
    /// All pushes that will leave have left: none waits for a stream.
    var isSent = false
    /// Some of its pushes came back because they had waited as long as they may.
    var wasLate = false
    // Owned by `RunTable`: the run's ordinal, when its alarm is due, and whether that alarm may be out of date.
    var number = 0
    var alarmAt: MonotonicInstant?
    var isTouched = false
    var name: LeaseName { run.parcel.leaseName }

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
}

extension DispatcherSettings {
    /// The latest start of a stream under a lease. The answer must fit into the lease, expired pushes are not sent, and
    /// the rows that the lease read must be recent.
    func noStreamAfter(leasedAt: MonotonicInstant, _ run: ParcelRun, now: MonotonicInstant) -> MonotonicInstant {
        let fits = leasedAt + (leaseLength - requestDeadline)
        return min(fits, run.expiry, now + laneWaitMax, leasedAt + conditionsHoldFor)
    }
}
