import Basis
import Model

package struct ConnectionTimes: Equatable, Sendable {
    /// Covers resolving, TCP, proxy, TLS and the peer's SETTINGS together.
    package var dialDeadline: Duration = .seconds(10)
    /// Silence after which the peer is pinged. Apple's servers forget connections that never ping.
    package var pingAfter: Duration = .seconds(60)
    package var pingDeadline: Duration = .seconds(10)
    /// Silence after which no request is sent before the peer has answered a PING.
    package var staleAfter: Duration = .seconds(30)
    /// From a stream's opening to its answer. A peer that answers nothing for this long is abandoned.
    package var requestDeadline: Duration

    package init(requestDeadline: Duration) { self.requestDeadline = requestDeadline }
}

/// Why a live connection takes no more requests.
package enum DrainReason: Equatable, Sendable {
    case goAway
    /// We retired it: idle, replaced, or at shutdown.
    case retired
    case unresponsive
}

package enum ConnectionEnd: Equatable, Sendable {
    /// Resolving, TCP, proxy or SETTINGS failed: no request left on it.
    case dialFailed(TransportFault)
    /// The connection broke. Requests in flight are lost.
    case lost(TransportFault)
    /// The connection answered all its requests, and we closed it.
    case drained(DrainReason)
}

/// Decides for one connection, from its first dial to its end. The shell acts.
package struct ConnectionMachine: Equatable, Sendable {
    package enum Phase: Equatable, Sendable {
        /// The name is being resolved. → connecting, closed
        case resolving
        /// TCP to the address at `index` of `count`. → connecting (the next address), securing, tunnelling, closed
        case connecting(index: Int, count: Int, until: MonotonicInstant)
        /// CONNECT was sent to the proxy. → securing, closed
        case tunnelling
        /// TLS handshake. → awaitingSettings, closed
        case securing
        /// Waiting for the peer's SETTINGS. → open, closed
        case awaitingSettings
        /// Streams may be opened. → draining, closed
        case open
        /// No stream is opened. → closed
        case draining(DrainReason)
        case closed
    }

    package enum Event: Equatable, Sendable {
        case resolved(addresses: Int)
        case connected(throughProxy: Bool)
        /// This address did not accept the connection; there may be others.
        case connectFailed
        case tunnelled
        case secured
        case settings
        case pingAnswered(UInt64)
        /// A request got no answer within its deadline.
        case requestTimedOut
        case goAway
        case retire
        /// The number of open streams fell to zero.
        case emptied
        /// Socket, TLS or HTTP/2 failed: the connection is unusable.
        case failed(TransportFault)
        case timer
    }

    package enum Action: Equatable, Sendable {
        case connect(address: Int)
        case tunnel
        case secure
        case sendPreface
        case reportOpen
        case reportDraining(DrainReason)
        case ping(UInt64)
        /// `politely`: GOAWAY and close_notify go first.
        case close(ConnectionEnd, politely: Bool)
    }

    package let times: ConnectionTimes
    package private(set) var phase = Phase.resolving
    private let dialUntil: MonotonicInstant
    private var receivedAt: MonotonicInstant
    private var answeredAt: MonotonicInstant
    private var pingSentAt: MonotonicInstant?
    private var pings: UInt64 = 0
    private var openStreams = 0

    package init(times: ConnectionTimes, now: MonotonicInstant) {
        precondition(times.dialDeadline > .zero && times.pingAfter > .zero && times.pingDeadline > .zero)
        precondition(times.staleAfter > .zero && times.requestDeadline > .zero)
        self.times = times
        dialUntil = now + times.dialDeadline
        receivedAt = now
        answeredAt = now
    }

    /// Whether a request may be sent on it. After long silence a PING must be answered first: `wake` sends it.
    package func mayOpen(_ now: MonotonicInstant) -> Bool { phase == .open && !isStale(now) }

    private func isStale(_ now: MonotonicInstant) -> Bool { openStreams == 0 && now - receivedAt >= times.staleAfter }

    // The fast path only notes: no decision follows at once.

    package mutating func noteActivity(_ now: MonotonicInstant) { receivedAt = now }
    package mutating func answered(_ now: MonotonicInstant) { answeredAt = now }
    package mutating func streams(open count: Int, _ now: MonotonicInstant) {
        // The first request after a quiet time starts the peer's time to answer.
        if openStreams == 0 && count > 0 { answeredAt = now }
        openStreams = count
    }

    /// Pings the peer of a stale connection, because a request is waiting for it.
    package mutating func wake(_ now: MonotonicInstant) -> [Action] {
        phase == .open && isStale(now) && pingSentAt == nil ? [ping(now)] : []
    }

    package var wakeAt: MonotonicInstant? {
        switch phase {
        case .closed: nil
        case .connecting(_, _, let until): min(until, dialUntil)
        case .resolving, .tunnelling, .securing, .awaitingSettings: dialUntil
        case .open, .draining: pingSentAt.map { $0 + times.pingDeadline } ?? receivedAt + times.pingAfter
        }
    }
}

