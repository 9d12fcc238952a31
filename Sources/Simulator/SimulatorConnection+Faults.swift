import Basis
import HTTP2
import Reactor

extension SimulatorConnection {
    func nextFault(at endpoint: ScriptedEndpoint) -> ScriptedFault.Kind? {
        if scriptNumber != world.scriptNumber {
            scriptNumber = world.scriptNumber
            for place in requestCounts.indices { requestCounts[place] = 0 }
        }
        requestCounts[endpoint.rawValue] += 1
        return world.fault(at: endpoint, request: requestCounts[endpoint.rawValue])
    }

    var answerDelay: Duration { world.script.answerDelay + extraDelay }

    /// Has a request judged, or does what the script's fault asks instead.
    /// - Parameter judge: judges the request; told whether to answer it.
    func follow(
        _ fault: ScriptedFault.Kind?, _ streamID: Int32, judge: (_ isAnswered: Bool) -> Void,
        answer: (ScriptedAnswer) -> Void
    ) {
        switch fault {
        case nil: judge(true)
        case .streamLimit(let limit):
            change(limit: limit)
            judge(true)
        case .slow(let delay):
            extraDelay = delay
            judge(true)
            extraDelay = .zero
        case .silence: judge(false)
        case .answer(let scripted): answer(scripted)
        case .goAway(let goAway) where goAway.noticeBefore != nil:
            sayGoAway(goAway, lastStreamID: streamID)
            judge(true)
        case .some(let fault): misbehave(fault, streamID: streamID)
        }
    }

    /// - Parameter accept: processes the push; told whether to answer it, and after which delay.
    func meet(_ fate: CommonFate, _ streamID: Int32, accept: (_ isAnswered: Bool, _ delay: Duration) -> Void) {
        switch fate {
        case .reset: resetStream(streamID, .internalError)
        case .refuseStream: resetStream(streamID, .refusedStream)
        case .silence: world.summary.unanswered += 1
        case .slow: accept(true, world.settings.slowAnswer)
        case .loseAnswer: accept(false, .zero)
        case .resetAfterwards:
            accept(false, .zero)
            resetStream(streamID, .internalError)
        case .dropAfterwards:
            accept(false, .zero)
            close(isAbrupt: true)
        }
    }

    func misbehave(_ fault: ScriptedFault.Kind, streamID: Int32) {
        switch fault {
        case .goAway(let goAway): sayGoAway(goAway, lastStreamID: max(0, streamID - 2))
        case .reset(let code): if streamID > 0 { resetStream(streamID, code) }
        case .streamLimit(let limit): change(limit: limit)
        case .answer, .slow, .silence: break
        case .stall: willStall = true
        case .close:
            // Answers to earlier requests are still sent.
            lastStreamID = max(0, streamID - 2)
            closing = .atOnce
        case .drop: close(isAbrupt: true)
        case .garbage:
            oddBytes = Self.garbage
            if http1 != nil { closing = .atOnce }
        case .halfFrame:
            oddBytes = http1 == nil ? Self.halfFrame : Self.halfAnswer
            willStall = true
        case .hugeHeader: if streamID > 0 { answer(AnswerHeaders.hugeHeader, body: [], streamID: streamID) }
        }
    }

    /// Applies a fault outside any request.
    func misbehaveNow(_ fault: ScriptedFault.Kind) {
        guard isOpen, providerSession != nil, !isLingering, !isSpared else { return }
        world.summary.faults += 1
        if case .goAway(let goAway) = fault {
            sayGoAway(goAway, lastStreamID: session?.highestStreamID ?? 0)
        } else {
            misbehave(fault, streamID: 0)
        }
        flush()
    }

    /// A frame of type 0x20 that would be 16 MiB long: beyond every limit.
    private static let garbage: [UInt8] =
        [0xff, 0xff, 0xff, 0x20, 0xff, 0x7f, 0xff, 0xff, 0xff] + Array("garbage".utf8)
    /// DATA of 100 bytes on stream 1, of which eleven come.
    private static let halfFrame: [UInt8] = [0, 0, 100, 0, 0, 0, 0, 0, 1] + Array(#"{"reason":""#.utf8)

    private static let halfAnswer = Array("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"na".utf8)

    /// Resets a stream; over HTTP/1.1, the whole connection.
    func resetStream(_ streamID: Int32, _ code: HTTP2ErrorCode) {
        world.summary.reset += 1
        if http1 != nil { return close(isAbrupt: true) }
        // Fails if the client reset the stream first, which needs no reset from us.
        try? session?.reset(streamID, code)
    }

    func change(limit: UInt32) {
        // Fails only if the session is broken, and then the connection closes.
        try? session?.submitSettings([.streamsMax(limit)])
    }

    func sayGoAway(_ goAway: ScriptedGoAway, lastStreamID: Int32) {
        guard self.lastStreamID == .max, session != nil || http1 != nil else { return }
        world.summary.goAways += 1
        guard let session else {
            // HTTP/1.1 has no GOAWAY, only the end of the connection.
            if goAway.noticeBefore == nil { close() } else { http1?.end() }
            return
        }
        if let wait = goAway.noticeBefore, pendingGoAway == nil {
            try? session.submitShutdownNotice()
            pendingGoAway = goAway
            _ = world.loop.schedule(at: world.loop.now + wait, tag: Self.goAwayTag, self)
            return
        }
        finishGoAway(goAway, lastStreamID: lastStreamID)
    }

    /// Never the tag of an answer: those are counted from 1.
    static var goAwayTag: UInt64 { 0 }
    static var lingerTag: UInt64 { .max }

    func finishGoAway(_ goAway: ScriptedGoAway, lastStreamID: Int32) {
        self.lastStreamID = lastStreamID
        closing = goAway.closing
        try? session?.submitGoAway(lastStreamID: lastStreamID, goAway.code, debug: goAway.debug)
        if goAway.closing == .atOnce { delayed.removeAll() }
    }
}
