import Basis
import LaneRules
import ProviderInterface
import Reactor

/// A lane's state on its thread: the queue, the connections, and the machine that decides about them.
///
/// Events are gathered during a tick. At its end requests leave, frames are written, and answers are delivered.
final class LaneCore: TickHandler, TimerHandler {
    let settings: LaneSettings
    let loop: ReactorLoop
    let observer: any LaneObserver
    private let resolve: @Sendable (ConnectionID) -> Void

    var queue = LaneQueue()
    var buffers = LaneBuffers()
    var window = StreamWindow(ceiling: LaneSettings.streamsMax)
    /// nil: the provider does not count requests.
    let pace: ProviderPace.LanePace?
    var connections: [LaneConnection] = []
    private(set) var machine: LaneMachine
    private var headers: RequestHeaders

    /// The time since which no connection takes requests, or no provider token exists; nil: requests can leave.
    private var unusableSince: MonotonicInstant?
    private var touched: [LaneConnection] = []
    private var isHooked = false
    private var timer: TimerID?
    private var timerAt: MonotonicInstant?
    private var lastEvent = LaneEvent.connected
    private var drained: [CheckedContinuation<Void, Never>] = []
    private(set) var census = LaneSnapshot()
    let publish: @Sendable (LaneSnapshot) -> Void

    init(
        _ settings: LaneSettings, on loop: ReactorLoop, observer: any LaneObserver,
        resolve: @escaping @Sendable (ConnectionID) -> Void, publish: @escaping @Sendable (LaneSnapshot) -> Void
    ) {
        (self.settings, self.loop, self.observer, self.resolve) = (settings, loop, observer, resolve)
        self.publish = publish
        machine = LaneMachine(limits: settings.limits)
        headers = RequestHeaders(host: settings.host, port: settings.port)
        pace = settings.pace?.join()
    }

    /// True if the lane is blocked because no connection could be made.
    var isUnreachable: Bool { machine.breaker.block == .unreachable }

    func hook() {
        if isHooked { return }
        isHooked = true
        loop.atEndOfTick(self)
    }

    /// Marks a connection that has frames to write, or room for requests, at the tick's end.
    func touch(_ connection: LaneConnection) {
        if !connection.isTouched {
            connection.isTouched = true
            touched.append(connection)
        }
        hook()
    }

    func decide(_ event: LaneMachine.Event) {
        let actions = machine.handle(event, now: loop.now, entropy: Entropy.uint64())
        for action in actions { perform(action) }
        if !actions.isEmpty { hook() }
    }
}

extension LaneCore {
    func submit(_ batch: PushBatch, _ ticket: BatchTicket, _ sink: any AnswerSink) {
        queue.submit(batch, ticket, sink, loop.now)
        hook()
    }

    func withdraw(_ ticket: BatchTicket) {
        queue.withdraw(ticket)
        hook()
    }

    func drain(_ continuation: CheckedContinuation<Void, Never>) {
        drained.append(continuation)
        decide(.drain)
        hook()
    }
}

extension LaneCore {
    func opened(_ connection: LaneConnection) {
        note(.connected)
        decide(.opened(connection.id))
        touch(connection)
    }

    func drains(_ connection: LaneConnection, _ reason: DrainReason) {
        if reason == .unresponsive { window.lost() }
        var isRefused = false
        if reason == .goAway {
            isRefused = connection.goAwayReason?.refusesCredential == true
            let reason = connection.goAwayReason?.reason
            note(isRefused ? .credentialRefused(reason: reason ?? "") : .goAway(reason: reason))
        }
        decide(.draining(connection.id, refused: isRefused))
        hook()
    }

    func closed(_ connection: LaneConnection, _ end: ConnectionEnd) {
        connections.removeAll { $0 === connection }
        decide(.closed(connection.id, failure: failure(of: connection, end)))
        hook()
    }

