import Foundation

/// Carries a client's requests to the gateway. `URLSessionTransport` does; an app's tests may answer themselves.
public protocol GatewayTransport: Sendable {
    /// Sends the request, and returns the answer with its whole body. Follows no redirect, because the request has the
    /// user's token.
    ///
    /// Called from any thread, also several times at once. Throws if no answer came.
    func send(_ request: GatewayRequest) async throws -> GatewayResponse
}

/// An HTTP request to the gateway. Its headers have the user's token: its description leaves them out.
public struct GatewayRequest: Equatable, Sendable {
    public let method: String
    public let url: URL
    public let headers: [String: String]
    /// JSON in UTF-8; nil: the request has no body.
    public let body: [UInt8]?

    public init(method: String, url: URL, headers: [String: String], body: [UInt8]?) {
        (self.method, self.url, self.headers, self.body) = (method, url, headers, body)
    }
}

extension GatewayRequest: CustomStringConvertible {
    public var description: String { "\(method) \(url.path)" }
}

/// The gateway's answer to a request.
public struct GatewayResponse: Equatable, Sendable {
    public let status: Int
    private let headers: [String: String]
    public let body: [UInt8]

    public init(status: Int, headers: [String: String] = [:], body: [UInt8] = []) {
        (self.status, self.headers, self.body) = (status, headers, body)
    }

    /// The value of a header, whose name is written in any case; nil if the answer lacks it.
    public func header(_ name: String) -> String? { headers.first { $0.key.lowercased() == name.lowercased() }?.value }
}
