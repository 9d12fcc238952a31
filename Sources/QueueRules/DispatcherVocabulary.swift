import Basis
import LaneRules
import Model

/// The connections of one credential in one environment: one pace, one circuit breaker.
package struct LaneKey: Hashable, Comparable, Sendable {
    package let credential: CredentialID
    package init(_ credential: CredentialID) { self.credential = credential }
    package static func < (left: LaneKey, right: LaneKey) -> Bool { left.credential < right.credential }
}

/// A lane, and the destination of a route's pushes there.
package struct LaneTarget: Equatable, Sendable {
    package let lane: LaneKey
    package let target: PushTarget
    package init(_ lane: LaneKey, _ target: PushTarget) { (self.lane, self.target) = (lane, target) }
}

package enum RouteResolution: Equatable, Sendable {
    /// No active credential covers the route, or it can't be read.
    case uncovered
    /// Its credential has this lane, but something is missing. The reason is for people.
    case waits(LaneKey, LaneCause, reason: String = "")
    case leaves(LaneTarget)
}

package struct LaneWait: Equatable, Sendable {
    package let lane: LaneKey
    /// nil: all routes of the lane wait.
    package let route: ServiceRoute?
    package let wait: LaneHealth.Wait
    package init(_ lane: LaneKey, _ wait: LaneHealth.Wait, of route: ServiceRoute? = nil) {
        (self.lane, self.wait, self.route) = (lane, wait, route)
    }
}

package struct DispatcherSettings: Equatable, Sendable {
    /// How long a lease lasts. Longer delays the work of a process that died; shorter renews more often.
    package var leaseLength: Duration
    /// How long a request may wait for its answer, once it has a stream.
    package var requestDeadline: Duration
    /// The longest wait of a push for a stream after its lease. Then it goes back and is leased anew, so that a device
    /// which changed hands meanwhile does not get it (rule 2).
    package var laneWaitMax: Duration = .seconds(5)
    /// The longest time between a lease's statement and a stream, for a lease whose reply took long.
    package var conditionsHoldFor: Duration = .seconds(10)
    /// How often slow parcels settle at least. Bounds what a crash may send again (P4).
    package var settleEvery: Duration = .seconds(1)
    /// How often to poll: a safety net under signals and notifications.
    package var pollEvery: Duration = .seconds(1)
    /// The pause after a failed call to the database.
    package var storePause: Duration = .milliseconds(500)
    /// Members leased for one lane and not settled yet. Enough to keep every stream of every connection busy.
    package var laneMembersMax = 20_000
    /// The same over all lanes: bounds this process's memory (P8).
    package var membersMax = 100_000
    /// Parcels leased for one lane and not settled yet. Bounds what a lease costs beside its members, above all its
    /// message.
    package var laneParcelsMax = 1_000
    /// The same over all lanes, for lanes that hold members.
    package var parcelsMax = 4_000
    /// Members leased on top of `membersMax`, for lanes that hold none yet: whatever slow lanes hold, another lane gets
    /// a parcel.
    package var membersReserve = 50_000
    /// Transactional members leased on top of `laneMembersMax` and `laneParcelsMax`, however much else a lane holds. A
    /// parcel has at least one member, so this bounds their parcels too.
    package var laneUrgentMax = 1_000
    /// The same over all lanes, on top of `membersMax` with its reserve, and of `parcelsMax`.
    package var urgentMax = 10_000
    /// Calls for parcels in flight at once. The parcels that they bring may exceed all bounds.
    package var leasesMax = 16
    package var leaseGroup = LeaseGroup.standard
    /// How long, and how many, routes without work are remembered after a direct message.
    package var cutRoutesKept: Duration = .seconds(600)
    package var cutRoutesMax = 256
    /// How long quarantined parcels may keep everything else waiting.
    package var quarantineWindow: Duration = .seconds(5)
    /// The shortest time between two quarantines.
    package var quarantineInterval: Duration = .seconds(30)
    /// The throttle signals that open a lane's breaker, if they are most of the latest answers.
    package var laneSignalsMin = 128
    package var retry = RetryPolicy()

    package init(leaseLength: Duration, requestDeadline: Duration) {
        precondition(leaseLength > requestDeadline, "a lease outlives the requests that it sends")
        (self.leaseLength, self.requestDeadline) = (leaseLength, requestDeadline)
    }

    func check() {
        precondition(laneMembersMax > 0 && membersMax >= laneMembersMax && leasesMax > 0)
        precondition(laneParcelsMax > 0 && parcelsMax >= laneParcelsMax)
        precondition(laneUrgentMax > 0 && urgentMax >= laneUrgentMax)
        precondition(laneWaitMax > .zero && conditionsHoldFor >= laneWaitMax)
    }
}

/// Names one lease of one parcel: replies to an earlier lease never touch a later one.
package struct LeaseName: Hashable, Sendable {
    package let parcel: ParcelID
    package let epoch: Int32
    package init(parcel: ParcelID, epoch: Int32) { (self.parcel, self.epoch) = (parcel, epoch) }
}