extension ConnectionMachine {
    package mutating func handle(_ event: Event, now: MonotonicInstant) -> [Action] {
        switch event {
        case .resolved(let addresses): resolved(addresses, now)
        case .connected(let throughProxy): connected(throughProxy)
        case .connectFailed: connectFailed(now)
        case .tunnelled: advance(from: .tunnelling, to: .securing, .secure)
        case .secured: advance(from: .securing, to: .awaitingSettings, .sendPreface)
        case .settings: advance(from: .awaitingSettings, to: .open, .reportOpen)
        case .pingAnswered(let payload): pingAnswered(payload)
        case .requestTimedOut: requestTimedOut(now)
        case .goAway: drain(.goAway)
        case .retire: drain(.retired)
        case .emptied: emptied()
        case .failed(let fault): end(fault)
        case .timer: timer(now)
        }
    }

    private mutating func resolved(_ addresses: Int, _ now: MonotonicInstant) -> [Action] {
        guard phase == .resolving else { return [] }
        guard addresses > 0 else { return end(.unreachable) }
        return connect(0, of: addresses, now)
    }

    private mutating func connect(_ index: Int, of count: Int, _ now: MonotonicInstant) -> [Action] {
        // Each address gets an equal part of the time left, so that a dead address doesn't use up the others' time.
        let share = (dialUntil - now) / (count - index)
        phase = .connecting(index: index, count: count, until: now + share)
        return [.connect(address: index)]
    }

    private mutating func connectFailed(_ now: MonotonicInstant) -> [Action] {
        guard case .connecting(let index, let count, _) = phase else { return [] }
        guard index + 1 < count, now < dialUntil else { return end(.unreachable) }
        return connect(index + 1, of: count, now)
    }

    private mutating func connected(_ throughProxy: Bool) -> [Action] {
        guard case .connecting = phase else { return [] }
        phase = throughProxy ? .tunnelling : .securing
        return [throughProxy ? .tunnel : .secure]
    }

    private mutating func advance(from: Phase, to: Phase, _ action: Action) -> [Action] {
        guard phase == from else { return [] }
        phase = to
        return [action]
    }

    private mutating func ping(_ now: MonotonicInstant) -> Action {
        precondition(pingSentAt == nil, "a connection has one PING in flight at a time")
        pings += 1
        pingSentAt = now
        return .ping(pings)
    }

    private mutating func pingAnswered(_ payload: UInt64) -> [Action] {
        if payload == pings { pingSentAt = nil }
        return []
    }

    private mutating func requestTimedOut(_ now: MonotonicInstant) -> [Action] {
        guard phase == .open || isDraining else { return [] }
        var actions = pingSentAt == nil ? [ping(now)] : []
        // The peer may answer PINGs and nothing else: a new connection is more likely to work.
        if phase == .open && now - answeredAt >= times.requestDeadline { actions += drain(.unresponsive) }
        return actions
    }

    private var isDraining: Bool {
        if case .draining = phase { return true }
        return false
    }

    private mutating func drain(_ reason: DrainReason) -> [Action] {
        switch phase {
        case .open:
            phase = .draining(reason)
            guard openStreams == 0 else { return [.reportDraining(reason)] }
            return [.reportDraining(reason)] + emptied()
        case .resolving, .connecting, .tunnelling, .securing, .awaitingSettings:
            phase = .closed
            let end = reason == .retired ? ConnectionEnd.drained(.retired) : .dialFailed(.goAway)
            return [.close(end, politely: false)]
        // A second GOAWAY changes nothing.
        case .draining, .closed: return []
        }
    }

    private mutating func emptied() -> [Action] {
        guard case .draining(let reason) = phase else { return [] }
        phase = .closed
        return [.close(.drained(reason), politely: true)]
    }

    private mutating func end(_ fault: TransportFault) -> [Action] {
        defer { phase = .closed }
        switch phase {
        case .closed: return []
        case .resolving, .connecting, .tunnelling, .securing, .awaitingSettings:
            return [.close(.dialFailed(fault), politely: false)]
        case .open: return [.close(.lost(fault), politely: false)]
        // The peer may close first after its GOAWAY. With no request in flight that is the expected end.
        case .draining(let reason): return [.close(openStreams == 0 ? .drained(reason) : .lost(fault), politely: false)]
        }
    }

    private mutating func timer(_ now: MonotonicInstant) -> [Action] {
        switch phase {
        case .closed: return []
        case .connecting(_, _, let until) where now < dialUntil: return now >= until ? connectFailed(now) : []
        case .resolving, .connecting, .tunnelling, .securing, .awaitingSettings:
            return now >= dialUntil ? end(.unreachable) : []
        case .open, .draining:
            if let pingSentAt { return now - pingSentAt >= times.pingDeadline ? end(.connectionLost) : [] }
            return now - receivedAt >= times.pingAfter ? [ping(now)] : []
        }
    }
}
