import HTTP2
import Testing

@Suite("A request between two HTTP/2 sessions")
struct RequestTests {
    @Test("arrives complete, and its answer returns with the same tag")
    func roundTrip() throws {
        let wire = try Wire()
        wire.answer = { wire, request in
            try wire.respond(request.stream, 200, [("apns-id", request.value("apns-id") ?? "")])
        }
        try wire.push(tag: 77, body: "payload")
        try wire.exchange()
        let request = try #require(wire.requests.first)
        #expect(request.value(":method") == "POST")
        #expect(request.value(":path") == "/3/device/4dff")
        #expect(request.value("apns-topic") == "com.example.carillon")
        #expect(text(request.body) == "payload")
        let answer = try #require(wire.answers.first)
        #expect(answer.tag == 77)
        #expect(answer.conclusion == .complete)
        #expect(answer.status == 200)
        #expect(wire.client.openStreams == 0)
        #expect(wire.server.openStreams == 0)
    }

    @Test("returns a rejection's reason, apns-id and Retry-After")
    func refusalWithBody() throws {
        let wire = try Wire()
        wire.answer = { wire, request in
            try wire.respond(
                request.stream, 429, [("apns-id", "abc"), ("retry-after", "30")], body: #"{"reason":"TooManyRequests"}"#
            )
        }
        try wire.push(tag: 1)
        try wire.exchange()
        let answer = try #require(wire.answers.first)
        #expect(answer.status == 429)
        #expect(answer.apnsID == "abc")
        #expect(answer.retryAfter == "30")
        #expect(answer.body == #"{"reason":"TooManyRequests"}"#)
    }

    @Test("keeps the headers of a success only if the client asks for them", arguments: [true, false])
    func headersOfSuccess(isAsked: Bool) throws {
        var settings = HTTP2ClientSettings()
        settings.keepsHeadersOfSuccess = isAsked
        let wire = try Wire(client: settings)
        wire.answer = { wire, request in try wire.respond(request.stream, 200, [("apns-id", "abc")]) }
        try wire.push(tag: 1)
        try wire.exchange()
        #expect(wire.answers.first?.apnsID == (isAsked ? "abc" : ""))
    }

    @Test("arrives with exactly its own body when the body is given in pieces")
    func pieces() throws {
        let wire = try Wire()
        let pieces: [[String]] = [
            ["{", "1", "}"], ["", "2", "}"], ["{", "", "}"], ["{", "4", ""], ["", "", "}"], ["", "", ""],
            [String(repeating: "a", count: 20_000), "7", String(repeating: "b", count: 20_000)],
        ]
        try wire.exchange()
        for (tag, piece) in pieces.enumerated() {
            let (prefix, body, suffix) = (Array(piece[0].utf8), Array(piece[1].utf8), Array(piece[2].utf8))
            _ = try wire.client.submitRequest(
                Wire.pushHeaders(tag: UInt64(tag)), prefix: prefix.span, body: body.span, suffix: suffix.span,
                tag: UInt64(tag))
            try wire.exchange()
        }
        #expect(wire.requests.map(\.bodyBytes) == pieces.map { $0.joined().utf8.count })
        #expect(wire.requests.prefix(6).map { text($0.body) } == pieces.prefix(6).map { $0.joined() })
        #expect(wire.answers.count == pieces.count)
    }

    @Test("ends with its headers if there is no body")
    func noBody() throws {
        let wire = try Wire()
        try wire.client.submitRequest(Wire.pushHeaders(tag: 3), body: [UInt8]().span, tag: 3)
        try wire.exchange()
        #expect(wire.requests.first?.bodyBytes == 0)
        #expect(wire.answers.first?.conclusion == .complete)
    }

