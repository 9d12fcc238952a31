import HTTP2
import Reactor

// Passing each request to the stand-in's own endpoints or to the provider's session.
extension SimulatorConnection {
    /// Also called while output is taken, which may close streams.
    func drainEvents() {
        while let event = session?.nextEvent() {
            note(event)
            switch event {
            case .settingsAcknowledged: if !hasAsked.ownEndpoint { meetOpening() }
            case .request(let request): take(request)
            case .closed, .goAway, .pingAnswered: break
            }
        }
        while isOpen, !willStall, closing == .never, let http1, let request = http1.nextRequest() {
            lastReceived = world.loop.now
            agree()
            meetOpening(before: request.path)
            if closing == .never, mayServe(http1.streamID) { take(request, streamID: http1.streamID) }
            boundRequest(http1)
        }
    }

    private func take(_ request: HTTP2Request) {
        guard mayServe(request.streamID), let session, let providerSession else { return }
        if !hasAsked.provider {
            // A sink keeps no path of a push.
            let path = session.value(of: ":path", in: request).map { session.bytes($0) } ?? []
            meetOpening(before: String(decoding: path, as: UTF8.self))
            guard mayServe(request.streamID) else { return }
        }
        guard !providerSession.answerAtOnce(request, of: session) else { return }
        // A session that keeps no methods keeps those that are not POST.
        take(PushRequest(request, of: session, unkeptMethod: "POST"), streamID: request.streamID)
    }

    private func mayServe(_ streamID: Int32) -> Bool { isOpen && !willStall && streamID <= lastStreamID }

    private func take(_ request: PushRequest, streamID: Int32) {
        guard request.path.hasPrefix(Inspection.path) else {
            providerSession?.take(request, streamID: streamID)
            return
        }
        let reply = Inspection.answer(request, from: self)
        answer(AnswerHeaders.odd(reply.status, []), body: reply.body, streamID: streamID)
    }
}

// No script touches a client that asks the stand-in's own endpoints only: it is the client that ends the script.
extension SimulatorConnection {
    var isSpared: Bool { hasAsked.ownEndpoint && !hasAsked.provider }

    /// Notes what the client asks. The opening's fault comes at the first request to the provider, if the client sends
    /// one before it acknowledges our SETTINGS.
    private func meetOpening(before path: String) {
        guard !path.hasPrefix(Inspection.path) else { return hasAsked.ownEndpoint = true }
        hasAsked.provider = true
        meetOpening()
    }

    /// Does what the script asks at a connection's opening, once.
    ///
    /// It waits for the client's first sign, because until then it may be a client of the stand-in's own endpoints.
    private func meetOpening() {
        guard !isOpened else { return }
        isOpened = true
        if let fault = world.fault(at: .push, request: 0) { misbehave(fault, streamID: 0) }
    }
}
