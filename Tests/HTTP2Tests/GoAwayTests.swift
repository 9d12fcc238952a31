import HTTP2
import Testing

@Suite("An HTTP/2 connection that ends")
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

    @Test("refuses streams above the last one in a GOAWAY, answers the others, and gives the reason")
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

    @Test("answers its open streams in a two-step shutdown, and opens no new ones")
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

    @Test("answers a request that was in flight when the shutdown notice was sent")
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

    @Test("leaves a request unsent if GOAWAY arrives before the request was written")
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

    @Test("accepts no request after its own GOAWAY, and finishes with the last answer")
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

    @Test("never raises the last stream of a GOAWAY, even with a later shutdown notice")
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

    @Test("takes back requests that were not yet written when it sends its own GOAWAY")
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

    @Test("ends each request as lost when it breaks, and tells which ones were sent")
    func lost() throws {
        let wire = try wireWithOpenStreams(2)
        try wire.push(tag: 8)
        wire.client.connectionLost()
        wire.drainClient()
        #expect(wire.answers.map(\.tag) == [0, 1, 8])
        #expect(wire.answers.map(\.conclusion) == [.lost(wasSent: true), .lost(wasSent: true), .lost(wasSent: false)])
        #expect(wire.client.openStreams == 0)
    }

    @Test("loses no request whose whole answer arrived before the break")
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

@Suite("An HTTP/2 stream that is reset")
struct ResetTests {
    @Test("ends as refused with REFUSED_STREAM, and as reset with any other code")
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

    @Test("counts as processed if REFUSED_STREAM comes after the answer has begun")
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

    @Test("ends as cancelled when the client resets it; a late answer is ignored")
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

    @Test("leaves the connection intact when it is reset twice before it was sent")
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

    @Test("never reaches the server if it is reset before it was sent")
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
