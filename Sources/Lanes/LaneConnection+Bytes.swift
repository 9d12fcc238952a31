import HTTP2
import LaneRules
import Reactor
import TLS

extension LaneConnection {
    /// The thread's other connections run after this many reads.
    private static let readsPerTickMax = 8

    func readArrived() {
        var buffer = core.buffers.takeCiphertext()
        defer { core.buffers.giveBack(ciphertext: buffer) }
        for _ in 0..<LaneConnection.readsPerTickMax {
            guard let socket else { return }
            do throws(ReactorError) {
                switch try socket.read(into: &buffer) {
                case .wouldBlock: return
                case .ended: return fail(.connectionLost, "closed by the peer")
                case .bytes(let count): take(buffer.span.extracting(0..<count))
                }
            } catch { return fail(.connectionLost, error.description) }
        }
    }

    private func take(_ bytes: Span<UInt8>) {
        machine.noteActivity(core.loop.now)
        core.touch(self)
        if machine.phase == .tunnelling { takeProxyAnswer(bytes) } else { takeCiphertext(bytes) }
    }

    func takeCiphertext(_ bytes: Span<UInt8>) {
        guard let tls, !bytes.isEmpty else { return }
        do throws(TLSError) {
            try tls.feed(bytes)
            if machine.phase == .securing && tls.state == .open { handle(.secured) }
            try takePlaintext(tls)
        } catch {
            sendAlert(tls)
            return fail(machine.phase.isBeforeOpen ? .tlsRefused : .connectionLost, error.description)
        }
        if tls.ciphertextCount > 0 { flush() }
        if tls.state == .ended && !isClosed { fail(.connectionLost, "closed by the peer") }
    }

    private func takePlaintext(_ tls: TLSSession) throws(TLSError) {
        guard session != nil else { return }
        var buffer = core.buffers.takePlaintext()
        defer { core.buffers.giveBack(plaintext: buffer) }
        while let session, case .bytes(let count) = try tls.read(into: &buffer) {
            receive(buffer.span.extracting(0..<count), session)
        }
    }

    private func receive(_ bytes: Span<UInt8>, _ session: HTTP2ClientSession) {
        var fault: HTTP2Fault?
        do throws(HTTP2Fault) { try session.receive(bytes) } catch { fault = error }
        drainEvents(of: session)
        if let fault { return fail(.protocolViolation, "\(fault)") }
        // The peer broke a rule, and nghttp2 has queued a GOAWAY for it, which leaves with this flush.
        if let code = session.goAwaySent, code != .noError, !isClosed {
            flush()
            fail(.protocolViolation, "\(code)")
        } else if session.isFinished, !isClosed {
            fail(.connectionLost, "finished")
        }
    }

    /// Sends OpenSSL's alert about the failure, as far as the socket takes it.
    private func sendAlert(_ tls: TLSSession) {
        tls.takeCiphertext(into: &unsent)
        writeUnsent()
    }

    /// If more bytes than this wait for the socket, none are added until it is writable.
    static let unsentBytesMax = 262_144

    var isBackedUp: Bool { unsent.count - unsentStart >= LaneConnection.unsentBytesMax }

    /// Moves frames into TLS records, and those to the socket.
    func flush() { if !isClosed { writeOut() } }

    /// Does the same for a connection that is closing.
    func writeOut() {
        guard let tls else { return }
        if let session, tls.state == .open {
            var frames = core.buffers.takeFrames()
            defer { core.buffers.giveBack(frames: frames) }
            while session.wantsWrite && !isBackedUp {
                frames.removeAll(keepingCapacity: true)
                do throws(HTTP2Fault) {
                    try session.takeOutput(into: &frames, atMost: LaneBuffers.framesBytes)
                } catch {
                    drainEvents(of: session)
                    return fail(.protocolViolation, "\(error)")
                }
                if frames.isEmpty { break }
                do throws(TLSError) { try tls.write(frames.span) } catch {
                    return fail(.connectionLost, error.description)
                }
                tls.takeCiphertext(into: &unsent)
            }
            drainEvents(of: session)
        }
        tls.takeCiphertext(into: &unsent)
        if !unsent.isEmpty { writeUnsent() }
    }
}

extension ConnectionMachine.Phase {
    var isBeforeOpen: Bool {
        switch self {
        case .resolving, .connecting, .tunnelling, .securing, .awaitingSettings: true
        case .open, .draining, .closed: false
        }
    }
}
