import Reactor

/// Passing each request to the stand-in's own endpoints or to the provider's session.
extension SimulatorConnection {
    func answerRequests() {
        drainEvents()
        if world.settings.record != nil { world.flushRecord() }
    }

    /// Also called while output is taken, which may close streams.
    func drainEvents() {
        while let event = session?.nextEvent() {
            note(event)
            guard case .request(let request) = event, request.streamID <= lastStreamID, !willStall, isOpen,
                let session, let providerSession, !providerSession.answerAtOnce(request, of: session)
            else { continue }
            // A session that keeps no methods keeps those that are not POST.
            take(PushRequest(request, of: session, unkeptMethod: "POST"), streamID: request.streamID)
        }
        while isOpen, !willStall, closing == .never, let http1, let request = http1.nextRequest() {
            lastReceived = world.loop.now
            agree()
            take(request, streamID: http1.streamID)
            boundRequest(http1)
        }
    }

    private func take(_ request: PushRequest, streamID: Int32) {
        guard request.path.hasPrefix(Inspection.path) else {
            providerSession?.take(request, streamID: streamID)
            return
        }
        let reply = Inspection.answer(request, from: self)
        answer(AnswerHeaders.odd(reply.status, []), body: reply.body, streamID: streamID)
    }
}
