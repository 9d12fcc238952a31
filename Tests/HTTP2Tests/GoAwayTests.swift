import HTTP2
import Testing

@Suite("A connection that says goodbye")
struct GoAwayTests {
    private func wireWithOpenStreams(_ count: Int) throws -> Wire {
        let wire = try Wire()
        wire.answer = { _, _ in }
        try wire.exchange()
        for tag in 0..<UInt64(count) { try wire.push(tag: tag) }
        try wire.exchange()
        #expect(wire.requests.count == count)
        return wire
    }

    @Test("with a lower last stream refuses those above it, answers those below, and tells why")
    func lowerLastStream() throws {
        let wire = try wireWithOpenStreams(4)
        try wire.server.submitGoAway(lastStreamID: 3, debug: Array(#"{"reason":"Shutdown"}"#.utf8))
        try wire.respond(1, 200)
        try wire.respond(3, 200)
        try wire.exchange()
        #expect(wire.goAways.count == 1)
        #expect(wire.goAways.first?.last == 3)
        #expect(wire.goAways.first.map { text($0.debug) } == #"{"reason":"Shutdown"}"#)
        let terminalCounts = wire.answers.sorted { $0.tag < $1.tag }.map(\.conclusion)
        #expect(terminalCounts == [.complete, .complete, .refused, .refused])
        #expect(wire.client.isFinished)
    }

    @Test("in two steps still answers what was opened in between")
    func twoSteps() throws {
        let wire = try wireWithOpenStreams(2)
        try wire.server.submitShutdownNotice()
        try wire.exchange()
        #expect(wire.goAways.first?.last == Int32.max)
        #expect(!wire.client.mayOpen)
        #expect(throws: HTTP2Fault.requestsNotAllowed) { try wire.push(tag: 9) }
        try wire.server.submitGoAway(lastStreamID: wire.server.highestStreamID)
        try wire.respond(1, 200)
        try wire.respond(3, 200)
        try wire.exchange()
        #expect(wire.goAways.count == 2)
        #expect(wire.answers.map(\.conclusion) == [.complete, .complete])
    }

    @Test("in two steps answers what was on its way when the first one was said")
    func onItsWay() throws {
        let wire = try wireWithOpenStreams(1)
        try wire.push(tag: 5)
        var bytes: [UInt8] = []
        try wire.client.takeOutput(into: &bytes, atMost: 65_536)
        try wire.server.submitShutdownNotice()
        try wire.serverToClient()
        try wire.server.receive(bytes.span)
        try wire.drainServer()
        #expect(wire.requests.count == 2)
        for request in wire.requests { try wire.respond(request.stream, 200) }
        try wire.exchange()
        #expect(wire.answers.map(\.conclusion) == [.complete, .complete])
    }

    @Test("before a submitted request became bytes leaves it unsent or refused, never unknown")
    func goAwayBeforeSending() throws {
        let wire = try wireWithOpenStreams(1)
        try wire.push(tag: 5)
        try wire.server.submitGoAway(lastStreamID: 1)
        try wire.serverToClient()
        try wire.exchange()
        let answer = try #require(wire.answers.first)
        #expect(answer.tag == 5)
        #expect(answer.conclusion == .unsent)
    }

    @Test("because we said so takes no further request, and ends when the last answer is in")
    func ownGoAway() throws {
        let wire = try wireWithOpenStreams(1)
        try wire.client.submitGoAway()
        try wire.exchange()
        #expect(!wire.client.mayOpen)
        try wire.respond(1, 200)
        try wire.exchange()
        #expect(wire.answers.map(\.conclusion) == [.complete])
        #expect(wire.client.isFinished)
    }

    @Test("never names a higher stream than before, whatever is said of it later")
    func noticeBehindGoodbye() throws {
        let wire = try wireWithOpenStreams(2)
        try wire.server.submitGoAway(lastStreamID: 1)
        try wire.server.submitShutdownNotice()
        try wire.respond(1, 200)
        try wire.exchange()
        #expect(wire.goAways.map(\.last) == [1])
        #expect(wire.client.goAwaySent == nil)
        #expect(wire.answers.sorted { $0.tag < $1.tag }.map(\.conclusion) == [.complete, .refused])
    }

    @Test("because we said so takes back what has not left: behind our GOAWAY nobody may hear it")
    func ownGoodbyeTakesBack() throws {
        let wire = try wireWithOpenStreams(1)
        try wire.push(tag: 5)
        try wire.client.submitGoAway()
        try wire.client.submitGoAway()
        try wire.exchange()
        #expect(wire.requests.count == 1)
        #expect(wire.answers.map(\.tag) == [5])
        #expect(wire.answers.map(\.conclusion) == [.unsent])
        try wire.respond(1, 200)
        try wire.exchange()
        #expect(wire.answers.last?.conclusion == .complete)
    }

    @Test("without a word ends each request as lost, and says which of them were sent")
    func lost() throws {
        let wire = try wireWithOpenStreams(2)
        try wire.push(tag: 8)
        wire.client.connectionLost()
        wire.drainClient()
        #expect(wire.answers.map(\.tag) == [0, 1, 8])
        #expect(wire.answers.map(\.conclusion) == [.lost(wasSent: true), .lost(wasSent: true), .lost(wasSent: false)])
        #expect(wire.client.openStreams == 0)
    }

    @Test("after a whole answer that was not closed yet loses nothing")
    func lostAfterAnswer() throws {
        let wire = try Wire()
        try wire.exchange()
        wire.answer = { _, _ in }
        var bytes: [UInt8] = []
        let stream = try wire.push(tag: 1, body: String(repeating: "x", count: 200_000))
        try wire.client.takeOutput(into: &bytes, atMost: 100)
        try wire.server.receive(bytes.span)
        try wire.drainServer()
        try wire.respond(stream, 200)
        try wire.serverToClient()
        wire.client.connectionLost()
        wire.drainClient()
        #expect(wire.answers.map(\.conclusion) == [.complete])
    }
}

@Suite("A stream that is reset")
struct ResetTests {
    @Test("with REFUSED_STREAM was not processed; with another code nobody knows")
    func codes() throws {
        let wire = try Wire()
        try wire.exchange()
        wire.answer = { wire, request in
            let code = request.stream == 1 ? HTTP2ErrorCode.refusedStream : .internalError
            try wire.server.reset(request.stream, code)
        }
        try wire.push(tag: 1)
        try wire.push(tag: 2)
        try wire.exchange()
        #expect(wire.answers.map(\.conclusion) == [.refused, .reset(.internalError)])
    }

    @Test("with REFUSED_STREAM behind the head of its answer was processed all the same")
    func refusedTooLate() throws {
        let wire = try Wire()
        try wire.exchange()
        wire.answer = { wire, request in
            try wire.respond(request.stream, 503, body: String(repeating: "x", count: 200_000))
        }
        let stream = try wire.push(tag: 1)
        try wire.clientToServer()
        try wire.serverToClient()
        try wire.server.reset(stream, .refusedStream)
        try wire.exchange()
        #expect(wire.answers.map(\.conclusion) == [.reset(.refusedStream)])
    }

    @Test("by us ends as cancelled, and a late answer to it harms nobody")
    func cancelled() throws {
        let wire = try Wire()
        try wire.exchange()
        wire.answer = { _, _ in }
        let stream = try wire.push(tag: 1)
        try wire.exchange()
        #expect(wire.client.wasTaken(stream))
        try wire.respond(stream, 200)
        try wire.client.reset(stream)
        try wire.exchange()
        #expect(wire.answers.map(\.conclusion) == [.cancelled])
        #expect(throws: HTTP2Fault.streamUnknown) { try wire.client.reset(stream) }
        wire.answer = { wire, request in try wire.respond(request.stream, 200) }
        try wire.push(tag: 2)
        try wire.exchange()
        #expect(wire.answers.last?.conclusion == .complete)
    }

    @Test("twice before it was sent leaves the connection whole")
    func givenUpTwiceBeforeSent() throws {
        let wire = try Wire()
        wire.answer = { _, _ in }
        try wire.exchange()
        let stream = try wire.push(tag: 5)
        try wire.client.reset(stream)
        try wire.client.reset(stream)
        try wire.push(tag: 6)
        try wire.exchange()
        #expect(wire.requests.count == 1)
        #expect(wire.goAways.isEmpty)
        #expect(wire.answers.map(\.conclusion) == [.unsent])
    }

    @Test("before it was sent never reaches the server")
    func cancelledUnsent() throws {
        let wire = try Wire()
        try wire.exchange()
        let stream = try wire.push(tag: 1)
        #expect(!wire.client.wasTaken(stream))
        try wire.client.reset(stream)
        try wire.exchange()
        #expect(wire.requests.isEmpty)
        #expect(!wire.client.wasTaken(stream))
        #expect(wire.answers.count == 1)
        #expect(wire.client.openStreams == 0)
    }
}
