import Basis
import Calendar
import HTTPTypes
import Hummingbird
import Listener
import Model
import NIOCore
import NIOHTTP1
import Postgres
import Requests
import Store
import Synchronization

/// Answers small requests without the HTTP library's tasks and streams, thousands of times a second.
///
/// Only the usual request takes the shortcut: JSON for an app that came whole, with a cached key. Everything else is
/// left to `GatewayResponder`, which reads it again from its head. So the responder alone decides which requests may
/// come in, and with which refusal; from there on both call the same handlers (decision 0038).
///
/// A class, because each request would copy a dozen references otherwise.
package final class RequestShortcut: Sendable {
    /// The longest body that takes the shortcut. A registration is a few hundred bytes long, a message rarely longer.
    private static let usualBodyBytesMax = 16 << 10

    private let bodyBytesMax: Int
    private let services: GatewayServices
    private let resources: Resources
    private let authenticator: APIKeyAuthenticator
    private let budget: ByteBudget
    private let places: ConnectionPlaces
    private let date = DateText()

    init(
        _ services: GatewayServices, _ resources: Resources, _ authenticator: APIKeyAuthenticator, _ budget: ByteBudget,
        _ places: ConnectionPlaces
    ) {
        bodyBytesMax = min(Self.usualBodyBytesMax, services.limits.bodyBytesMax)
        (self.services, self.resources, self.authenticator, self.budget) = (services, resources, authenticator, budget)
        self.places = places
    }

    struct Entry {
        fileprivate let call: Call
        fileprivate let app: AppRecord
        /// A registration is handed to the group commit without a task. nil: it needs the endpoint's handler.
        fileprivate let registration: DeviceRegistration?
    }

    struct Reply: Sendable {
        let head: HTTPResponseHead
        let body: ByteBuffer
        let answered: (@Sendable () -> Void)?
    }

    /// Whether the body of this head is worth gathering: the head asks for nothing unusual.
    func mayTake(_ head: HTTPRequestHead) -> Bool {
        guard head.method == .PUT || head.method == .POST, head.version == .http1_1 else { return false }
        // A URI in visible ASCII is exactly what the parser read. The responder examines any other URI.
        guard head.uri.utf8.starts(with: Self.prefix), RegistrationRequest.isVisibleASCII(head.uri) else {
            return false
        }
        var keys = 0
        for (name, value) in head.headers {
            switch name.lowercased() {
            case "authorization": keys += 1
            case "connection": if value.lowercased() != "keep-alive" { return false }
            case "content-length": if !(1...bodyBytesMax).contains(Int(value) ?? 0) { return false }
            case "content-encoding", "expect", "transfer-encoding", "upgrade": return false
            case "if-match", "if-none-match", "if-unmodified-since": return false
            default: break
            }
        }
        return keys == 1
    }

    private static let prefix = Array("/v1/apps/".utf8)

    /// nil: the request is for the responder. Otherwise call `answer`, which gives back the entry's bytes.
    func enter(_ head: HTTPRequestHead, _ body: ByteBuffer) -> Entry? {
        let method: HTTPRequest.Method = head.method == .PUT ? .put : .post
        guard let authorization = head.headers["authorization"].first,
            let target = try? RequestTarget(head.uri), target.fault == nil, target.query.isEmpty,
            let match = try? EndpointTable.match(method, target.segments), case .json = match.endpoint.body,
            !match.endpoint.isRead, match.endpoint.isOfApp,
            let caller = authenticator.cachedCaller(authorization: authorization),
            (try? caller.check(match)) != nil, let app = services.stores.registry.cachedApp(slug: match.names[0]),
            (try? caller.check(app.id)) != nil, let query = try? QueryReader("", known: [])
        else { return nil }
        let keys = head.headers["idempotency-key"]
        let key = try? IdempotencyKey.read(keys)
        guard (key == nil) == keys.isEmpty else { return nil }
        let bytes = Array(body.readableBytesView)
        var registration: DeviceRegistration?
        if match.endpoint === Endpoint.registerDevice {
            guard key == nil, let installation = try? DeviceHandlers.installation(match.names[1]),
                let read = try? RegistrationRequest.read(
                    bytes, installation: installation, now: services.context.clock())
            else { return nil }
            registration = read
        }
        guard (try? budget.take(bytes.count, for: app.slug)) != nil else { return nil }
        let request = Request(
            head: HTTPRequest(method: method, scheme: nil, authority: nil, path: head.uri),
            body: .init(buffer: ByteBuffer()))
        let call = Call(
            match: match, request: request, path: target.path, query: query, idempotencyKey: key, caller: caller,
            body: bytes)
        return Entry(call: call, app: app, registration: registration)
    }

    func keyWasShown(on channel: any Channel) { places.keyWasShown(on: channel) }

    /// - Parameter reply: called once, on the loop, after the commit or when there will be none.
    func answer(_ entry: Entry, on loop: any EventLoop, reply: @escaping @Sendable (Reply) -> Void) {
        let (call, app) = (entry.call, entry.app)
        let end: @Sendable (Answer) -> Void = { [self] answer in
            budget.giveBack(call.body.count, of: app.slug)
            reply(self.reply(answer, to: call))
        }
        // The tasks that are started here count for the app.
        PoolShare.$current.withValue(.app(app.slug)) {
            guard let registration = entry.registration else {
                Task {
                    let answer = await self.answer(to: call)
                    loop.execute { end(answer) }
                }
                return
            }
            services.registrations.commit([registration], app: app.id) { results in
                // The answer is made on the loop: here, all of a batch would wait for each other's.
                loop.execute { end(self.answer(results[0], to: call)) }
            }
        }
    }

    private func answer(to call: Call) async -> Answer {
        do {
            guard case .answer(let answer) = try await call.match.endpoint.handler(resources, call) else {
                preconditionFailure("an endpoint that takes JSON answers whole")
            }
            return answer
        } catch { return refusal(error as? Problem ?? Problem(.internalError, "The request has failed."), of: call) }
    }

    private func answer(_ result: Result<RegisteredDevice, StoreFault>, to call: Call) -> Answer {
        do { return DeviceHandlers.answer(try result.get(), at: call.path, call.caller.tokenView) } catch {
            return refusal(Problem(error, .isIdempotent), of: call)
        }
    }

    private func refusal(_ problem: Problem, of call: Call) -> Answer {
        services.note(problem, on: call.match.endpoint)
        return Answer(problem)
    }

    private func reply(_ answer: Answer, to call: Call) -> Reply {
        var headers = HTTPHeaders()
        headers.reserveCapacity(4 + answer.headers.count)
        if !answer.body.isEmpty { headers.add(name: "Content-Type", value: answer.contentType) }
        for header in answer.headers { headers.add(name: header.name.rawName, value: header.value) }
        if answer.status != .noContent { headers.add(name: "Content-Length", value: String(answer.body.count)) }
        headers.add(name: "Date", value: date.text(at: services.context.clock()))
        let status = HTTPResponseStatus(statusCode: answer.status.code)
        return Reply(
            head: HTTPResponseHead(version: .http1_1, status: status, headers: headers),
            body: ByteBuffer(bytes: answer.body), answered: announcement(of: call.match.endpoint.step))
    }

    private func announcement(of step: Step?) -> (@Sendable () -> Void)? {
        guard let step, let steps = services.context.steps else { return nil }
        return { steps.reached(step) }
    }
}

/// The current time for the Date header, formatted once a second.
private final class DateText: Sendable {
    private struct Written {
        var second: Int64
        var text: String
    }

    private let written = Mutex<Written?>(nil)

    func text(at now: WallInstant) -> String {
        let second = now.secondsSince1970
        return written.withLock { written in
            if let written, written.second == second { return written.text }
            let text = HTTPDate.format(now)
            written = Written(second: second, text: text)
            return text
        }
    }
}
