import HTTPTypes
import Model
import Requests

/// One operation of the API. Everything known about it is declared once, in the file of its resource.
///
/// The matcher, the methods of a 405, the scope checks, the reading of bodies and the idempotency keys derive from
/// `all`. A test compares `all` with docs/openapi.yaml.
package final class Endpoint: Sendable {
    /// The `operationId` in docs/openapi.yaml, and the space of the operation's idempotency keys.
    package let name: String
    package let method: HTTPRequest.Method
    /// The path. Names in braces are parameters, in the order in which handlers read them. A last one named `{path}`
    /// stands for one or more segments, of which the last has the suffix behind it, if there is one.
    package let template: String
    package let access: Access
    package let query: [String]
    package let body: Body
    /// The step that is announced once the socket has taken the answer; nil announces none.
    let step: Step?
    /// Whether a load balancer polls the operation. A 503 is then a normal answer, and causes no warning in the log.
    package let isProbe: Bool
    /// Whether it changes nothing.
    let isRead: Bool
    let isOfApp: Bool
    package let refusals: Refusals
    let handler: Handler

    typealias Handler = @Sendable (Resources, Call) async throws -> Reply

    /// - Parameters:
    ///   - isRead: nil for whether the method is GET.
    ///   - handler: throws a `Problem`, or the connection's error.
    init(
        _ name: String, _ method: HTTPRequest.Method, _ template: String, _ access: Access, query: [String] = [],
        body: Body = .none, announcing step: Step? = nil, isProbe: Bool = false, isRead: Bool? = nil,
        refusals: Refusals = .problems, handler: @escaping @Sendable (Resources, Call) async throws -> some Replying
    ) {
        (self.name, self.method, self.template, self.access) = (name, method, template, access)
        (self.query, self.body, self.step, self.isProbe, self.refusals) = (query, body, step, isProbe, refusals)
        self.isRead = isRead ?? (method == .get)
        isOfApp = template.hasPrefix("/v1/apps/{app}") || template.hasPrefix("/base/{app}/")
        self.handler = { try await handler($0, $1).reply }
    }

    package static let all: [Endpoint] =
        operation + apps + devices + badges + messages + feedback + credentials + keys + nodes + wakeUps + access
        + subscriptions + items + itemSubscriptions
}

extension Endpoint {
    package enum Access: Equatable, Sendable {
        /// Anyone, without a key: the answer reveals nothing about anyone.
        case open
        case anyKey
        /// A key with one of these scopes. `refusal` replaces the usual sentence for a key without them.
        case scopes([APIScope], refusal: String? = nil)

        /// A key with this scope, or else a reader whom the app's read rules let in: the user of a token, or anybody.
        case reader(APIScope)

        /// A key with this scope, or else the user of the path's installation, by the user's token. The handler finds
        /// out whether the token is valid and the installation the user's (`OwnDevices`).
        case owner(APIScope)

        static func scope(_ scope: APIScope) -> Access { .scopes([scope]) }
    }

    package enum Refusals: Sendable {
        case problems
        /// An object with a status alone. The handler also learns of a path and a query that can't be read, because it
        /// has other reasons to name first.
        case statuses
    }

    package enum Body: Sendable {
        /// The body is not read and has no meaning.
        case none
        /// JSON, read whole before the handler runs: at most `GatewayLimits.bodyBytesMax`.
        case json
        /// NDJSON of any length, read by the handler while it answers: each line at most `GatewayLimits.lineBytesMax`.
        case lines
    }
}

/// An operation of the contract that this version does not serve. Its error says what to do meanwhile.
///
/// Only for paths at which no method is served: elsewhere a client expects a 405 that lists the path's methods.
package struct PlannedEndpoint: Sendable {
    package let method: HTTPRequest.Method
    package let template: String
    private let advice: String

    init(_ method: HTTPRequest.Method, _ template: String, _ advice: String) {
        (self.method, self.template, self.advice) = (method, template, advice)
    }

    var problem: Problem { Problem(.routeNotSupported, "This version does not support this route. " + advice) }

    package static let all = plannedOperation + plannedCredentials + plannedWebhooks
}