package enum DispatchEvent: Equatable, Sendable {
    /// Work may be ready: another process announced it, or parcels that were planned here wait for their rate.
    case hint
    /// Parcels are ready on these routes: a slice was planned here. No poll is needed to find them.
    case planned([ReadyRoute])
    case polled([ReadyRoute])
    case pollFailed
    case resolved(ServiceRoute, RouteResolution)
    case credentialsChanged
    /// A report about a lane, in the order in which things happened.
    case lane(LaneKey, LaneHealth.Event)
    /// Those of `runningMessages` that must not be sent now.
    case stopped([StoppedMessage])
    /// Those of `runningMessages` that have a rate now, each with its rate.
    case rated([RatedMessage])
    /// The parcels that one call leased, in their order; empty if no parcel was due.
    /// `again`, for a lease of rate-limited parcels: how long it is until more may be leased, nil if no other parcel
    /// waits. For other leases: zero if some parcels that they found are rate-limited from now on.
    case leased([ReadParcel], asked: LeaseRequest, again: Duration? = nil)
    case leaseFailed(LeaseRequest)
    /// A cut that asked `admit` has ended, with the parcels that it leased; empty if it leased none, or failed.
    case cut(CutID, [CutParcels])
    case answered([AnsweredLease])
    /// Replies to settles, and the settles that got none.
    case settled([SettledLease], failed: [UnsettledLease] = [])
    /// Replies to the renewals of one call, and the renewals that got none.
    case renewed([RenewedLease], failed: [LeaseName] = [])
    case timer
    case drain
}

/// The process's knowledge of a leased parcel's message.
package enum MessageReading: Equatable, Sendable {
    /// A push whose answer was lost may be sent again.
    case repeatable
    case unrepeatable
    /// Its content could not be read now: the parcel goes back.
    case unread
}

package struct ReadParcel: Equatable, Sendable {
    package let parcel: LeasedParcel
    package let reading: MessageReading
    package init(_ parcel: LeasedParcel, _ reading: MessageReading) { (self.parcel, self.reading) = (parcel, reading) }
}

/// Answers to pushes of one leased parcel, by position: the plain 200s, and the others.
package struct AnsweredLease: Equatable, Sendable {
    package let name: LeaseName
    package let accepted: [Int32]
    package let others: [PositionedOutcome]
    /// False if the gateway ended the pushes itself: such answers say nothing about the provider.
    package let isFromProvider: Bool
    /// All its pushes have streams by now, or are answered. Set only for messages that have a rate.
    package let isSent: Bool
    /// The provider's complaint about the message; nil: it named nothing.
    package let complaint: MessageComplaint?
    package init(
        _ name: LeaseName, accepted: [Int32], others: [PositionedOutcome], isFromProvider: Bool = true,
        isSent: Bool = false, complaint: MessageComplaint? = nil
    ) {
        (self.name, self.accepted, self.others, self.isFromProvider) = (name, accepted, others, isFromProvider)
        (self.isSent, self.complaint) = (isSent, complaint)
    }
}

package struct RenewedLease: Equatable, Sendable {
    package let name: LeaseName
    package let isHeld: Bool
    package init(_ name: LeaseName, isHeld: Bool) { (self.name, self.isHeld) = (name, isHeld) }
}

package struct SettledLease: Equatable, Sendable {
    package let name: LeaseName
    package let reply: SettleReply
    package init(_ name: LeaseName, _ reply: SettleReply) { (self.name, self.reply) = (name, reply) }
}

package struct UnsettledLease: Equatable, Sendable {
    package let name: LeaseName
    /// The transaction of its verdicts is known to have committed.
    package let verdictsDone: Bool
    /// The database refused the settle for its content, not its own state. It is then repeated in a batch of its own.
    package let isRefused: Bool
    package init(_ name: LeaseName, verdictsDone: Bool = false, isRefused: Bool = false) {
        (self.name, self.verdictsDone, self.isRefused) = (name, verdictsDone, isRefused)
    }
}

/// One call for a parcel, or for a few small ones. Lease time is counted from `startedAt`, before the statement leaves.
package struct LeaseRequest: Equatable, Sendable {
    package let serviceRoute: ServiceRoute
    /// nil: what comes is not sent.
    package let exit: LaneTarget?
    package let startedAt: MonotonicInstant
    package let scope: LeaseScope
    /// Rate-limited messages that this call does not ask for: enough of their pushes are in flight here.
    package let passing: [MessageID]
    /// The most parcels that the lane can take.
    package let parcelsMax: Int
    package init(
        serviceRoute: ServiceRoute, exit: LaneTarget?, startedAt: MonotonicInstant, scope: LeaseScope,
        passing: [MessageID] = [], parcelsMax: Int = .max
    ) {
        (self.serviceRoute, self.exit, self.startedAt) = (serviceRoute, exit, startedAt)
        (self.scope, self.passing, self.parcelsMax) = (scope, passing, parcelsMax)
    }

    package var lane: LaneKey? { exit?.lane }
}

/// Parcels that were cut and leased at once: direct messages of one service route. Lease time is counted from
/// `startedAt`, before the first statement left.
package struct CutParcels: Equatable, Sendable {
    package let serviceRoute: ServiceRoute
    package let startedAt: MonotonicInstant
    package let parcels: [ReadParcel]
    package init(serviceRoute: ServiceRoute, startedAt: MonotonicInstant, parcels: [ReadParcel]) {
        (self.serviceRoute, self.startedAt, self.parcels) = (serviceRoute, startedAt, parcels)
    }
}

/// An order to the shell. Each is answered by the event of the same name, or by one that reports several.
package enum DispatchAction: Equatable, Sendable {
    case poll
    case resolve(ReadyRoute)
    case lease(LeaseRequest)
    /// Encode these members and hand them to the lane; no stream opens after `until`. Only the event that brings a
    /// parcel causes it.
    case submit(LeaseName, LaneTarget, positions: [Int32], until: MonotonicInstant)
    /// Write the verdicts that are not written yet, then the compare-and-set.
    case settle(LeaseName, PendingSettle, withVerdicts: Bool)
    case renew(LeaseName)
    /// Take back pushes that have no stream yet.
    case withdraw(LeaseName, LaneKey)
    case lane(LaneKey, LaneHealth.Action)
    /// Tell the operator about a push of the message. The lane is nil if the parcel has none.
    case alarm(MessageID, LaneKey?, ParcelAlarm)
    /// Everything is settled after a drain.
    case drained
}
