import HTTPTypes
import JSON

/// One request, read and authenticated, as the handlers see it.
struct Call: Sendable {
    let match: RouteMatch
    /// As it was sent.
    let path: String
    let query: QueryReader
    let body: [UInt8]
    let idempotencyKey: String?
    let caller: Caller

    /// The slug in the path.
    var app: String { parameter(0) }
    /// What stands behind the app: an installation, a message, a credential.
    var subject: String { parameter(1) }

    /// What stands behind the subject: the installation that a message's push was for.
    var detail: String { parameter(2) }

    private func parameter(_ place: Int) -> String {
        precondition(match.names.indices.contains(place), "the route's template names it")
        return match.names[place]
    }
}

/// What a handler answers.
struct Answer: Sendable {
    let status: HTTPResponse.Status
    let contentType: String
    let body: [UInt8]
    var headers: [(name: HTTPField.Name, value: String)]

    /// JSON.
    init(
        _ status: HTTPResponse.Status, _ body: [UInt8], headers: [(name: HTTPField.Name, value: String)] = [],
        contentType: String = "application/json"
    ) {
        self.status = status
        self.body = body
        self.headers = headers
        self.contentType = contentType
    }

    init(_ problem: Problem) {
        var headers: [(name: HTTPField.Name, value: String)] = []
        if let seconds = problem.retryAfterSeconds { headers.append((.retryAfter, String(seconds))) }
        if let allow = problem.allow { headers.append((.allow, allow)) }
        if problem.code == .unauthorized { headers.append((.wwwAuthenticate, #"Bearer realm="carillon""#)) }
        self.init(
            HTTPResponse.Status(code: problem.code.status), problem.body, headers: headers,
            contentType: Self.problemType)
    }

    static let problemType = "application/problem+json"

    /// Nothing to say but that it is done.
    static let done = Answer(.noContent, [])
}
