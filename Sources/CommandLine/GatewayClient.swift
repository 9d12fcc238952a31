import AsyncHTTPClient
import Foundation
import JSON
import NIOCore
import NIOSSL
import Synchronization

package struct GatewayClient: Sendable {
    package let base: String
    private let key: String
    private static let deadline: Int64 = 60
    static let answerBytesMax = 64 << 20
    /// Doesn't retry connecting, so that a missing gateway is reported at once.
    static let configuration: HTTPClient.Configuration = {
        var configuration = HTTPClient.Configuration.singletonConfiguration
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.timeout.connect = .seconds(10)
        // Requests carry credentials, which must not follow a redirect to another host.
        configuration.redirectConfiguration = .disallow
        return configuration
    }()
    /// The names that are other hosts for this client than for everybody: a gateway on this machine has a certificate
    /// for its public name.
    let hosts: [String: String]
    /// nil: only the system's authorities are trusted.
    private let tls: TLSConfiguration?

    package init(base: String, key: String, authorities: [NIOSSLCertificate] = [], hosts: [String: String] = [:]) {
        (self.base, self.key, self.hosts) = (base, key, hosts)
        guard !authorities.isEmpty else {
            tls = nil
            return
        }
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.additionalTrustRoots = [.certificates(authorities)]
        self.tls = tls
    }

    private var http: HTTPClient { Self.client(Self.configuration, hosts: hosts) }

    /// Returns the client with these settings. It lives as long as the process.
    static func client(_ configuration: HTTPClient.Configuration, hosts: [String: String]) -> HTTPClient {
        kept.withLock { kept in
            var configuration = configuration
            configuration.dnsOverride = hosts
            let name = "\(hosts.sorted { $0 < $1 }) \(String(describing: configuration.timeout.read))"
            if let client = kept[name] { return client }
            let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
            kept[name] = client
            return client
        }
    }

    private static let kept = Mutex<[String: HTTPClient]>([:])

    package struct Answer: Sendable {
        package let status: Int
        package let body: [UInt8]

        package func json() throws(CommandFault) -> JSONValue {
            do throws(JSONError) { return try JSONReader.read(body, limits: .trusted) } catch {
                throw CommandFault(.refused, "the gateway answered \(status) with a body that is not JSON")
            }
        }
    }

    /// Escapes a segment of a path, or a value of a query.
    package static func escaped(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
    }

    private static let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")

    /// - Parameter query: names without a value are left out.
    package func get(
        _ path: String, _ query: [(name: String, value: String?)] = [], as form: AnswerForm
    ) async throws(CommandFault) -> JSONValue { try form.check(try await call("GET", Self.path(path, query)).json()) }

    static func path(_ path: String, _ query: [(name: String, value: String?)]) -> String {
        let given = query.compactMap { pair in pair.value.map { "\(pair.name)=\(escaped($0))" } }
        return given.isEmpty ? path : path + "?" + given.joined(separator: "&")
    }

    @discardableResult
    package func send(
        _ method: String, _ path: String, _ body: JSONValue? = nil, idempotencyKey: String? = nil, as form: AnswerForm
    ) async throws(CommandFault) -> JSONValue {
        try form.check(try await call(method, path, body?.bytes, idempotencyKey: idempotencyKey).json())
    }

    /// Sends a request that the gateway answers with 204.
    func order(_ method: String, _ path: String, _ body: JSONValue? = nil) async throws(CommandFault) {
        guard try await call(method, path, body?.bytes).status == 204 else {
            throw CommandFault(.refused, "the gateway's answer does not confirm the request")
        }
    }

    package func call(
        _ method: String, _ path: String, _ body: [UInt8]? = nil, idempotencyKey: String? = nil
    ) async throws(CommandFault) -> Answer {
        var request = request(method, path)
        if let idempotencyKey { request.headers.add(name: "idempotency-key", value: idempotencyKey) }
        if let body {
            request.headers.add(name: "content-type", value: "application/json")
            request.body = .bytes(ByteBuffer(bytes: body))
        }
        let whole = request
        let answer = try await reaching {
            let response = try await http.execute(whole, timeout: .seconds(Self.deadline))
            let body = try await response.body.collect(upTo: Self.answerBytesMax)
            return Answer(status: Int(response.status.code), body: Array(body.readableBytesView))
        }
        guard (200..<300).contains(answer.status) else { throw CommandFault(status: answer.status, body: answer.body) }
        return answer
    }

    /// Sends a file while it is read, and passes on the answer's lines as they arrive.
    ///
    /// - Parameter terminalStatus: completes the sentence that the connection broke after the answer had begun.
    package func stream(
        _ path: String, file: FileHandle, ifBroken terminalStatus: () -> String = { "before the end" },
        _ line: (JSONValue) throws -> Void
    ) async throws {
        var request = request("POST", path)
        request.headers.add(name: "content-type", value: "application/x-ndjson")
        request.body = .stream(FileChunks(file: file), length: .unknown)
        let whole = request
        let response = try await reaching { try await http.execute(whole, deadline: .distantFuture) }
        let status = Int(response.status.code)
        guard status == 200 else {
            let body = try await reaching { try await response.body.collect(upTo: Self.answerBytesMax) }
            throw CommandFault(status: status, body: Array(body.readableBytesView))
        }
        var buffered: [UInt8] = []
        var chunks = response.body.makeAsyncIterator()
        while let chunk = try await next(&chunks, terminalStatus) {
            buffered += chunk.readableBytesView
            while let end = buffered.firstIndex(of: UInt8(ascii: "\n")) {
                if end > 0 { try line(try Answer(status: 200, body: Array(buffered[..<end])).json()) }
                buffered.removeSubrange(...end)
            }
        }
        if !buffered.isEmpty { try line(try Answer(status: 200, body: buffered).json()) }
    }

    private func next(
        _ chunks: inout HTTPClientResponse.Body.AsyncIterator, _ terminalStatus: () -> String
    ) async throws(CommandFault) -> ByteBuffer? {
        do { return try await chunks.next() } catch {
            throw CommandFault(.unreachable, "the connection to the gateway at \(base) broke \(terminalStatus())")
        }
    }

    func request(_ method: String, _ path: String) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: base + path)
        request.method = .RAW(value: method)
        request.tlsConfiguration = tls
        request.headers.add(name: "authorization", value: "Bearer \(key)")
        return request
    }

    func reaching<Result>(_ body: () async throws -> Result) async throws(CommandFault) -> Result {
        do { return try await body() } catch { throw await unreachable(error) }
    }

    private func unreachable(_ error: any Error) async -> CommandFault {
        if let fault = error as? CommandFault { return fault }
        var trouble = NetworkTrouble(error)
        if let parts = URL(string: base), let host = parts.host(percentEncoded: false) {
            let address = hosts[host] ?? host
            trouble = await CertificateInspector.explain(trouble, host: address, port: parts.port ?? 443)
        }
        return CommandFault(
            .unreachable, "the gateway at \(base) can't be reached: \(trouble.sentence). \(Self.remedy(trouble))")
    }

    private static func remedy(_ trouble: NetworkTrouble) -> String {
        switch trouble {
        case .certificateUntrusted: "Give the authority's certificate with --ca-file or in CARILLON_CA_FILE"
        case .certificateExpired: "Renew the certificate, and restart the gateway"
        case .certificateNotYetValid: "Check the clocks of both machines"
        case .certificateOfOtherNames: "Use a host name that the certificate lists (--url)"
        case .lacksTLS: "Try http:// (--url)"
        case .closed: "If the gateway has a certificate, use https:// (--url)"
        case .timedOut: "The request may have taken effect; check before you repeat it"
        case .connectionRefused, .nameUnknown, .noWayThere, .noConnection, .noTLS, .proxyRefuses, .errorNumber, .other:
            "Check that the gateway is running, and that this is its address (--url)"
        }
    }
}