    private func failure(of connection: LaneConnection, _ end: ConnectionEnd) -> LaneCause? {
        switch end {
        case .dialFailed(.tlsRefused):
            note(.tlsRefused(detail: connection.detail))
            return .tlsRefused
        case .dialFailed(let fault):
            note(.dialFailed(fault, detail: connection.detail))
            return .unreachable
        case .lost(let fault):
            note(.connectionLost(fault, detail: connection.detail))
            return connection.goAwayReason?.refusesCredential == true ? nil : .unreachable
        case .drained(.retired): return nil
        case .drained(.unresponsive): return .unreachable
        // A refused credential was counted when the GOAWAY came.
        case .drained(.goAway): return connection.goAwayReason?.refusesCredential == true ? nil : .unreachable
        }
    }

    func note(_ event: LaneEvent) {
        lastEvent = event
        observer.laneNoted(event)
    }
}

extension LaneCore {
    private func perform(_ action: LaneMachine.Action) {
        switch action {
        case .dial(let id):
            connections.append(LaneConnection(id, self, now: loop.now))
            resolve(id)
            connections.last?.adjustTimer()
        case .retire(let id): connections.first { $0.id == id }?.handle(.retire)
        case .block: observer.laneChanged(canSend: false, because: lastEvent)
        case .unblock:
            lastEvent = .recovered
            observer.laneChanged(canSend: true, because: .recovered)
        }
    }

    func resolved(_ id: ConnectionID, _ result: Result<[SocketAddress], ReactorError>) {
        connections.first { $0.id == id }?.resolved(result)
    }
}

extension LaneCore {
    /// The requests that one tick puts on streams; after that the thread's other lanes run.
    private static let requestsPerTickMax = 512

    func tickEnds() {
        isHooked = false
        let now = loop.now
        handBack(now)
        sendWaiting(now)
        flushTouched()
        let room = connections.reduce(0) { $0 + $1.room }
        decide(.demand(.init(waitingSince: queue.waitingSince, room: room)))
        let nextRound = nextRound(now, room: room)
        if let nextRound, nextRound <= now { hook() }
        for (sink, answers) in queue.takeChanges() { sink.deliver(answers) }
        setTimer(now, nextRound: nextRound)
        finishTick()
    }

    /// When requests may leave that wait only for the pace or for this thread's other lanes; nil: there are none.
    private func nextRound(_ now: MonotonicInstant, room: Int) -> MonotonicInstant? {
        guard room > 0, queue.waiting > 0, unusableSince == nil else {
            // The lane's part goes to the project's other lanes meanwhile.
            pace?.idle()
            return nil
        }
        return pace?.nextAt(now) ?? now
    }

    private func handBack(_ now: MonotonicInstant) {
        let isUsable =
            connections.contains(where: \.isUsable)
            && (settings.authorization == nil || settings.authorization?.current != nil)
        unusableSince = isUsable ? nil : unusableSince ?? now
        if machine.isDraining { return queue.handBackAll(.withdrawn) }
        if let block = machine.breaker.block { queue.handBackAll(block == .unreachable ? .unreachable : .tlsRefused) }
        queue.expire(now, unusableSince: unusableSince, unreachableAfter: settings.unreachableAfter)
    }

    private func sendWaiting(_ now: MonotonicInstant) {
        guard queue.waiting > 0 else { return }
        let authorization = settings.authorization?.current
        if settings.authorization != nil && authorization == nil { return }
        var budget = LaneCore.requestsPerTickMax
        // The pace counts members. The last request may exceed it, and the next one waits for that much longer.
        var allowance = pace?.allowance(now) ?? .max
        while budget > 0, allowance > 0, let run = queue.front, let connection = roomiest() {
            let sent = send(
                run, on: connection, atMost: min(budget, LaneQueue.quantum), weighing: allowance, authorization)
            budget -= sent.requests
            allowance -= sent.weight
            pace?.took(sent.weight)
            if sent.requests > 0 {
                queue.rotate(after: run, sent: sent.requests)
                touch(connection)
            }
        }
        // Connections that were silent for long are pinged, before a request is risked on them.
        if roomiest() == nil { for connection in connections { connection.wake(now) } }
    }

    private func roomiest() -> LaneConnection? {
        var best: LaneConnection?
        var bestRoom = 0
        for connection in connections {
            let room = connection.room
            if room > bestRoom {
                best = connection
                bestRoom = room
            }
        }
        return best
    }

