import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Carries requests by Foundation's `URLSession`.
///
/// A transport may serve several clients. An app needs one, which lives as long as the app.
public struct URLSessionTransport: GatewayTransport {
    /// The gateway answers within seconds, or asks to try again later.
    private static let timeoutSeconds: Double = 60
    private static let redirectRefusal = RedirectRefusal()

    private let session: URLSession

    /// - Parameter session: an app's own, for example with a delegate that checks certificates; nil: one that keeps no
    ///   cookies and caches nothing.
    public init(session: URLSession? = nil) {
        if let session {
            self.session = session
            return
        }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = Self.timeoutSeconds
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        self.session = URLSession(configuration: configuration)
    }

    public func send(_ request: GatewayRequest) async throws -> GatewayResponse {
        var asked = URLRequest(url: request.url)
        asked.httpMethod = request.method
        for (name, value) in request.headers { asked.setValue(value, forHTTPHeaderField: name) }
        asked.httpBody = request.body.map { Data($0) }
        let (body, response) = try await session.data(for: asked, delegate: Self.redirectRefusal)
        guard let answer = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
        var headers: [String: String] = [:]
        for (name, value) in answer.allHeaderFields {
            if let name = name as? String, let value = value as? String { headers[name] = value }
        }
        return GatewayResponse(status: answer.statusCode, headers: headers, body: [UInt8](body))
    }
}

/// Keeps the user's token from the host that a redirect names.
private final class RedirectRefusal: NSObject, URLSessionTaskDelegate {
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) { completionHandler(nil) }
}
