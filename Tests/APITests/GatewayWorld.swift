import API
import Basis
import Credentials
import Delivery
import Encodings
import JSON
import Listener
import Logging
import Model
import Postgres
import Reactor
import Registry
import Requests
import Signing
import Store
import Synchronization
import TLS
import TestSupport
import Testing
import TriggerStore
import Triggers
import WakeUp
import WakeUpStore

/// The API of a gateway on a port of its own and over a database of its own, and a client.
struct GatewayWorld: Sendable {
    static let key = "kQ7sL1mB9rT4vX2zC6nH8pW3yD5fG0jA"

    let port: Int
    let pool: PostgresPool
    let stores: Stores
    let service: CredentialService
    let steps: StepRecorder
    let readiness: Changing<API.Readiness>
    let services: GatewayServices

    /// Sends one request on a connection of its own. The contract has to allow the answer.
    @discardableResult
    func call(
        _ method: String, _ path: String, _ body: String? = nil, key: String? = GatewayWorld.key,
        headers: [String] = [], sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> WireReply {
        let wire = try Wire(port: port)
        try await wire.send(Self.request(method, path, body, key: key, headers: headers))
        let reply = try await wire.reply(hasBody: method != "HEAD")
        if path.hasSuffix("/keys"), let answer = try? JSONReader.read(reply.body),
            let made = answer.object?["key"]?.string
        {
            RunEvidence.secrets([made])
        }
        Contract.current.check(method, path, reply, sourceLocation)
        return reply
    }

    static func request(
        _ method: String, _ path: String, _ body: String? = nil, key: String? = GatewayWorld.key,
        headers: [String] = []
    ) -> String {
        var lines = ["\(method) \(path) HTTP/1.1", "Host: gateway"] + headers
        if let key { lines.append("Authorization: Bearer \(key)") }
        if let body { lines.append("Content-Length: \(body.utf8.count)") }
        return lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? "")
    }

