import Basis
import HTTP2
import LaneRules
import Model
import Reactor
import TLS

/// One connection of a lane: performs what its `ConnectionMachine` decides.
///
/// Owns its socket, its TLS and HTTP/2 sessions and the bytes that wait for the socket. Lives on the lane's thread from
/// the dial to `closed`, and keeps its lane alive until then.
final class LaneConnection: ReadinessHandler, TimerHandler {
    let id: ConnectionID
    let core: LaneCore
    var machine: ConnectionMachine
    var streams = StreamSlots()

    var addresses: [SocketAddress] = []
    var socket: StreamSocket?
    var tunnel: ProxyTunnel?
    var tls: TLSSession?
    var session: HTTP2ClientSession?

    /// Bytes for the socket, from `unsentStart` on.
    var unsent: [UInt8] = []
    var unsentStart = 0
    private var waitsForWriting = false
    /// True while the connection is in the list that is written at the tick's end.
    var isTouched = false
    var isMarkedBusy = false
    /// The time since which the peer allows no streams at all; nil: it allows some.
    private var shutSince: MonotonicInstant?
    var isLeaving = false

    private var timer: TimerID?
    private var timerAt: MonotonicInstant?

    /// The generation of the authorization that its first request carried.
    var firstAuthorization: UInt64?
    var hasAnswered = false
    /// The reason for its failure, in words that hold no secret.
    var detail = ""
    /// The reason in the peer's GOAWAY.
    var goAwayReason: GoAwayReason?

    init(_ id: ConnectionID, _ core: LaneCore, now: MonotonicInstant) {
        (self.id, self.core) = (id, core)
        machine = ConnectionMachine(times: core.settings.times, now: now)
    }

    var isClosed: Bool { machine.phase == .closed }

    var streamLimit: Int { machine.phase == .open ? min(session?.peerStreamLimit ?? 0, LaneSettings.streamsMax) : 0 }

    func handle(_ event: ConnectionMachine.Event) {
        perform(machine.handle(event, now: core.loop.now))
        adjustTimer()
    }

    func perform(_ actions: [ConnectionMachine.Action]) { for action in actions { perform(action) } }

    private func perform(_ action: ConnectionMachine.Action) {
        switch action {
        case .connect(let address): connect(to: addresses[address])
        case .tunnel: askProxy()
        case .secure: secure()
        case .sendPreface: sendPreface()
        case .reportOpen: core.opened(self)
        case .reportDraining(let reason): core.drains(self, reason)
        case .ping(let payload): ping(payload)
        case .close(let end, let politely): close(end, politely)
        }
    }

    /// Pings the connection if it was silent for too long to risk a waiting request on it.
    func wake(_ now: MonotonicInstant) {
        perform(machine.wake(now))
        adjustTimer()
    }

    private func ping(_ payload: UInt64) {
        do throws(HTTP2Fault) {
            try session?.submitPing(payload)
        } catch {
            // The session is broken, which its next `receive` or `takeOutput` reports as well.
            return
        }
        core.touch(self)
    }

    private func close(_ end: ConnectionEnd, _ politely: Bool) {
        if case .lost = end, streams.count > 0 { core.window.lost() }
        if politely { sendGoAway() }
        if let timer { core.loop.cancel(timer) }
        timer = nil
        dropSocket()
        if let session {
            // Every request that has no answer yet gets one.
            session.connectionLost()
            drainEvents(of: session)
        }
        tls = nil
        session = nil
        unsent = []
        core.closed(self, end)
    }

    private func sendGoAway() {
        do throws(HTTP2Fault) { try session?.submitGoAway(.noError) } catch { return }
        writeOut()
        tls?.close()
        tls?.takeCiphertext(into: &unsent)
        writeUnsent()
    }

    func dropSocket() {
        guard let socket else { return }
        core.loop.unwatch(socket.descriptor)
        socket.close()
        self.socket = nil
        waitsForWriting = false
    }

    func fail(_ fault: TransportFault, _ detail: String) {
        if isClosed { return }
        self.detail = detail
        handle(.failed(fault))
    }
}

extension LaneConnection {
    func timerFired(tag: UInt64) {
        timer = nil
        timerAt = nil
        if isClosed { return }
        giveUpLateRequests()
        if let shutUntil, shutUntil <= core.loop.now { return fail(.unreachable, "the peer allows no streams") }
        handle(.timer)
    }

