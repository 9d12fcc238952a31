import HTTP2
import Testing

@Suite("A hostile HTTP/2 peer")
struct HostilePeerTests {
    @Test("loses only the stream on which it sends a huge answer header")
    func hugeAnswerHeader() throws {
        let wire = try Wire()
        try wire.exchange()
        wire.answer = { wire, request in
            let filler = request.stream == 1 ? 30_000 : 10
            try wire.respond(request.stream, 200, [("x-filler", String(repeating: "x", count: filler))])
        }
        try wire.push(tag: 1)
        try wire.push(tag: 2)
        try wire.exchange()
        #expect(wire.answers.count == 2)
        #expect(wire.answers.first { $0.tag == 2 }?.conclusion == .complete)
        #expect(wire.answers.first { $0.tag == 1 }?.conclusion != .complete)
    }

    @Test("loses the stream on which it floods small header fields")
    func fieldFlood() throws {
        let wire = try Wire()
        try wire.exchange()
        wire.answer = { wire, request in
            try wire.respond(request.stream, 200, Array(repeating: ("x-again", "and again"), count: 2_000))
        }
        try wire.push(tag: 1)
        try wire.exchange()
        #expect(wire.answers.count == 1)
        #expect(wire.answers.first?.conclusion != .complete)
    }

    @Test("gets a stream reset for a huge request header, and its next request is answered")
    func hugeRequestHeader() throws {
        let wire = try Wire()
        try wire.exchange()
        var headers = Wire.pushHeaders(tag: 1)
        headers.append("x-filler", String(repeating: "x", count: 10_000))
        try wire.client.submitRequest(headers, body: [1].span, tag: 1)
        try wire.exchange()
        #expect(wire.requests.isEmpty)
        #expect(wire.answers.count == 1)
        try wire.push(tag: 2)
        try wire.exchange()
        #expect(wire.answers.last?.status == 200)
        #expect(wire.server.openStreams == 0)
    }

    @Test("fails at once if it speaks HTTP/1.1")
    func wrongProtocol() throws {
        let server = try HTTP2ServerSession(HTTP2ServerSettings())
        #expect(throws: HTTP2Fault.library(LibraryCode(rawValue: -903))) {
            try server.receive(Array("GET / HTTP/1.1\r\nHost: api.push.apple.com\r\n\r\n".utf8).span)
        }
        #expect(throws: HTTP2Fault.requestsNotAllowed) { try server.receive([0].span) }
        #expect(server.isFinished)
    }

    @Test("loses the connection if it sends PUSH_PROMISE")
    func pushPromise() throws {
        let wire = try Wire()
        wire.answer = { _, _ in }
        try wire.exchange()
        try wire.push(tag: 1)
        try wire.exchange()
        // PUSH_PROMISE, END_HEADERS, stream 1, promising stream 2 with `:method: GET`.
        try wire.client.receive([0, 0, 5, 5, 4, 0, 0, 0, 1, 0, 0, 0, 2, 0x82].span)
        wire.drainClient()
        var bytes: [UInt8] = []
        try wire.client.takeOutput(into: &bytes, atMost: 65_536)
        #expect(wire.client.goAwaySent == HTTP2ErrorCode(name: "PROTOCOL_ERROR"))
        wire.client.connectionLost()
        wire.drainClient()
        #expect(wire.answers.map(\.conclusion) == [.lost(wasSent: true)])
    }

    @Test("loses the connection if it floods pings and reads nothing")
    func pingFlood() throws {
        let server = try HTTP2ServerSession(HTTP2ServerSettings())
        let opening = Garbage.clientOpening
        try server.receive(opening.span)
        let ping: [UInt8] = [0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]
        #expect(throws: HTTP2Fault.library(LibraryCode(rawValue: -904))) { try receive(ping, times: 100_000) }

        func receive(_ bytes: [UInt8], times: Int) throws {
            for _ in 0..<times { try server.receive(bytes.span) }
        }
    }
}

@Suite("Random or mutated HTTP/2 bytes")
struct GarbageTests {
    @Test("never trap a server session: they yield events or an error")
    func server() throws {
        var chance = Garbage.Chance(seed: 20_261_121)
        for round in 0..<3_000 {
            let session = try HTTP2ServerSession(HTTP2ServerSettings())
            var bytes = round % 4 == 0 ? Garbage.random(&chance) : try Garbage.clientBytes()
            if round % 4 != 0 { Garbage.mutate(&bytes, &chance) }
            Garbage.feed(bytes, &chance) { piece in
                try session.receive(piece)
                while let event = session.nextEvent() {
                    if case .request(let request) = event {
                        try? session.submitResponse(
                            request.streamID, Garbage.ok, body: session.bytes(request.body).span)
                    }
                }
                var output: [UInt8] = []
                try session.takeOutput(into: &output, atMost: 65_536)
            }
        }
    }

    @Test("end every request of a client session exactly once")
    func client() throws {
        var chance = Garbage.Chance(seed: 7)
        for round in 0..<3_000 {
            let session = try HTTP2ClientSession(HTTP2ClientSettings())
            try session.submitRequest(Wire.pushHeaders(tag: 1), body: [1, 2, 3].span, tag: 1)
            var output: [UInt8] = []
            try session.takeOutput(into: &output, atMost: 65_536)
            var bytes = round % 4 == 0 ? Garbage.random(&chance) : try Garbage.serverBytes()
            if round % 4 != 0 { Garbage.mutate(&bytes, &chance) }
            var terminalCounts = 0
            func drain() {
                while let event = session.nextEvent() {
                    if case .ended = event { terminalCounts += 1 }
                }
            }
            Garbage.feed(bytes, &chance) { piece in
                try session.receive(piece)
                drain()
                try session.takeOutput(into: &output, atMost: output.count + 65_536)
            }
            session.connectionLost()
            drain()
            #expect(terminalCounts == 1, "round \(round)")
        }
    }
}