    /// Sends a request that must get this status.
    @discardableResult
    func expect(
        _ status: Int, _ method: String, _ path: String, _ body: String? = nil, headers: [String] = [],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> WireReply {
        let reply = try await call(method, path, body, headers: headers, sourceLocation: sourceLocation)
        try #require(reply.status == status, "\(reply.text)", sourceLocation: sourceLocation)
        return reply
    }

    /// Sends a request that must get this problem, and checks the shape of the problem.
    @discardableResult
    func refuse(
        _ code: ProblemCode, _ method: String, _ path: String, _ body: String? = nil, headers: [String] = [],
        pointer: String? = nil, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> WireReply {
        let reply = try await call(method, path, body, headers: headers, sourceLocation: sourceLocation)
        #expect(reply.status == code.status, "\(reply.text)", sourceLocation: sourceLocation)
        #expect(reply.header("content-type") == "application/problem+json", sourceLocation: sourceLocation)
        let problem = try reply.json()
        #expect(problem["code"]?.string == code.rawValue, sourceLocation: sourceLocation)
        #expect(problem["status"]?.integer == Int64(code.status), sourceLocation: sourceLocation)
        #expect(problem["type"]?.string == "/errors#\(code.rawValue)", sourceLocation: sourceLocation)
        #expect(problem["pointer"]?.string == pointer, sourceLocation: sourceLocation)
        return reply
    }

    @discardableResult
    func makeApp(_ slug: String = "tower") async throws -> String {
        try await expect(201, "POST", "/v1/apps", #"{"slug": "\#(slug)", "name": "The \#(slug)"}"#)
        return "/v1/apps/\(slug)"
    }

    static func token(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "ab", count: 26) + String(repeating: "0", count: 12 - digits.count) + digits
    }

    static func registration(_ number: Int, _ members: String = "") -> String {
        #"{"provider": "apns", "token": "\#(token(number))", "topic": "com.example.app"\#(members)}"#
    }
}

/// A value that a test changes while the gateway runs.
final class Changing<Value: Sendable>: Sendable {
    private let held: Mutex<Value>
    init(_ value: Value) { held = Mutex(value) }
    var value: Value {
        get { held.withLock { $0 } }
        set { held.withLock { $0 = newValue } }
    }
}

/// These tests send no pushes, so no access token is needed.
struct NoTokenEndpoint: TokenEndpoint {
    func post(form: [UInt8], to url: String) async throws(TokenEndpointFault) -> TokenEndpointAnswer {
        throw .unreachable("there is none")
    }
}

final class StepRecorder: StepListener {
    private let steps = Mutex<[Step]>([])
    func reached(_ step: Step) { steps.withLock { $0.append(step) } }
    var all: [Step] { steps.withLock { $0 } }
    /// Waits until exactly these steps were reached.
    func reach(_ wanted: [Step]) async throws { try await eventually("the steps \(wanted)") { all == wanted } }
}

extension GatewayLimits {
    /// The limits of the tests: a body has at most a megabyte, and refusals of strangers are not paced.
    init() {
        self.init(bodyBytesMax: 1 << 20)
        strangersRefusedPerSecond = 1_000_000
    }
}

/// A world of its own for one test.
///
/// - Parameters:
///   - authority: issues the certificate of a gateway that speaks TLS; nil means plain HTTP.
///   - log: the gateway's log; nil means that only its critical lines are written.
func withGateway(
    limits: GatewayLimits = GatewayLimits(), backlog: (messages: Int, broadcasts: Int) = (1_000, 1_000),
    database: PostgresSettings? = nil, authority: CertificateAuthority? = nil,
    pool bounds: PoolSettings = .patient, log: Logger? = nil, _ body: (GatewayWorld) async throws -> Void
) async throws {
    let settings: PostgresSettings
    if let database { settings = database } else { settings = try await GatewayDatabase.make() }
    let loop = try ReactorLoop(name: "gateway-test")
    let pool = PostgresPool(settings, pool: bounds, loop: loop)
    let outcome: Result<Void, any Error>
    do { outcome = .success(try await serve(pool, limits, backlog, authority, log, body)) } catch {
        outcome = .failure(error)
    }
    await pool.close()
    loop.stop()
    try outcome.get()
    #expect(GatewayDatabase.leakedSecrets() == [], "PostgreSQL's log contains no secrets")
}

extension DirectMessages {
    /// Cuts direct messages, and leaves their parcels ready: no lane is there to send them.
    fileprivate static func unsent(in store: MessageStore) -> DirectMessages {
        let owner = ProcessID(UniversalID(high: 1, low: 1))
        return DirectMessages { messages in
            let order = CutOrder(owner: owner, leaseFor: .seconds(30), parcelMembersMax: 5_000)
            return await store.cut(messages.map(\.cut), order) { _ in [] }.replies
        }
    }
}

private func serve(
    _ pool: PostgresPool, _ limits: GatewayLimits, _ backlog: (messages: Int, broadcasts: Int),
    _ authority: CertificateAuthority?, _ given: Logger?, _ body: (GatewayWorld) async throws -> Void
) async throws {
    let steps = StepRecorder()
    let readiness = Changing(API.Readiness.ready)
    var log = given ?? Logger(label: "gateway-test")
    if given == nil { log.logLevel = .critical }
    let stores = Stores(pool: pool, ServiceContext(log: log, steps: steps))
    let (wakeUpStores, triggerStores) = (WakeUpStores(beside: stores), TriggerStores(beside: stores))
    let vault = try Vault(masterKey: Array(repeating: 7, count: Vault.keyBytes))
    let service = CredentialService(
        store: stores.credentials, vault: vault,
        tokenEndpoint: NoTokenEndpoint(), targets: .outside)
    let bounds = BacklogBounds(messages: backlog.messages, broadcasts: backlog.broadcasts)
    let services = GatewayServices(
        stores: stores, wakeUpStores: wakeUpStores, triggerStores: triggerStores,
        registrations: RegistrationCommitter(registry: stores.registry),
        intake: MessageIntake(
            store: stores.messages, backlog: bounds, direct: .unsent(in: stores.messages), steps: nil
        ) {},
        credentials: service, nodeWriter: NodeWriter(store: wakeUpStores.nodes, steps: nil, raised: {}),
        updateWriter: UpdateWriter(store: triggerStores.updates, steps: nil, raised: {}),
        readAccess: ReadAccess(store: wakeUpStores.access, vault: vault, clock: { Clocks.wallNow() }),
        adminKeySHA256: TestHash.sha256(GatewayWorld.key),
        readiness: { readiness.value }, entropy: { Entropy.bytes($0) }, limits: limits)
    let identity = try authority.map { authority in
        let pem = try authority.issue(
            CertificateSubject(commonName: "localhost"), names: ["127.0.0.1"],
            validity: .days(2, from: Clocks.wallNow())
        ).pem()
        return ServedIdentity(try ListenerIdentity(certificates: pem, key: pem))
    }
    let (ports, ready) = AsyncStream.makeStream(of: Int.self)
    let serving = Task {
        defer { ready.finish() }
        try await GatewayServer(host: "127.0.0.1", port: 0, identity: identity, services: services).run {
            ready.yield($0)
        }
    }
    let outcome: Result<Void, any Error>
    do {
        var iterator = ports.makeAsyncIterator()
        let port = try #require(await iterator.next(), "the gateway started to listen")
        try await body(
            GatewayWorld(
                port: port, pool: pool, stores: stores, service: service, steps: steps, readiness: readiness,
                services: services))
        outcome = .success(())
    } catch {
        outcome = .failure(error)
    }
    serving.cancel()
    _ = try? await serving.value
    try outcome.get()
}

/// The private server of this test process. Each test gets a copy of its migrated database.
enum GatewayDatabase {
    private static let starting = Task {
        RunEvidence.secrets([GatewayWorld.key, String(GatewayWorld.token(0).prefix(40))])
        let server = try await TemplateServer.start { _ = try await Migrator(pool: $0).migrate() }
        log.withLock { $0 = ServersLog(path: server.folder + "/postgres.log") }
        return server
    }

    private static let log = Mutex<ServersLog?>(nil)

    /// Lines that the server logged since the last call and that contain a secret of these tests.
    static func leakedSecrets() -> [String] { log.withLock { $0 }?.secrets() ?? [] }

    static func make() async throws -> PostgresSettings { try await starting.value.makeDatabase() }

    /// The settings of a database that does not exist.
    static func missing() async throws -> PostgresSettings {
        try await starting.value.settings.withDatabase("gateway_missing")
    }
}
