import HTTPTypes
import Hummingbird
import Listener
import NIOCore
import Requests

/// A request that has no answer yet, and what the gateway has found out about it.
final class PendingRequest {
    let request: Request
    let channel: any Channel
    var endpoint: Endpoint?
    /// Whether the caller has shown no valid API key; nil: not found out yet.
    var isOfStranger: Bool?
    /// Whether the body was read to its end, or its handler reads it.
    var isBodyRead = false
    /// Whether the body was asked for: a client that sent `Expect: 100-continue` waits for that.
    private(set) var isBodyAskedFor = false

    init(request: Request, channel: any Channel) { (self.request, self.channel) = (request, channel) }

    /// The expectations in lower case: their case has no meaning.
    private var expectations: [String] {
        request.headers[values: .expect].flatMap { value in
            value.split(separator: ",").map { Self.withoutBlanksAround($0).lowercased() }
        }
    }

    private static func withoutBlanksAround(_ name: Substring) -> Substring {
        var name = name.drop(while: \.isWhitespace)
        while name.last?.isWhitespace == true { name.removeLast() }
        return name
    }

    var hasExpectations: Bool { request.headers.contains(.expect) }

    func checkExpectations() throws(Problem) {
        guard expectations.allSatisfy({ $0 == RequestStallHandler.bodyAfterAsking }) else {
            throw Problem(.expectationFailed, "The header Expect may only be 100-continue. Leave it out, or send that.")
        }
    }

    /// Refuses to change something under a condition that can't be checked: no route serves an ETag or a date.
    ///
    /// If-Modified-Since says nothing for a change, and is ignored as RFC 9110, section 13.1.3 demands.
    func checkPreconditions() throws(Problem) {
        guard request.method != .get, request.method != .head else { return }
        guard let name = Self.preconditions.first(where: request.headers.contains) else { return }
        throw Problem(
            .preconditionNotSupported,
            "The header \(name.rawName) can't be honoured: the gateway serves no ETag and no Last-Modified. Nothing was "
                + "changed. Leave the header out.")
    }

    static let preconditions: [HTTPField.Name] = [.ifMatch, .ifNoneMatch, .ifUnmodifiedSince]

    func askForBody() {
        isBodyAskedFor = true
        guard hasExpectations else { return }
        channel.pipeline.fireUserInboundEventTriggered(RequestStallHandler.BodyIsWanted())
    }
}
