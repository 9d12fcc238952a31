import Encodings
import HTTP2
import PushModel
import Reactor

/// What becomes of each request: the script first, then the judge, then the token's own fate.
extension SimulatorConnection {
    func answerRequests() {
        drainEvents()
        if world.settings.record != nil { world.flushRecord() }
    }

    /// Also called while output is taken, which may close streams.
    func drainEvents() {
        while let event = session?.nextEvent() {
            note(event)
            guard case .request(let request) = event, request.streamID <= lastStreamID, !willStall, isOpen else {
                continue
            }
            if world.settings.mode == .sink { sink(request) } else { process(request) }
        }
    }

    /// 200, and nothing else, as fast as possible.
    private func sink(_ request: HTTP2Request) {
        guard let session else { return }
        // Kept only where it is no push's.
        if session.value(of: ":path", in: request) != nil {
            return inspect(PushRequest(request, of: session, unkeptMethod: "POST"), streamID: request.streamID)
        }
        world.summary.requests += 1
        world.summary.accepted += 1
        let apnsID = session.value(of: "apns-id", in: request)
        if world.script.answerDelay > .zero {
            let id = apnsID.map { session.bytes($0) } ?? []
            return answer(.accepted(apnsID: id), streamID: request.streamID, after: world.script.answerDelay)
        }
        guard let apnsID else { return say(.accepted(apnsID: []), streamID: request.streamID) }
        session.withBytes(apnsID) { bytes in
            answers.accept { list in
                for place in bytes.indices { list.append(bytes[place]) }
            }
        }
        respond(answers.accepted, body: [], streamID: request.streamID)
    }

    private func process(_ request: HTTP2Request) {
        guard let session else { return }
        var push = PushRequest(request, of: session)
        let streamID = request.streamID
        if push.path.hasPrefix(Inspection.path) { return inspect(push, streamID: streamID) }
        world.summary.requests += 1
        if push.apnsID.isEmpty { push.apnsID = Self.madeID() }
        if scriptNumber != world.scriptNumber {
            scriptNumber = world.scriptNumber
            requestCount = 0
        }
        requestCount += 1
        let fault = world.fault(request: requestCount)
        switch fault {
        case nil: judge(push, streamID, isAnswered: true)
        case .streamLimit(let limit):
            change(limit: limit)
            judge(push, streamID, isAnswered: true)
        case .silence:
            judge(push, streamID, isAnswered: false)
        case .refuse(let refusal): refuse(push, refusal, streamID, token: Self.token(of: push))
        case .goAway(let goAway) where goAway.noticeBefore != nil:
            sayGoAway(goAway, lastStreamID: streamID)
            judge(push, streamID, isAnswered: true)
        case .some(let fault): misbehave(fault, streamID: streamID)
        }
    }

    private static func token(of push: PushRequest) -> DeviceToken? {
        push.tokenText.flatMap { Hexadecimal.decode($0.utf8) }.map(DeviceToken.init(bytes:))
    }

    private func judge(_ push: PushRequest, _ streamID: Int32, isAnswered: Bool) {
        switch world.judge.judge(push, &credentials, now: world.now) {
        case .refuse(let refusal): refuse(push, refusal, streamID, token: Self.token(of: push))
        case .accept(let bytes):
            let token = DeviceToken(bytes: bytes)
            if let fate = world.fate(of: token) {
                meet(fate, push, streamID, token)
            } else {
                accept(push, streamID, token, isAnswered: isAnswered)
            }
        }
    }

    private func meet(_ fate: TokenFate, _ push: PushRequest, _ streamID: Int32, _ token: DeviceToken) {
        switch fate {
        case .refuse(let refusal): refuse(push, refusal, streamID, token: token)
        case .only(let environment):
            if world.settings.environment.serves(environment) {
                accept(push, streamID, token)
            } else {
                refuse(push, .badDeviceToken, streamID, token: token)
            }
        case .reset: resetStream(streamID, .internalError)
        case .refuseStream: resetStream(streamID, .refusedStream)
        case .silence: world.summary.unanswered += 1
        case .slow: accept(push, streamID, token, after: world.settings.slowAnswer)
        case .loseAnswer: accept(push, streamID, token, isAnswered: false)
        case .resetAfterwards:
            accept(push, streamID, token, isAnswered: false)
            resetStream(streamID, .internalError)
        case .dropAfterwards:
            accept(push, streamID, token, isAnswered: false)
            close(isAbrupt: true)
        case .bodiless(let status):
            keep(push, token, status, reason: "")
            answer(.odd(status: status, apnsID: Array(push.apnsID.utf8), body: []), streamID: streamID)
        case .garbledBody(let status):
            keep(push, token, status, reason: "")
            answer(
                .odd(status: status, apnsID: Array(push.apnsID.utf8), body: Array("{\"reason\":".utf8)),
                streamID: streamID)
        }
    }

    private func accept(
        _ push: PushRequest, _ streamID: Int32, _ token: DeviceToken, isAnswered: Bool = true,
        after delay: Duration = .zero
    ) {
        refusalsInARow = 0
        raiseLimit()
        world.summary.accepted += 1
        keep(push, token, 200, reason: nil)
        guard isAnswered else {
            world.summary.unanswered += 1
            return
        }
        answer(.accepted(apnsID: Array(push.apnsID.utf8)), streamID: streamID, after: delay + world.script.answerDelay)
    }

    private func refuse(_ push: PushRequest, _ refusal: APNsRefusal, _ streamID: Int32, token: DeviceToken?) {
        world.summary.countRefusal(refusal.status, refusal.reason)
        if let token { keep(push, token, refusal.status, reason: refusal.reason) }
        let said = SimulatorAnswer.refused(refusal, apnsID: Array(push.apnsID.utf8), now: world.now)
        answer(said, streamID: streamID, after: world.script.answerDelay)
        punish(refusal)
    }

    private func keep(_ push: PushRequest, _ token: DeviceToken, _ status: Int, reason: String?) {
        let headers = push.headers.filter { $0.name != "apns-id" && $0.name != "authorization" }
        let received = ReceivedPush(
            apnsID: push.apnsID, headers: headers, body: push.body, arrivedAt: world.now,
            status: status, reason: reason, connection: number)
        world.keep(received, token: token)
    }

    /// As Apple does where a request brings none. Source: RFC 9562, version 4.
    private static func madeID() -> String {
        let high = Entropy.uint64() & ~0xf000 | 0x4000
        let low = Entropy.uint64() & ~(3 << 62) | 2 << 62
        return UniversalID(high: high, low: low).text
    }

    private func inspect(_ request: PushRequest, streamID: Int32) {
        let (status, body) = Inspection.answer(request, world)
        answer(.odd(status: status, apnsID: [], body: body), streamID: streamID)
    }
}
