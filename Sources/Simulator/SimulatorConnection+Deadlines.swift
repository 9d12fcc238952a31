import HTTP2
import PushModel
import Reactor

/// How long a client may keep a connection without using it. One timer serves both deadlines, one after the other.
extension SimulatorConnection {
    /// No answer's tag: those are counted from 1.
    static var silenceTag: UInt64 { .max - 1 }

    func awaitHandshake() {
        silenceTimer = world.loop.schedule(
            at: world.loop.now + world.settings.handshakeTimeout, tag: Self.silenceTag, self)
    }

    /// What shows that the client understands us ends the handshake.
    func note(_ event: HTTP2ServerEvent) {
        lastHeard = world.loop.now
        switch event {
        case .request, .settingsAcknowledged:
            guard !isAgreed else { return }
            isAgreed = true
            awaitSilence(until: lastHeard + world.settings.idleTimeout)
        case .closed, .goAway, .pingAnswered: break
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
        let deadline = lastHeard + world.settings.idleTimeout
        if world.loop.now < deadline { return awaitSilence(until: deadline) }
        // It is we who are late.
        if !delayed.isEmpty { return awaitSilence(until: world.loop.now + world.settings.idleTimeout) }
        if let session, !willStall {
            let goodbye = ScriptedGoAway(reason: APNsRefusal.idleTimeout.reason, closing: .atOnce)
            sayGoAway(goodbye, lastStreamID: session.highestStreamID)
            flush()
        }
        // One that took the goodbye is waited for; one that doesn't even read is not.
        if !isLingering { close() }
    }
}
