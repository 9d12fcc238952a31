import CarillonClient
import Foundation
import Synchronization

/// Answers a client's requests from a script, and keeps the requests.
final class ScriptedTransport: GatewayTransport {
    typealias Answer = @Sendable (GatewayRequest) async throws -> GatewayResponse

    struct ScriptEnded: Error {}

    private let script = Mutex<[Answer]>([])
    private let received = Mutex<[GatewayRequest]>([])

    var requests: [GatewayRequest] { received.withLock { $0 } }

    func add(_ answer: @escaping Answer) { script.withLock { $0.append(answer) } }

    func send(_ request: GatewayRequest) async throws -> GatewayResponse {
        received.withLock { $0.append(request) }
        let next = script.withLock { script in script.isEmpty ? nil : script.removeFirst() }
        guard let next else { throw ScriptEnded() }
        return try await next(request)
    }
}

/// Ann's app on her phone, and a gateway that answers from a script.
struct AppOnPhone {
    static let gateway = URL(string: "https://push.example/") ?? URL(filePath: "/")
    static let device = "https://push.example/v1/apps/stocks/devices/my-phone"
    static let token = "token-of-ann"
    static let registration = DeviceRegistration(
        appleToken: [0x0a, 0xff, 0x10], topic: "com.example.stocks", environment: .sandbox)

    let transport: ScriptedTransport
    let client: DeviceClient

    init(installation: String = "my-phone") {
        let transport = ScriptedTransport()
        self.transport = transport
        client = DeviceClient(
            gateway: Self.gateway, app: "stocks", installation: installation, transport: transport
        ) { Self.token }
    }

    func answer(_ status: Int, _ body: JSON? = nil, headers: [String: String] = [:]) {
        let bytes = body.map { Array($0.serialized.utf8) } ?? []
        transport.add { _ in GatewayResponse(status: status, headers: headers, body: bytes) }
    }

    func refuse(_ status: Int, _ code: String) { answer(status, ["code": .string(code), "detail": "No."]) }

    /// The request that the client sent last, as "PATCH /subscriptions/1".
    var lastCall: String? {
        transport.requests.last.map {
            "\($0.method) \($0.url.absoluteString.replacing(Self.device, with: ""))"
        }
    }

    /// The body of the request that the client sent last.
    var lastBody: JSON? { transport.requests.last?.body.flatMap { try? JSON(parsing: $0) } }
}

/// The error that a call ends with; nil if it ends with none of a client.
func fault(of call: () async throws -> Void) async -> DeviceClientError? {
    do {
        try await call()
        return nil
    } catch { return error as? DeviceClientError }
}

/// A subscription as the gateway answers it.
func reported(_ key: String, status: String = "active", _ more: [(name: String, value: JSON)] = []) -> JSON {
    let members: [(name: String, value: JSON)] = [
        ("key", .string(key)), ("status", .string(status)), ("items", ["anduct"]),
        ("fields", ["stock_name", "last_price"]), ("mode", "MERGE"), ("when_paused", "newest"),
        ("created_at", "2026-12-01T12:00:00.000Z"),
    ]
    return .object(JSON.Object(members + more))
}
