import Basis
import Model

/// The dispatcher's knowledge of one service route: where its pushes leave from, and which of its parcels may be
/// leased.
struct RouteState: Sendable {
    /// Due parcels that a poll, a plan or a lease saw, and that no later lease found gone.
    enum Work: Int, Comparable, Sendable {
        case none
        /// No parcel among them is transactional, as far as is known.
        case bulk
        /// Some of them are transactional.
        case transactional

        static func < (left: Work, right: Work) -> Bool { left.rawValue < right.rawValue }
    }

    /// One call at a time. Of two parallel calls the later may bring its parcel first, but parcels due for longer leave
    /// first (decision 0013).
    enum Call: Equatable, Sendable {
        /// `last`: the scope of the call before. → inFlight
        case idle(last: LeaseScope?)
        /// → idle, outdated
        case inFlight(LeaseScope, since: MonotonicInstant)
        /// A call for rate-limited parcels is in flight that passed over messages which may be leased by now. → idle
        case outdated
    }

    /// Parcels that wait for their message's rate.
    struct RatedWork: Equatable, Sendable {
        /// When one of them may be leased; nil if none waits, or only parcels of `passed` do.
        var dueAt: MonotonicInstant?
        /// When a poll or a lease saw such a parcel last.
        var seenAt: MonotonicInstant?
        /// Messages that the last call did not ask for: enough of their pushes were in flight here.
        var passed: [MessageID] = []
    }

    private(set) var ready: ReadyRoute
    /// nil: the route was not resolved yet.
    private(set) var resolution: RouteResolution?
    private(set) var work = Work.none
    /// When a poll or a plan last saw due parcels. An earlier call doesn't know of these.
    private var workSeenAt: MonotonicInstant?
    private(set) var hasLapsed = false
    /// Expired parcels may be looked for, once a poll, while the lane can't send.
    private(set) var maySweep = false
    private(set) var call = Call.idle(last: nil)
    private(set) var rated = RatedWork()
    /// When direct messages of this route were cut last; nil: never, as far as is known.
    private(set) var cutAt: MonotonicInstant?

    init(_ ready: ReadyRoute) { self.ready = ready }

    /// nil: no credential covers the route, or it was not resolved yet.
    var lane: LaneKey? {
        switch resolution {
        case nil, .uncovered: nil
        case .waits(let key, _, _): key
        case .leaves(let exit): exit.lane
        }
    }

    var exit: LaneTarget? { if case .leaves(let exit) = resolution { exit } else { nil } }

    var isLeasing: Bool { if case .idle = call { false } else { true } }

    /// The last call was for rate-limited parcels. Ordinary ones alternate with these.
    var wasRated: Bool { call == .idle(last: .rateLimited) }

    /// Transactional parcels wait that no call in flight asks for.
    var hasUrgentUnasked: Bool {
        guard work == .transactional else { return false }
        guard case .inFlight(let scope, let since) = call, scope == .ordinary || scope == .urgent else { return true }
        return workSeenAt.map { $0 > since } ?? false
    }

    var isIdle: Bool { work == .none && !hasLapsed && !isLeasing }

    /// - Parameter since: when the poll began; it may have missed parcels planned after that.
    mutating func notePolled(_ route: ReadyRoute, since: MonotonicInstant, _ now: MonotonicInstant) {
        ready = route
        let seen: Work = route.hasUrgent ? .transactional : route.hasOrdinary ? .bulk : .none
        let isNewer = workSeenAt.map { $0 >= since } ?? false
        work = max(seen, isNewer ? work : .none)
        if seen != .none { workSeenAt = now }
        hasLapsed = route.hasLapsed
        rated.dueAt = route.quantumAfter.map { now + $0 }
        if route.quantumAfter != nil { rated.seenAt = now }
        maySweep = true
    }

    mutating func notePlanned(_ route: ReadyRoute, _ now: MonotonicInstant) {
        noteWork(isUrgent: route.hasUrgent, now)
        if route.hasUrgent { cutAt = now }
    }

    mutating func noteWork(isUrgent: Bool, _ now: MonotonicInstant) {
        work = max(work, isUrgent ? .transactional : .bulk)
        workSeenAt = now
    }

    mutating func noteCut(_ now: MonotonicInstant) { cutAt = now }

    mutating func noteResolved(_ resolution: RouteResolution) {
        let before = lane
        self.resolution = resolution
        if lane != before, !rated.passed.isEmpty { askForPassed() }
    }

    /// - Parameter passing: the messages that a call for rate-limited parcels does not ask for.
    mutating func begin(_ scope: LeaseScope, passing: [MessageID], _ now: MonotonicInstant) {
        call = .inFlight(scope, since: now)
        if scope == .rateLimited { rated.passed = passing }
        if scope == .expired { maySweep = false }
    }

    /// - Parameter parcel: the first parcel that came; nil: nothing came.
    mutating func end(_ request: LeaseRequest, _ parcel: LeasedParcel?) {
        call = .idle(last: request.scope)
        let knowsAll = workSeenAt.map { $0 <= request.startedAt } ?? true
        switch (request.scope, parcel?.urgency) {
        // Transactional parcels go first: if bulk came, no transactional parcel was there.
        case (.ordinary, let urgency?):
            work = knowsAll ? (urgency == .transactional ? .transactional : .bulk) : max(work, .bulk)
        case (.ordinary, nil): if knowsAll { work = .none }
        case (.urgent, .some): work = .transactional
        case (.urgent, nil): if knowsAll { work = min(work, .bulk) }
        case (.lapsed, let urgency): hasLapsed = urgency != nil
        case (.expired, let urgency): maySweep = urgency != nil
        case (.rateLimited, _): break
        }
    }

    /// Notes a call's report about rate-limited parcels. Called before `end`.
    /// - Parameters:
    ///   - again: how long it is until more may be leased, as the database reports.
    ///   - floor: the shortest pause before the database is asked again.
    mutating func noteRated(
        _ request: LeaseRequest, again: Duration?, atLeast floor: Duration, _ now: MonotonicInstant
    ) {
        guard request.scope == .rateLimited else {
            if again != nil { (rated.dueAt, rated.seenAt) = (now, now) }
            return
        }
        if call == .outdated {
            // The database was not asked for all that may be leased by now.
            rated.dueAt = now + floor
        } else if let again {
            rated.dueAt = now + max(again, floor)
        } else if rated.seenAt.map({ $0 <= request.startedAt }) ?? true {
            rated.dueAt = nil
        }
    }

    mutating func noteRatedFailed(until: MonotonicInstant) { rated.dueAt = until }

    /// The messages that the last call passed over may be leased now: they are asked for at once.
    mutating func askForPassed() {
        rated.passed = []
        if case .inFlight(.rateLimited, _) = call { call = .outdated }
        rated.dueAt = MonotonicInstant(nanoseconds: .min)
    }
}
