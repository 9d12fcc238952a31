/// Fetches access tokens. The server provides the HTTP client that implements it.
package protocol TokenEndpoint: Sendable {
    /// Posts a form (`application/x-www-form-urlencoded`) and returns the answer, whatever its status.
    func post(form: [UInt8], to url: String) async throws(TokenEndpointFault) -> TokenEndpointAnswer
}

package struct TokenEndpointAnswer: Sendable {
    package let status: Int
    /// The body, bounded by the client. It may hold a token: never log it.
    package let body: [UInt8]
    /// The value of `retry-after`; empty if there was none.
    package let retryAfter: [UInt8]

    package init(status: Int, body: [UInt8], retryAfter: [UInt8] = []) {
        (self.status, self.retryAfter, self.body) = (status, retryAfter, body)
    }
}

package enum TokenEndpointFault: Error, Equatable, Sendable {
    /// The address is this machine's, or its network's, and no setting allows that.
    case privateTarget
    /// Calls go through a proxy, and the operator did not list the host.
    case unlistedHost
    case malformedURL
    /// Not resolved or reached, broken or too slow. The library's text has no secrets.
    case unreachable(String)
}