    /// Sets the timer. One that is set may fire too early and is then set again; it is never late.
    func adjustTimer() {
        guard !isClosed, let at = wakeAt else { return }
        if let timerAt, timerAt <= at { return }
        if let timer { core.loop.cancel(timer) }
        timerAt = at
        timer = core.loop.schedule(at: at, tag: 0, self)
    }

    private var wakeAt: MonotonicInstant? {
        let deadline = streams.oldestOpening.map { $0 + core.settings.times.requestDeadline }
        return [machine.wakeAt, deadline, shutUntil].lazy.compactMap(\.self).min()
    }

    /// When a connection without streams counts as lost. A peer may allow no streams for a moment. If that lasts and
    /// none is in flight, another connection may do better; if none does, that is an outage.
    private var shutUntil: MonotonicInstant? {
        guard machine.phase == .open, streams.count == 0 else { return nil }
        return shutSince.map { $0 + core.settings.unreachableAfter }
    }

    func noteStreamLimit() {
        guard let session, !isClosed else { return }
        let isShut = session.peerStreamLimit == 0
        guard isShut != (shutSince != nil) else { return }
        shutSince = isShut ? core.loop.now : nil
        core.decide(.streams(id, allowed: !isShut))
        adjustTimer()
    }

    private func giveUpLateRequests() {
        let now = core.loop.now
        var isAnyLate = false
        while let opening = streams.oldestOpening, now >= opening + core.settings.times.requestDeadline,
            let late = streams.abandonOldest()
        {
            isAnyLate = true
            // The provider has accepted the push, and only the end of the stream is missing.
            let isAccepted = session.map { core.settings.answerRules.isPlainSuccess($0.status(of: late.streamID)) }
            let kind = giveUp(late.streamID)
            if isAccepted ?? false {
                core.queue.respond(late.flight, from: id, status: 200)
                // The status came long ago: it proves the connection, but not the peer's present health.
                noteProof()
            } else {
                core.queue.answer(late.flight, kind, from: id)
            }
        }
        guard isAnyLate else { return }
        core.touch(self)
        // Before `noteStreams`: without its late requests the connection would look idle and healthy.
        handle(.requestTimedOut)
        noteStreams()
    }
}

extension LaneConnection {
    /// Resets a late request's stream. If the socket took nothing, the request may have stayed in the session: it is
    /// then unsent, and its reset keeps it so.
    private func giveUp(_ streamID: Int32) -> Answer.Kind {
        guard let session else { return .unknown(.deadlinePassed) }
        let wasTaken = session.wasTaken(streamID)
        do throws(HTTP2Fault) { try session.reset(streamID) } catch {
            // HTTP/2 no longer knows the stream if its end is already queued for us.
            return .unknown(.deadlinePassed)
        }
        return wasTaken ? .unknown(.deadlinePassed) : .unsent(.deadlinePassed)
    }
}

extension LaneConnection {
    func descriptorIsReady(_ descriptor: Int32, _ readiness: Readiness) {
        if case .connecting = machine.phase { return finishConnecting() }
        if readiness.contains(.writable) {
            flush()
            // Room in the socket is room for requests.
            core.touch(self)
        }
        if !isClosed, !readiness.isDisjoint(with: [.readable, .hungUp, .failed]) { readArrived() }
        adjustTimer()
    }

    func watch(_ interest: Interest) {
        guard let socket else { return }
        do throws(ReactorError) {
            try core.loop.watch(socket.descriptor, interest, self)
            waitsForWriting = interest.contains(.write)
        } catch { fail(.unreachable, error.description) }
    }

    private func rewatch(waitsForWriting: Bool) {
        guard let socket, self.waitsForWriting != waitsForWriting else { return }
        self.waitsForWriting = waitsForWriting
        do throws(ReactorError) {
            try core.loop.rewatch(socket.descriptor, waitsForWriting ? [.read, .write] : .read)
        } catch { fail(.connectionLost, error.description) }
    }

    func writeUnsent() {
        guard let socket else { return }
        do throws(ReactorError) {
            while unsentStart < unsent.count {
                let count = try socket.write(unsent.span.extracting(unsentStart..<unsent.count))
                if count == 0 { break }
                unsentStart += count
            }
        } catch { return fail(.connectionLost, error.description) }
        if unsentStart == unsent.count {
            unsent.removeAll(keepingCapacity: unsent.count <= LaneConnection.unsentBytesKept)
            unsentStart = 0
        }
        rewatch(waitsForWriting: !unsent.isEmpty)
    }

    /// An idle connection frees larger buffers.
    private static let unsentBytesKept = 16_384
}
