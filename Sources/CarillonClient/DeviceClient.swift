import Foundation
import Synchronization

/// The calls of an app on a device: registration, badge, and subscriptions to items.
///
/// ```swift
/// let client = DeviceClient(gateway: url, app: "stocks", installation: id) { try await session.userToken() }
/// try await client.register(DeviceRegistration(appleToken: deviceToken, topic: "com.example.stocks"))
/// try await client.deactivateAll(.triggered)
/// let thresholds = try await client.inquire(.active)
/// ```
///
/// An app has one client for each user, and keeps it: its cache gives one instance for each subscription. No call repeats
/// a request that failed. Any thread may call, also while other calls are under way.
///
/// Source: docs/triggers.md, "The app's own calls".
public final class DeviceClient: Sendable {
    private let root: String
    private let device: String
    private let userToken: @Sendable () async throws -> String
    private let transport: any GatewayTransport
    let cache = Mutex(SubscriptionCache())

    /// - Parameters:
    ///   - gateway: the gateway's URL, without a query.
    ///   - app: the app's name at the gateway.
    ///   - installation: the name of this installation of the app: stable, and different on each device.
    ///   - transport: carries the requests.
    ///   - userToken: gives a valid token of the app's user (JWT). It is asked before each request, on any thread.
    public init(
        gateway: URL, app: String, installation: String, transport: any GatewayTransport = URLSessionTransport(),
        userToken: @escaping @Sendable () async throws -> String
    ) {
        let base = gateway.absoluteString
        root = base.hasSuffix("/") ? String(base.dropLast()) : base
        device = "/v1/apps/\(Self.escaped(app))/devices/\(Self.escaped(installation))"
        (self.transport, self.userToken) = (transport, userToken)
    }

    /// Registers the device for the token's user, or its new token.
    ///
    /// An app calls it at each start, with the token that the system gave it. A changed token keeps the subscriptions.
    /// If the gateway denies the change (`permissionDenied`), nothing is changed. Then call `unregister`, `register` again,
    /// and activate the subscriptions anew.
    @discardableResult
    public func register(_ registration: DeviceRegistration) async throws(DeviceClientError) -> TokenStatus {
        let response = try await call("PUT", body: registration.members)
        guard let status = Self.json(response)?.object?["token_status"]?.string else { throw .unexpected(response) }
        return TokenStatus(rawValue: status)
    }

    /// Tells the gateway that the app has set the badge on its icon, usually to none. The next push counts from there.
    public func resetBadge(to number: Int = 0) async throws(DeviceClientError) {
        try await call("PUT", "/badge", body: ["badge": .number(JSON.Number(number))])
    }

    /// Removes the device from the gateway, with all its subscriptions. Succeeds if the gateway doesn't know it.
    public func unregister() async throws(DeviceClientError) {
        do throws(DeviceClientError) { try await call("DELETE") } catch {
            guard error.problem?.code == .unknownDevice else { throw error }
        }
        cache.withLock { $0.endAll() }
    }
}

// The requests.
extension DeviceClient {
    private static let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")

    /// Escapes a segment of a path, or a value of a query.
    static func escaped(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
    }

    static func json(_ response: GatewayResponse) -> JSON? { try? JSON(parsing: response.body) }

    /// Sends a request, and returns the answer if its status is one of success.
    /// - Parameter path: the place below the device, with the query.
    @discardableResult
    func call(
        _ method: String, _ path: String = "", body: JSON.Object? = nil, idempotencyKey: String? = nil
    ) async throws(DeviceClientError) -> GatewayResponse {
        let began = cache.withLock { $0.changes }
        let token: String
        do { token = try await userToken() } catch { throw .noToken(error) }
        var headers = ["Authorization": "Bearer \(token)"]
        if body != nil { headers["Content-Type"] = "application/json" }
        if let idempotencyKey { headers["Idempotency-Key"] = idempotencyKey }
        guard let url = URL(string: root + device + path) else { throw .unreachable(URLError(.badURL)) }
        let request = GatewayRequest(
            method: method, url: url, headers: headers, body: body.map { Array(JSON.object($0).serialized.utf8) })
        let response: GatewayResponse
        do { response = try await transport.send(request) } catch { throw .unreachable(error) }
        guard !(200..<300).contains(response.status) else { return response }
        guard let problem = GatewayProblem(response) else { throw .unexpected(response) }
        if problem.code == .unknownDevice {
            // A subscription that was activated meanwhile made the device known.
            cache.withLock { if $0.changes == began { $0.endAll() } }
        }
        throw .refused(problem)
    }
}

extension DeviceClientError {
    static func unexpected(_ response: GatewayResponse) -> DeviceClientError {
        .unexpectedAnswer(status: response.status)
    }
}
