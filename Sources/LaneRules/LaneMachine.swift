import Basis

/// Names one connection of a lane; never reused.
package struct ConnectionID: Hashable, Comparable, Sendable {
    package let value: UInt64
    package init(_ value: UInt64) { self.value = value }
    package static func < (left: ConnectionID, right: ConnectionID) -> Bool { left.value < right.value }
}

package struct LaneLimits: Equatable, Sendable {
    /// Connections that take requests or are being dialled. Draining connections come on top, at most as many again.
    package var connectionsMax: Int
    package var backoff = Backoff(floor: .seconds(1), ceiling: .seconds(60))
    /// An idle connection closes after this time, unless it is the last open one.
    package var idleClose: Duration = .seconds(300)
    /// A request that waits longer than this for a stream justifies another connection.
    package var growAfter: Duration = .milliseconds(50)
    /// A connection that was open and idle for this long, or answered a request, is proven. One that ends before is a
    /// failed dial.
    package var provenAfter: Duration = .seconds(2)
    package var failuresMax = 2
    package var credentialBackoff: Duration = .seconds(300)
    /// After a burst of `connectionsMax` dials, one dial per interval.
    package var dialInterval: Duration = .milliseconds(250)

    package init(connectionsMax: Int) { self.connectionsMax = connectionsMax }
}

/// Decides how many connections a lane has, when it dials, and whether it can send. The shell acts.
package struct LaneMachine: Sendable {
    /// The waiting requests, reported at the end of each tick in which anything changed.
    package struct Demand: Equatable, Sendable {
        /// When the oldest waiting request began to wait; nil: none waits.
        package var waitingSince: MonotonicInstant?
        /// The number of requests that the open connections could take now.
        package var room: Int
        package init(waitingSince: MonotonicInstant?, room: Int) {
            (self.waitingSince, self.room) = (waitingSince, room)
        }
    }

    package enum Event: Equatable, Sendable {
        case demand(Demand)
        case opened(ConnectionID)
        case proved(ConnectionID)
        case busy(ConnectionID)
        case idle(ConnectionID)
        /// The peer allows the connection some streams, or none. At first some are assumed.
        case streams(ConnectionID, allowed: Bool)
        /// The connection takes no more requests. `refused`: the peer's GOAWAY named our credential as the reason.
        case draining(ConnectionID, refused: Bool)
        case closed(ConnectionID, failure: LaneCause?)
        case credentialRefused
        /// An answer refused a credential that may be good: other connections try it.
        case credentialSuspected
        case warmUp
        /// The cause of a failure was mended: dial at once.
        case retry
        /// Finish and close everything; no more dials.
        case drain
        case timer
    }

    package enum Action: Equatable, Sendable {
        case dial(ConnectionID)
        /// Send no more requests on it; it closes when it has answered its open requests.
        case retire(ConnectionID)
        /// The lane can't send: waiting and new requests are handed back.
        case block(LaneCause)
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
        /// Its credential was refused, so its end is not counted as a failure.
        var isRefused = false
    }

    package let limits: LaneLimits
    package private(set) var breaker: Breaker
    private var pace: DialPace
    private var connections: [Connection] = []
    private var dials: UInt64 = 0
    /// The highest id of the connections that used a refused credential.
    private var refusedUpTo: UInt64 = 0
    private var demand = Demand(waitingSince: nil, room: 0)
    private var keepsWarm = false
    package private(set) var isDraining = false

    package init(limits: LaneLimits) {
        precondition(limits.connectionsMax >= 1 && limits.idleClose > .zero)
        self.limits = limits
        breaker = Breaker(
            backoff: limits.backoff, failuresMax: limits.failuresMax, credentialBackoff: limits.credentialBackoff)
        pace = DialPace(burst: limits.connectionsMax, interval: limits.dialInterval)
    }

    package var canSend: Bool { breaker.block == nil && !isDraining }

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
        case .credentialSuspected: return retireRefused()
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

    /// A connection that takes no more requests is proven by answers, but doesn't close the breaker.
    private mutating func proved(_ id: ConnectionID) -> [Action] {
        change(id) { $0.isProven = true }
        guard connections.contains(where: { $0.id == id && $0.stage == .open }) else { return [] }
        return breaker.proved() ? [.unblock] : []
    }

    private mutating func closed(
        _ id: ConnectionID, _ failure: LaneCause?, _ now: MonotonicInstant, _ entropy: UInt64
    ) -> [Action] {
        guard let place = connections.firstIndex(where: { $0.id == id }) else { return [] }
        let connection = connections.remove(at: place)
        // A connection that worked for a while and then broke is normal in a network.
        guard let failure, !connection.isProven, !connection.isRefused, !isDraining else { return [] }
        // A blocked lane dials no more beside a working connection, and so would stay blocked.
        guard !hasWorking else {
            breaker.failedBeside(now: now, entropy: entropy)
            return []
        }
        return breaker.failed(failure, now: now, entropy: entropy) ? [.block(failure)] : []
    }

    /// Blocks the lane and retires all its connections, because they use the same credential. Blocking first prevents a
    /// dial in between.
    private mutating func credentialRefused(_ now: MonotonicInstant, _ entropy: UInt64) -> [Action] {
        let isNewBlock = breaker.failed(.credentialRefused, now: now, entropy: entropy)
        return (isNewBlock ? [.block(.credentialRefused)] : []) + retireRefused()
    }

    private mutating func retireRefused() -> [Action] {
        refusedUpTo = dials
        var actions: [Action] = []
        for place in connections.indices {
            connections[place].isRefused = true
            if connections[place].stage == .draining { continue }
            connections[place].stage = .draining
            actions.append(.retire(connections[place].id))
        }
        return actions
    }

    /// Whether an answer that refuses the credential is new. It is not while the lane is blocked for that reason, nor
    /// on a connection that existed at the refusal before.
    package func isNew(refusalOn id: ConnectionID?) -> Bool {
        guard !isDraining, breaker.block != .credentialRefused else { return false }
        return id.map { $0.value > refusedUpTo } ?? true
    }

    private var hasWorking: Bool { connections.contains { $0.stage == .open && $0.isProven } }

    /// Proves connections that stayed open long enough without an answer, because no request was sent.
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

    /// When age proves the connection. With requests in flight only answers prove it, and after their timeouts it is
    /// idle only for a moment. A connection without streams may be idle forever.
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

    /// From when one more connection is wanted. One dial at a time: its result is known before the next.
    private func wantedFrom(_ now: MonotonicInstant) -> MonotonicInstant? {
        var hasOpen = false
        var latestOpening = MonotonicInstant(nanoseconds: .min)
        for connection in connections {
            switch connection.stage {
            case .dialling: return nil
            case .draining: continue
            case .open:
                hasOpen = true
                // A new connection shows its true room with its first answer (a provider token starts at one stream).
                // That wait is bounded.
                let opened = connection.openedAt ?? now
                let grace = connection.isProven ? limits.growAfter : limits.provenAfter
                latestOpening = max(latestOpening, opened + grace)
            }
        }
        if !hasOpen { return keepsWarm || breaker.block != nil ? now : nil }
        guard breaker.block == nil, let since = demand.waitingSince, demand.room == 0 else { return nil }
        return max(since + limits.growAfter, latestOpening)
    }

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
