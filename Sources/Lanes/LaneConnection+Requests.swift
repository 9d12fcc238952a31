import HTTP2
import LaneRules
import ProviderInterface
import Reactor

extension LaneConnection {
    /// The number of requests that the connection takes now.
    var room: Int {
        guard let session, !isBackedUp, machine.mayOpen(core.loop.now) else { return 0 }
        return min(session.room, max(0, core.window.limit - streams.count))
    }

    /// Whether the connection takes requests at all, now or after others are answered.
    var isUsable: Bool {
        guard let session, machine.phase == .open else { return false }
        return session.peerStreamLimit > 0
    }

    /// Returns false if the request could not be put on a stream.
    func open(_ flight: Flight, _ headers: RequestHeaders, of batch: PushBatch, _ authorization: UInt64?) -> Bool {
        guard let session else { return false }
        var flight = flight
        flight.authorization = authorization
        let place = streams.open(flight, core.loop.now)
        let request = batch.requests[Int(flight.request)]
        do throws(HTTP2Fault) {
            streams.name(place, streamID: try submit(request, of: batch, headers, to: session, UInt64(place)))
        } catch {
            // There was room, so the session itself is broken.
            _ = streams.close(place)
            fail(.protocolViolation, "\(error)")
            return false
        }
        if firstAuthorization == nil { firstAuthorization = authorization }
        return true
    }

    private func submit(
        _ request: PushBatch.Request, of batch: PushBatch, _ headers: RequestHeaders, to session: HTTP2ClientSession,
        _ tag: UInt64
    ) throws(HTTP2Fault) -> Int32 {
        let frame = batch.frames[Int(request.frame)]
        let own = batch.bytes.span.extracting(request.body.range)
        guard let pattern = frame.pattern else {
            return try session.submitRequest(
                headers.fields, prefix: frame.prefix.span, body: own, suffix: frame.suffix.span, tag: tag)
        }
        return try core.buffers.withBody(pattern, own) { (body) throws(HTTP2Fault) in
            try session.submitRequest(
                headers.fields, prefix: frame.prefix.span, body: body, suffix: frame.suffix.span, tag: tag)
        }
    }

    /// Replaces the connection before its stream ids are used up, because none is used twice.
    func retireIfSpent() {
        guard machine.phase == .open, let session, session.streamIDsLeft < core.settings.streamIDsKept else { return }
        handle(.retire)
    }

    /// Reports the number of requests in flight to the machines, after some were opened or answered.
    func noteStreams() {
        let isBusy = streams.count > 0
        machine.streams(open: streams.count, core.loop.now)
        if isClosed { return }
        if isBusy != isMarkedBusy {
            isMarkedBusy = isBusy
            core.decide(isBusy ? .busy(id) : .idle(id))
        }
        if !isBusy { handle(.emptied) }
        adjustTimer()
    }

    func drainEvents(of session: HTTP2ClientSession) {
        var follow: [ConnectionMachine.Event] = []
        var hasEnded = false
        var isRefusedLate = false
        while let event = session.nextEvent() {
            switch event {
            case .ended(let answer):
                hasEnded = true
                note(answer, of: session)
            case .goAway(_, _, let debugBytes):
                let reason = session.withBytes(debugBytes) { GoAwayReason(debugBytes: $0) }
                // A GOAWAY in two steps may give its reason only in the second one.
                if machine.phase == .draining(.goAway), goAwayReason?.refusesCredential != true {
                    isRefusedLate = isRefusedLate || reason?.refusesCredential == true
                }
                if goAwayReason?.refusesCredential != true { goAwayReason = reason ?? goAwayReason }
                // Set before the refused requests that follow are handled: they go to another connection.
                isLeaving = true
                follow.append(.goAway)
            case .settingsChanged: follow.append(.settings)
            case .pingAnswered(let payload): follow.append(.pingAnswered(payload))
            }
        }
        if hasEnded || !follow.isEmpty { core.touch(self) }
        if isRefusedLate && core.machine.isNew(refusalOn: id) { core.drains(self, .goAway) }
        for event in follow { handle(event) }
        if follow.contains(.settings) { noteStreamLimit() }
        if hasEnded && !isClosed { noteStreams() }
    }

    private func note(_ answer: HTTP2Answer, of session: HTTP2ClientSession) {
        guard let flight = streams.close(Int(answer.tag)) else { return }
        // After the status of a plain success only the end of the stream is missing: the provider has accepted the push.
        switch core.settings.answerRules.isPlainSuccess(answer.status) ? .complete : answer.conclusion {
        case .complete: respond(answer, flight, session)
        case .refused where !isLeaving: core.queue.refuse(flight, from: id)
        case .refused, .unsent, .lost(wasSent: false): core.queue.giveBack(flight)
        case .reset(let code): core.queue.answer(flight, .unknown(.streamReset(code: code.rawValue)), from: id)
        case .cancelled: core.queue.answer(flight, .unknown(.deadlinePassed), from: id)
        case .lost(wasSent: true): core.queue.answer(flight, .unknown(.connectionLost), from: id)
        }
    }

    private func respond(_ answer: HTTP2Answer, _ flight: Flight, _ session: HTTP2ClientSession) {
        let isSuccess = answer.status == 200
        if !isSuccess, let pace = core.pace, core.settings.answerRules.uncountedStatuses.contains(answer.status) {
            pace.giveBack(Int(core.queue.request(of: flight).weight))
        }
        if isSuccess, core.settings.answerRules.successIsInBody, answer.bodyBytes > Int(answer.body.count) {
            // The part that was kept says too little.
            core.queue.answer(flight, .unknown(.protocolViolation), from: id)
        } else if answer.body.isEmpty && answer.retryAfter.isEmpty {
            core.queue.respond(flight, from: id, status: answer.status)
        } else {
            session.withBytes(answer.retryAfter) { retryAfter in
                session.withBytes(answer.body) { body in
                    core.queue.respond(flight, from: id, status: answer.status, retryAfter: retryAfter, body: body)
                }
            }
        }
        noteAnswer()
    }

    func noteAnswer() {
        machine.answered(core.loop.now)
        core.window.answered()
        // The first answer proves the connection, and so does each one while the lane is blocked as unreachable.
        if core.isUnreachable { hasAnswered = false }
        noteProof()
    }

    func noteProof() {
        guard !hasAnswered else { return }
        hasAnswered = true
        core.decide(.proved(id))
    }
}