private struct FileChunks: AsyncSequence, Sendable {
    let file: FileHandle
    private static let chunkBytes = 65_536

    struct AsyncIterator: AsyncIteratorProtocol {
        let file: FileHandle

        mutating func next() async throws -> ByteBuffer? {
            guard let data = try file.read(upToCount: FileChunks.chunkBytes), !data.isEmpty else { return nil }
            return ByteBuffer(bytes: data)
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(file: file) }
}

extension JSONValue {
    /// A member's value, safe for a terminal; "-" if there is none.
    package func shown(_ name: String) -> String {
        switch object?[name] {
        case .string(let text)?: TerminalText.clean(text)
        // The number as written: one too large for a Double must not show as "inf".
        case .number(let number)?: TerminalText.clean(JSONValue.number(number).sentence)
        case .bool(let claim)?: claim ? "yes" : "no"
        default: "-"
        }
    }

    /// The value of one member as text, for a list of all members.
    package var sentence: String {
        switch self {
        case .null: "-"
        case .bool(let claim): claim ? "yes" : "no"
        case .string(let text): text.isEmpty ? "-" : text
        case .array(let values): values.isEmpty ? "-" : values.map(\.sentence).joined(separator: ", ")
        case .object(let object) where object.members.isEmpty: "-"
        case .number, .object: String(decoding: bytes, as: UTF8.self)
        }
    }

    func strings(_ name: String) -> [String] { elements(name).compactMap(\.string) }

    func elements(_ name: String) -> [JSONValue] { object?[name]?.array ?? [] }

    func members(_ name: String) -> [JSONMember] { object?[name]?.object?.members ?? [] }

    static func list(of texts: some Sequence<some StringProtocol>) -> JSONValue {
        .array(texts.map { .string(String($0)) })
    }

    package func count(_ name: String) -> Int64 { object?[name]?.integer ?? 0 }
}
