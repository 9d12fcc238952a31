import Basis

/// Names one connection of a lane; never used again.
package struct ConnectionID: Hashable, Comparable, Sendable {
    package let value: UInt64
    package init(_ value: UInt64) { self.value = value }
    package static func < (left: ConnectionID, right: ConnectionID) -> Bool { left.value < right.value }
}

/// The bounds and times of a lane.
package struct LaneLimits: Equatable, Sendable {
    /// Connections that take requests, or are being dialled. Draining ones come on top, at most as many again.
    package var connectionsMax: Int
    package var backoff: Backoff
    /// A connection beyond the warm one closes after this much idleness.
    package var idleClose: Duration
    /// Requests that wait longer than this for a stream are worth another connection.
    package var growAfter: Duration = .milliseconds(50)
    /// A connection that was open and idle for so long, or answered a request, works. One that ends before is a failed
    /// dial.
    package var provenAfter: Duration = .seconds(2)
    /// So many failures in a row block the lane.
    package var failuresMax = 2
    package var credentialBackoff: Duration = .seconds(300)
    /// Beyond a burst of `connectionsMax` dials: one in each such interval.
    package var dialInterval: Duration = .milliseconds(250)

    package init(connectionsMax: Int, backoff: Backoff, idleClose: Duration) {
        precondition(connectionsMax >= 1 && idleClose > .zero)
        self.connectionsMax = connectionsMax
        self.backoff = backoff
        self.idleClose = idleClose
    }
}

/// How many connections a lane has, when it dials, and whether it can send at all. Decides; the shell does.
package struct LaneMachine: Sendable {
    /// What waits, told at the end of each turn in which anything changed.
    package struct Demand: Equatable, Sendable {
        /// Since when the oldest waiting request waits; nil: none waits.
        package var waitingSince: MonotonicInstant?
        /// Requests that the open connections could take now.
        package var room: Int
        package init(waitingSince: MonotonicInstant?, room: Int) {
            self.waitingSince = waitingSince
            self.room = room
        }
    }

    package enum Event: Equatable, Sendable {
        case demand(Demand)
        /// A dial that `dial` asked for succeeded.
        case opened(ConnectionID)
        /// It answered a request.
        case proved(ConnectionID)
        case busy(ConnectionID)
        case idle(ConnectionID)
        /// The peer allows it some streams, or none at all; some at first.
        case streams(ConnectionID, allowed: Bool)
        /// It takes no more requests. `refused`: the peer's goodbye said that our credential is the reason.
        case draining(ConnectionID, refused: Bool)
        case closed(ConnectionID, failure: BlockCause?)
        /// An answer said that our credential is refused.
        case credentialRefused
        /// Keep a connection open from now on.
        case warmUp
        /// Something was mended: dial at once.
        case retry
        /// Finish and close everything; nothing is dialled any more.
        case drain
        case timer
    }

    package enum Action: Equatable, Sendable {
        case dial(ConnectionID)
        /// No more requests on it; it closes when it has answered what it took.
        case retire(ConnectionID)
        /// Nothing can leave: requests that wait, and those that come, are handed back.
        case block(BlockCause)
        case unblock
    }

    private enum Stage: Equatable {
        case dialling
        case open
        case draining
    }

    private struct Connection: Equatable {
        let id: ConnectionID
        var stage = Stage.dialling
        var openedAt: MonotonicInstant?
        var isProven = false
        var allowsStreams = true
        /// nil while it has requests in flight.
        var idleSince: MonotonicInstant?
        /// The credential that it speaks with was refused: its end is no news.
        var isRefused = false
    }

    package let limits: LaneLimits
    package private(set) var breaker: Breaker
    private var pace: DialPace
    private var connections: [Connection] = []
    private var dials: UInt64 = 0
    /// The connections up to here spoke with a credential that was refused.
    private var refusedUpTo: UInt64 = 0
    private var demand = Demand(waitingSince: nil, room: 0)
    private var keepsWarm = false
    package private(set) var isDraining = false

    package init(limits: LaneLimits) {
        self.limits = limits
        breaker = Breaker(
            backoff: limits.backoff, failuresMax: limits.failuresMax, credentialBackoff: limits.credentialBackoff)
        pace = DialPace(burst: limits.connectionsMax, interval: limits.dialInterval)
    }

    package var canSend: Bool { breaker.block == nil && !isDraining }
    package var isEmpty: Bool { connections.isEmpty }

    /// - Parameter entropy: chance, for the back-off.
    package mutating func handle(_ event: Event, now: MonotonicInstant, entropy: UInt64) -> [Action] {
        var actions = note(event, now, entropy)
        actions += prove(now)
        actions += retireIdle(now)
        actions += dialIfWanted(now)
        return actions
    }
}

