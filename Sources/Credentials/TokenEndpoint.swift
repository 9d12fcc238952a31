/// Who fetches access tokens: an HTTP client, which the roof brings along.
package protocol TokenEndpoint: Sendable {
    /// Posts a form (`application/x-www-form-urlencoded`) and returns what came back, whatever its status.
    func post(form: [UInt8], to url: String) async throws(TokenEndpointFault) -> TokenEndpointAnswer
}

package struct TokenEndpointAnswer: Sendable {
    package let status: Int
    /// Bounded by who fetched it. May hold a token: never for the log.
    package let body: [UInt8]
    /// The header of that name; empty where there was none.
    package let retryAfter: [UInt8]

    package init(status: Int, body: [UInt8], retryAfter: [UInt8] = []) {
        self.status = status
        self.retryAfter = retryAfter
        self.body = body
    }
}

/// Why nothing came back.
package enum TokenEndpointFault: Error, Equatable, Sendable {
    /// The address is this machine's, or its network's, and no setting allows that.
    case privateTarget
    case malformedURL
    /// Not resolved, not reached, broken, too slow. In the words of the library, which know no secret.
    case unreachable(String)
}
