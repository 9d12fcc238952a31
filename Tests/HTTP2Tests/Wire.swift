import HTTP2

/// A client and a server session back to back in memory, and the events that each reported.
final class Wire {
    let client: HTTP2ClientSession
    let server: HTTP2ServerSession
    var answers: [Answer] = []
    var goAways: [(last: Int32, code: HTTP2ErrorCode, debug: [UInt8])] = []
    var streamLimits: [Int] = []
    var clientPings: [UInt64] = []
    var requests: [Request] = []
    var closed: [(stream: Int32, code: HTTP2ErrorCode)] = []
    var serverPings: [UInt64] = []
    var settingsAcknowledged = 0
    /// Called for each request as it arrives.
    var answer: (Wire, Request) throws -> Void = { wire, request in try wire.respond(request.stream, 200) }

    struct Answer {
        let tag: UInt64
        let conclusion: HTTP2Answer.Conclusion
        let status: UInt16
        let retryAfter: String
        let apnsID: String
        let body: String
        let bodyBytes: Int
    }

    struct Request {
        let stream: Int32
        let fields: [(name: String, value: String)]
        let body: [UInt8]
        let bodyBytes: Int
        func value(_ name: String) -> String? { fields.first { $0.name == name }?.value }
    }

    init(
        client: HTTP2ClientSettings = HTTP2ClientSettings(), server: HTTP2ServerSettings = HTTP2ServerSettings()
    ) throws {
        self.client = try HTTP2ClientSession(client)
        self.server = try HTTP2ServerSession(server)
    }

    /// Exchanges bytes both ways until neither side has output.
    func exchange() throws {
        while try clientToServer() + serverToClient() > 0 {}
    }

    @discardableResult
    func clientToServer() throws -> Int {
        var bytes: [UInt8] = []
        try client.takeOutput(into: &bytes, atMost: 65_536)
        drainClient()
        if !bytes.isEmpty { try server.receive(bytes.span) }
        try drainServer()
        return bytes.count
    }

    @discardableResult
    func serverToClient() throws -> Int {
        var bytes: [UInt8] = []
        try server.takeOutput(into: &bytes, atMost: 65_536)
        try drainServer()
        if !bytes.isEmpty { try client.receive(bytes.span) }
        drainClient()
        return bytes.count
    }

    func drainClient() {
        while let event = client.nextEvent() {
            switch event {
            case .ended(let answer):
                answers.append(
                    Answer(
                        tag: answer.tag, conclusion: answer.conclusion, status: answer.status,
                        retryAfter: text(client.bytes(answer.retryAfter)), apnsID: text(client.bytes(answer.apnsID)),
                        body: text(client.bytes(answer.body)), bodyBytes: answer.bodyBytes))
            case .goAway(let last, let code, let debug): goAways.append((last, code, client.bytes(debug)))
            case .settingsChanged(let limit): streamLimits.append(limit)
            case .pingAnswered(let payload): clientPings.append(payload)
            }
        }
    }

    func drainServer() throws {
        while let event = server.nextEvent() {
            switch event {
            case .request(let found):
                let fields = server.fields(of: found).map {
                    (name: text(server.bytes($0.name)), value: text(server.bytes($0.value)))
                }
                let request = Request(
                    stream: found.streamID, fields: fields, body: server.bytes(found.body), bodyBytes: found.bodyBytes)
                requests.append(request)
                try answer(self, request)
            case .closed(let stream, let code): closed.append((stream, code))
            case .goAway: break
            case .settingsAcknowledged: settingsAcknowledged += 1
            case .pingAnswered(let payload): serverPings.append(payload)
            }
        }
    }

    func respond(_ stream: Int32, _ status: Int, _ fields: [(String, String)] = [], body: String = "") throws {
        var headers = HeaderList()
        headers.append(":status", String(status))
        for (name, value) in fields { headers.append(name, Array(value.utf8)) }
        try server.submitResponse(stream, headers, body: Array(body.utf8).span)
    }

    @discardableResult
    func push(tag: UInt64, body: String = #"{"aps":{"alert":"Noon"}}"#) throws -> Int32 {
        try client.submitRequest(Wire.pushHeaders(tag: tag), body: Array(body.utf8).span, tag: tag)
    }

    static func pushHeaders(tag: UInt64) -> HeaderList {
        var headers = HeaderList()
        headers.append(":method", "POST")
        headers.append(":scheme", "https")
        headers.append(":authority", "api.push.apple.com")
        headers.append(":path", Array("/3/device/\(String(tag, radix: 16))ff".utf8), isIndexed: false)
        headers.append("apns-topic", "com.example.carillon")
        headers.append("apns-id", Array("00000000-0000-8000-8000-\(tag)".utf8), isIndexed: false)
        return headers
    }
}

func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