extension LaneMachine {
    private mutating func note(_ event: Event, _ now: MonotonicInstant, _ entropy: UInt64) -> [Action] {
        switch event {
        case .demand(let demand):
            if demand.waitingSince != nil { keepsWarm = true }
            self.demand = demand
        case .opened(let id):
            change(id) {
                guard $0.stage == .dialling else { return }
                $0.stage = .open
                $0.openedAt = now
                $0.idleSince = now
            }
        case .proved(let id): return proved(id)
        case .busy(let id): change(id) { $0.idleSince = nil }
        case .idle(let id): change(id) { $0.idleSince = now }
        case .streams(let id, let allowed): change(id) { $0.allowsStreams = allowed }
        case .draining(let id, let refused):
            change(id) { $0.stage = .draining }
            return refused ? credentialRefused(now, entropy) : []
        case .credentialRefused: return credentialRefused(now, entropy)
        case .closed(let id, let failure): return closed(id, failure, now, entropy)
        case .warmUp: keepsWarm = true
        case .retry: breaker.allowNow()
        case .drain:
            isDraining = true
            return connections.filter { $0.stage != .draining }.map { .retire($0.id) }
        case .timer: break
        }
        return []
    }

    private mutating func change(_ id: ConnectionID, _ body: (inout Connection) -> Void) {
        guard let place = connections.firstIndex(where: { $0.id == id }) else { return }
        body(&connections[place])
    }

    /// The answers of a connection that takes no more requests say nothing about the next one.
    private mutating func proved(_ id: ConnectionID) -> [Action] {
        change(id) { $0.isProven = true }
        guard connections.contains(where: { $0.id == id && $0.stage == .open }) else { return [] }
        return breaker.proved() ? [.unblock] : []
    }

    private mutating func closed(
        _ id: ConnectionID, _ failure: BlockCause?, _ now: MonotonicInstant, _ entropy: UInt64
    ) -> [Action] {
        guard let place = connections.firstIndex(where: { $0.id == id }) else { return [] }
        let connection = connections.remove(at: place)
        // What worked for a while and then broke is the network's way of life.
        guard let failure, !connection.isProven, !connection.isRefused, !isDraining else { return [] }
        // Blocked, the lane would dial no more beside a connection that works, and so never open again.
        guard !hasWorking else {
            breaker.failedBeside(now: now, entropy: entropy)
            return []
        }
        return breaker.failed(failure, now: now, entropy: entropy) ? [.block(failure)] : []
    }

    /// Told before the connections end, so that no other dial goes out in between. All of them speak with the
    /// credential: each answers what it took, and closes.
    private mutating func credentialRefused(_ now: MonotonicInstant, _ entropy: UInt64) -> [Action] {
        refusedUpTo = dials
        var actions: [Action] = []
        if breaker.failed(.credentialRefused, now: now, entropy: entropy) { actions.append(.block(.credentialRefused)) }
        for place in connections.indices {
            connections[place].isRefused = true
            if connections[place].stage == .draining { continue }
            connections[place].stage = .draining
            actions.append(.retire(connections[place].id))
        }
        return actions
    }

    /// Whether an answer that refuses the credential is news: not while the lane is blocked for that, and not on a
    /// connection that was there when it was refused the time before.
    package func isNew(refusalOn id: ConnectionID?) -> Bool {
        guard !isDraining, breaker.block != .credentialRefused else { return false }
        return id.map { $0.value > refusedUpTo } ?? true
    }

