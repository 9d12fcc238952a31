import Basis
import HTTP2
import Reactor

/// How long a client may keep a connection without using it. One timer serves both deadlines, one after the other.
extension SimulatorConnection {
    /// No answer's tag: those are counted from 1.
    static var silenceTag: UInt64 { .max - 1 }

    func awaitHandshake() {
        silenceTimer = world.loop.schedule(
            at: world.loop.now + world.listenerSettings.handshakeTimeout, tag: Self.silenceTag, self)
    }

    /// What shows that the client understands us ends the handshake.
    func note(_ event: HTTP2ServerEvent) {
        lastReceived = world.loop.now
        switch event {
        case .request, .settingsAcknowledged: agree()
        case .closed, .goAway, .pingAnswered: break
        }
    }

    func agree() {
        guard !isAgreed else { return }
        isAgreed = true
        awaitSilence(until: lastReceived + world.listenerSettings.idleTimeout)
    }

    /// A request over HTTP/1.1 that has begun has so long to end; one that is whole gives the client its peace again.
    func boundRequest(_ http1: HTTP1Session) {
        guard isAgreed else { return }
        if http1.isMidway {
            guard !isMidway else { return }
            isMidway = true
            awaitSilence(until: world.loop.now + world.listenerSettings.requestTimeout)
        } else if isMidway {
            isMidway = false
            awaitSilence(until: world.loop.now + world.listenerSettings.idleTimeout)
        }
    }

    private func awaitSilence(until deadline: MonotonicInstant) {
        if let silenceTimer { world.loop.cancel(silenceTimer) }
        silenceTimer = world.loop.schedule(at: deadline, tag: Self.silenceTag, self)
    }

    func silenceFired() {
        silenceTimer = nil
        guard isAgreed || willStall else {
            world.summary.handshakesFailed += 1
            return close()
        }
        if isMidway { return close() }
        let deadline = lastReceived + world.listenerSettings.idleTimeout
        if world.loop.now < deadline { return awaitSilence(until: deadline) }
        // It is we who are late.
        if !delayed.isEmpty { return awaitSilence(until: world.loop.now + world.listenerSettings.idleTimeout) }
        if let session, !willStall {
            let goAway = ScriptedGoAway(reason: APNsRefusal.idleTimeout.reason, closing: .atOnce)
            sayGoAway(goAway, lastStreamID: session.highestStreamID)
            flush()
        }
        // One that took the goodbye is waited for; one that doesn't even read is not.
        if !isLingering { close() }
    }
}
