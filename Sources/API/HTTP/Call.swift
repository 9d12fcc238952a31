import HTTPTypes
import Hummingbird
import Requests
import Signing
import Store
import WakeUp

struct Call: Sendable {
    let match: EndpointMatch
    /// The request as it came, for handlers that read the body while they answer.
    let request: Request
    let path: String
    let query: QueryReader
    let idempotencyKey: String?
    let caller: Caller
    /// The user of the caller's token, which is valid, at an endpoint for owners of installations; nil: the caller has an
    /// API key.
    var user: ReadAccess.User?
    /// The reason why the path or the query can't be read; nil: they can be. Only for an endpoint that refuses by
    /// statuses.
    var fault: Problem?
    /// The whole body; empty if the endpoint takes none or reads it line by line.
    var body: [UInt8] = []

    var app: String { parameter(0) }
    /// The path parameter after the app: an installation, a message or a credential.
    var subject: String { parameter(1) }

    var detail: String { parameter(2) }

    /// The segments behind the app, in a path of any length.
    var rest: [String] { Array(match.names.dropFirst()) }

    private func parameter(_ place: Int) -> String {
        precondition(match.names.indices.contains(place), "the endpoint's path template has this parameter")
        return match.names[place]
    }
}

extension Call {
    /// The claim of the request's `Idempotency-Key` on the app and the endpoint; nil if the request has none.
    var idempotencyClaim: IdempotencyClaim? { idempotencyClaim(of: body) }

    /// - Parameter request: the bytes that a repeated request must have.
    func idempotencyClaim(of request: [UInt8]) -> IdempotencyClaim? {
        idempotencyKey.map {
            IdempotencyClaim(operation: match.endpoint.name, key: $0, bodySHA256: Hashes.sha256(request))
        }
    }
}

enum Reply: Sendable {
    case answer(Answer)
    /// The answer begins before it is whole.
    case stream(AnswerStream)
}

protocol Replying: Sendable {
    var reply: Reply { get }
}

/// An answer of 200 that is written piece by piece.
struct AnswerStream: Replying {
    let headers: HTTPFields
    /// Takes the next piece; suspends while the client does not read.
    typealias Write = ([UInt8]) async throws -> Void
    /// Writes all pieces, in order. Returns false if the request was not read to its end: the connection then closes.
    let run: @Sendable (_ write: Write) async throws -> Bool

    var reply: Reply { .stream(self) }
}

struct Answer: Replying {
    let status: HTTPResponse.Status
    let contentType: String
    let body: [UInt8]
    var headers: [Header]

    typealias Header = (name: HTTPField.Name, value: String)

    /// Makes an answer in JSON, unless `contentType` names another format.
    init(
        _ status: HTTPResponse.Status, _ body: [UInt8], headers: [Header] = [], contentType: String = "application/json"
    ) { (self.status, self.body, self.headers, self.contentType) = (status, body, headers, contentType) }

    init(_ problem: Problem) {
        var headers: [Header] = []
        if let seconds = problem.retryAfterSeconds { headers.append((.retryAfter, String(seconds))) }
        if let allow = problem.allow { headers.append((.allow, allow)) }
        if problem.code == .unauthorized { headers.append((.wwwAuthenticate, #"Bearer realm="carillon""#)) }
        self.init(
            HTTPResponse.Status(code: problem.code.status), problem.body, headers: headers,
            contentType: Problem.contentType)
    }

    var reply: Reply { .answer(self) }

    static let done = Answer(.noContent, [])
}