    /// One that takes requests and has answered some, or lived for a while.
    private var hasWorking: Bool { connections.contains { $0.stage == .open && $0.isProven } }

    /// A connection that has lived a while without an answer (nobody sent) works as well.
    private mutating func prove(_ now: MonotonicInstant) -> [Action] {
        var actions: [Action] = []
        for place in connections.indices where isDueForProof(connections[place], now) {
            connections[place].isProven = true
            if breaker.proved() { actions.append(.unblock) }
        }
        return actions
    }

    private func isDueForProof(_ connection: Connection, _ now: MonotonicInstant) -> Bool {
        proofAt(connection).map { $0 <= now } ?? false
    }

    /// With requests in flight only their answers prove it; and it is idle for a moment when they have all timed out. One
    /// that allows no streams may be idle for ever.
    private func proofAt(_ connection: Connection) -> MonotonicInstant? {
        guard !connection.isProven, connection.stage == .open, connection.allowsStreams else { return nil }
        return connection.idleSince.map { $0 + limits.provenAfter }
    }

    private mutating func retireIdle(_ now: MonotonicInstant) -> [Action] {
        var open = connections.reduce(0) { $0 + ($1.stage == .open ? 1 : 0) }
        var actions: [Action] = []
        for place in connections.indices where open > 1 {
            guard connections[place].stage == .open, let since = connections[place].idleSince,
                now - since >= limits.idleClose
            else { continue }
            connections[place].stage = .draining
            actions.append(.retire(connections[place].id))
            open -= 1
        }
        return actions
    }
}

// When to dial.
extension LaneMachine {
    private mutating func dialIfWanted(_ now: MonotonicInstant) -> [Action] {
        guard let at = nextDial(now), at <= now else { return [] }
        pace.dialled(now)
        dials += 1
        let id = ConnectionID(dials)
        connections.append(Connection(id: id))
        return [.dial(id)]
    }

    /// nil: no further connection is wanted, or none is allowed.
    private func nextDial(_ now: MonotonicInstant) -> MonotonicInstant? {
        guard !isDraining, var at = wantedFrom(now) else { return nil }
        let taking = connections.reduce(0) { $0 + ($1.stage == .draining ? 0 : 1) }
        guard taking < limits.connectionsMax, connections.count < 2 * limits.connectionsMax else { return nil }
        if let until = hasWorking ? breaker.spareBlockedUntil : breaker.blockedUntil { at = max(at, until) }
        if let earliest = pace.earliest(now) { at = max(at, earliest) }
        return at
    }

    /// From when on one more connection is wanted. One dial at a time: what it brings is seen before the next.
    private func wantedFrom(_ now: MonotonicInstant) -> MonotonicInstant? {
        var hasOpen = false
        var latestOpening = MonotonicInstant(nanoseconds: .min)
        for connection in connections {
            switch connection.stage {
            case .dialling: return nil
            case .draining: continue
            case .open:
                hasOpen = true
                // One that has not answered yet shows its true room (a provider token starts at one stream) when
                // it does; but not for ever.
                let opened = connection.openedAt ?? now
                let grace = connection.isProven ? limits.growAfter : limits.provenAfter
                latestOpening = max(latestOpening, opened + grace)
            }
        }
        if !hasOpen { return keepsWarm || breaker.block != nil ? now : nil }
        guard breaker.block == nil, let since = demand.waitingSince, demand.room == 0 else { return nil }
        return max(since + limits.growAfter, latestOpening)
    }

    /// When to come back with `.timer`.
    package func wakeAt(_ now: MonotonicInstant) -> MonotonicInstant? {
        var at = nextDial(now)
        func earlier(_ other: MonotonicInstant) { at = at.map { min($0, other) } ?? other }
        let open = connections.reduce(0) { $0 + ($1.stage == .open ? 1 : 0) }
        for connection in connections where connection.stage == .open {
            if let proof = proofAt(connection) { earlier(proof) }
            if open > 1, let since = connection.idleSince { earlier(since + limits.idleClose) }
        }
        return at
    }
}