    @Test("differs only in the replaced fields when it reuses a header list")
    func reusedList() throws {
        var settings = HTTP2ClientSettings()
        settings.streamLimitAtStart = 100
        let wire = try Wire(client: settings)
        var headers = Wire.pushHeaders(tag: 0)
        headers.markTemplate()
        for tag in UInt64(0)..<50 {
            headers.rewind()
            headers.replaceValue(at: 3) { $0.append(contentsOf: "/3/device/\(tag)".utf8) }
            headers.replaceValue(at: 5) { $0.append(contentsOf: "id-\(tag)".utf8) }
            try wire.client.submitRequest(headers, body: [UInt8]().span, tag: tag)
        }
        try wire.exchange()
        #expect(wire.requests.map { $0.value(":path") } == (0..<50).map { "/3/device/\($0)" })
        #expect(wire.requests.map { $0.value("apns-id") } == (0..<50).map { "id-\($0)" })
        #expect(wire.requests.allSatisfy { $0.value("apns-topic") == "com.example.carillon" })
        #expect(wire.answers.count == 50)
    }

    @Test("arrives complete when its body exceeds one frame and one window")
    func largeBody() throws {
        var settings = HTTP2ServerSettings()
        settings.requestBodyBytesMax = 400_000
        let wire = try Wire(server: settings)
        let body = String(repeating: "0123456789", count: 30_000)
        try wire.push(tag: 1, body: body)
        try wire.exchange()
        #expect(wire.requests.first.map { text($0.body) } == body)
    }

    @Test("still gets an answer when its body exceeds the server's limit and is truncated")
    func boundedBody() throws {
        var settings = HTTP2ServerSettings()
        settings.requestBodyBytesMax = 100
        let wire = try Wire(server: settings)
        try wire.push(tag: 1, body: String(repeating: "x", count: 200_000))
        try wire.exchange()
        #expect(wire.requests.first?.body.count == 100)
        #expect(wire.requests.first?.bodyBytes == 200_000)
        #expect(wire.answers.first?.status == 200)
    }

    @Test("keeps only the first part of an answer's body that exceeds the client's limit")
    func boundedAnswer() throws {
        let wire = try Wire()
        wire.answer = { wire, request in
            try wire.respond(request.stream, 500, body: String(repeating: "x", count: 500_000))
        }
        try wire.push(tag: 1)
        try wire.exchange()
        #expect(wire.answers.first?.conclusion == .complete)
        #expect(wire.answers.first?.body.count == 4_096)
        #expect(wire.answers.first?.bodyBytes == 500_000)
    }

    @Test("never stalls the connection's window, even after 2,500 rejections with a body")
    func manyErrorBodies() throws {
        let wire = try Wire()
        wire.answer = { wire, request in
            try wire.respond(request.stream, 400, body: #"{"reason":"BadDeviceToken","filler":"0123456789abcdef0123"}"#)
        }
        try wire.exchange()
        for tag in UInt64(0)..<2_500 {
            try wire.push(tag: tag)
            if !wire.client.mayOpen || tag % 100 == 0 { try wire.exchange() }
        }
        try wire.exchange()
        #expect(wire.answers.count == 2_500)
        #expect(wire.answers.allSatisfy { $0.conclusion == .complete && $0.status == 400 && $0.body.count > 50 })
    }

    @Test("completes if the answer comes before the body is sent and the server closes the stream")
    func earlyAnswer() throws {
        let wire = try Wire()
        try wire.exchange()
        var bytes: [UInt8] = []
        let stream = try wire.push(tag: 1, body: String(repeating: "x", count: 200_000))
        try wire.client.takeOutput(into: &bytes, atMost: 100)
        try wire.server.receive(bytes.span)
        try wire.drainServer()
        try wire.respond(stream, 413, body: #"{"reason":"PayloadTooLarge"}"#)
        try wire.serverToClient()
        try wire.server.reset(stream, .noError)
        try wire.exchange()
        #expect(wire.answers.map(\.status) == [413])
        #expect(wire.answers.map(\.conclusion) == [.complete])
    }
}
