import Requests
import Testing

/// One request that must be refused, as bytes, and the refusal that is expected.
struct BadInput: Sendable, CustomTestStringConvertible {
    let name: String
    let bytes: [UInt8]
    let code: ProblemCode
    let pointer: String?
    /// The text that the problem's detail has to contain.
    let message: String

    /// Takes the bytes of `raw` unchanged.
    init(_ name: String, raw: String, _ code: ProblemCode, message: String = "") {
        self.init(name, bytes: Array(raw.utf8), code, message: message)
    }

    init(_ name: String, bytes: [UInt8], _ code: ProblemCode, message: String = "") {
        self.name = name
        self.bytes = bytes
        self.code = code
        self.message = message
        pointer = nil
    }

    /// A well-framed request with a body.
    init(
        _ name: String, _ method: String, _ path: String, _ body: String, key: String? = GatewayWorld.key,
        headers: [String] = [], _ code: ProblemCode, at pointer: String? = nil, message: String = ""
    ) {
        self.name = name
        bytes = Array(GatewayWorld.request(method, path, body, key: key, headers: headers).utf8)
        self.code = code
        self.pointer = pointer
        self.message = message
    }

    /// A well-framed request without a body.
    init(
        _ name: String, _ method: String, _ path: String, key: String? = GatewayWorld.key, headers: [String] = [],
        _ code: ProblemCode, message: String = ""
    ) {
        self.name = name
        bytes = Array(GatewayWorld.request(method, path, key: key, headers: headers).utf8)
        self.code = code
        self.message = message
        pointer = nil
    }

    /// A GET request for each path.
    static func reading(_ paths: [String], _ code: ProblemCode) -> [BadInput] {
        paths.map { BadInput("GET \($0.prefix(60))", "GET", $0, code) }
    }

    /// A well-framed request whose body is not text.
    static func bytes(_ name: String, _ method: String, _ path: String, _ body: [UInt8], _ code: ProblemCode) -> Self {
        let head = GatewayWorld.request(method, path, headers: ["Content-Length: \(body.count)"])
        return BadInput(name, bytes: Array(head.utf8) + body, code)
    }

    var testDescription: String { name }

    /// Sends the request on a connection of its own, ends the input, and checks the one answer.
    func check(port: Int) async throws {
        let wire = try Wire(port: port)
        // The gateway may close the connection before the whole request is sent.
        try? await wire.send(bytes)
        await wire.endSending()
        let hasBody = !bytes.starts(with: Array("HEAD ".utf8))
        let reply: WireReply
        do { reply = try await wire.reply(hasBody: hasBody) } catch {
            Issue.record("\(name): no answer")
            return
        }
        #expect(reply.status == code.status, "\(name): \(reply.text)")
        #expect(reply.header("content-type") == "application/problem+json", "\(name): \(reply.text)")
        if hasBody { try checkProblem(reply) }
        #expect(await wire.remaining() == [], "\(name): one request gets one answer")
    }

    private func checkProblem(_ reply: WireReply) throws {
        let problem = try reply.json()
        #expect(problem["code"]?.string == code.rawValue, "\(name): \(reply.text)")
        #expect(problem["type"]?.string == "/errors#\(code.rawValue)", "\(name)")
        #expect(problem["status"]?.integer == Int64(code.status), "\(name)")
        #expect(problem["pointer"]?.string == pointer, "\(name): \(reply.text)")
        let detail = problem["detail"]?.string ?? ""
        #expect(detail.hasSuffix(".") && detail.split(separator: " ").count >= 4, "\(name): \(detail)")
        #expect(message.isEmpty || detail.contains(message), "\(name): \(detail)")
        // A refusal repeats no secret and no long input.
        #expect(detail.utf8.count < 600 && !reply.text.contains(GatewayWorld.key), "\(name): \(detail)")
        #expect(!reply.text.contains("0000000000"), "\(name): the answer repeats the zeros of a test token")
    }
}