    /// Sends one batch's quantum. Work that can be done once per quantum is not done per request.
    /// - Parameter allowance: no request leaves after those that weigh this much together.
    private func send(
        _ run: Int32, on connection: LaneConnection, atMost count: Int, weighing allowance: Int,
        _ authorization: Authorization?
    ) -> (requests: Int, weight: Int) {
        let (batch, serial) = queue.batch(run)
        // A local variable of its own, so that writing a request's fields copies nothing.
        var headers = RequestHeaders()
        swap(&headers, &self.headers)
        defer { swap(&headers, &self.headers) }
        headers.prepare(batch, serial: serial, authorization: authorization)
        let room = min(count, connection.room)
        var (sent, weight) = (0, 0)
        while sent < room, weight < allowance, let flight = queue.take(run) {
            headers.write(batch.requests[Int(flight.request)], of: batch)
            guard connection.open(flight, headers, of: batch, authorization?.generation) else {
                queue.giveBack(flight)
                break
            }
            sent += 1
            weight += Int(batch.requests[Int(flight.request)].weight)
        }
        queue.noteSent(run)
        connection.noteStreams()
        connection.retireIfSpent()
        return (sent, weight)
    }

    private func flushTouched() {
        // Flushing may touch other connections, as when a close lets another one dial; these wait for the next tick.
        let flushed = touched
        touched.removeAll(keepingCapacity: true)
        for connection in flushed {
            connection.isTouched = false
            connection.flush()
        }
    }
}

extension LaneCore {
    func timerFired(tag: UInt64) {
        timer = nil
        timerAt = nil
        decide(.timer)
        hook()
    }

    private func setTimer(_ now: MonotonicInstant, nextRound: MonotonicInstant?) {
        var at = machine.wakeAt(now)
        if let expiry = queue.expiry(unusableSince: unusableSince, unreachableAfter: settings.unreachableAfter) {
            at = at.map { min($0, expiry) } ?? expiry
        }
        if queue.waiting > 0 && settings.authorization != nil && settings.authorization?.current == nil {
            // No event announces a new authorization, so the lane polls.
            let next = now + LaneCore.authorizationPoll
            at = at.map { min($0, next) } ?? next
        }
        if let nextRound, nextRound > now { at = at.map { min($0, nextRound) } ?? nextRound }
        guard let at else { return }
        if let timerAt, timerAt <= at { return }
        if let timer { loop.cancel(timer) }
        timerAt = at
        timer = loop.schedule(at: at, tag: 0, self)
    }

    private static let authorizationPoll: Duration = .milliseconds(100)

    private func finishTick() {
        if queue.unanswered == 0 { buffers.release() }
        publishCensus()
        if machine.isDraining && connections.isEmpty && queue.unanswered == 0 {
            let waiters = drained
            drained = []
            for waiter in waiters { waiter.resume() }
        }
    }

    private func publishCensus() {
        let news = LaneSnapshot(
            connections: connections.count, streamsOpen: connections.reduce(0) { $0 + $1.streams.count },
            streamsMax: connections.reduce(0) { $0 + $1.streamLimit }, waiting: queue.waiting,
            unanswered: queue.unanswered, canSend: machine.canSend)
        if news == census { return }
        census = news
        publish(news)
    }
}

// Consequences of answers for the credential and the connections, reported by their reader.
extension LaneCore {
    func retire(_ id: ConnectionID) {
        connections.first { $0.id == id }?.handle(.retire)
        hook()
    }

    func replaceConnections() {
        let current = settings.authorization?.current?.generation
        for connection in connections
        where connection.firstAuthorization != nil && connection.firstAuthorization != current {
            connection.handle(.retire)
        }
        hook()
    }

    func suspectCredential(_ reason: String, _ id: ConnectionID) {
        guard machine.isNew(refusalOn: id) else { return }
        note(.credentialSuspected(reason: reason))
        decide(.credentialSuspected)
        hook()
    }

    func refuseCredential(_ reason: String, _ id: ConnectionID?) {
        guard machine.isNew(refusalOn: id) else { return }
        note(.credentialRefused(reason: reason))
        decide(.credentialRefused)
        hook()
    }
}
