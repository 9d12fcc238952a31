import Basis
import HTTP2
import Reactor

/// Deadlines for the handshake and for idle clients. One timer serves both, one after the other.
extension SimulatorConnection {
    static var silenceTag: UInt64 { .max - 1 }

    func awaitHandshake() {
        silenceTimer = world.loop.schedule(
            at: world.loop.now + world.settings.handshakeTimeout, tag: Self.silenceTag, self)
    }

    /// Events that show that the client speaks HTTP/2 end the handshake.
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
        awaitSilence(until: lastReceived + world.settings.idleTimeout)
    }

    /// Starts the request deadline when a request over HTTP/1.1 has begun, and the idle deadline when it is complete.
    func boundRequest(_ http1: HTTP1Session) {
        guard isAgreed else { return }
        if http1.isMidway {
            guard !isMidway else { return }
            isMidway = true
            awaitSilence(until: world.loop.now + world.settings.requestTimeout)
        } else if isMidway {
            isMidway = false
            awaitSilence(until: world.loop.now + world.settings.idleTimeout)
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
        let deadline = lastReceived + world.settings.idleTimeout
        if world.loop.now < deadline { return awaitSilence(until: deadline) }
        // The client waits for our answer.
        if !delayed.isEmpty { return awaitSilence(until: world.loop.now + world.settings.idleTimeout) }
        if let session, !willStall {
            let goAway = ScriptedGoAway(reason: APNsRefusal.idleTimeout.reason, closing: .atOnce)
            sayGoAway(goAway, lastStreamID: session.highestStreamID)
            flush()
        }
        // A client that took the GOAWAY has time to close; one that doesn't read is closed.
        if !isLingering { close() }
    }
}
