import Basis
import Calendar
import HTTPTypes
import Logging
import Model
import NIOCore
import NIOHTTP1
import Registry
import Store
import Synchronization

/// Registers devices without a task for each: most of a gateway's requests, thousands of times a second.
///
/// Only the usual request takes the shortcut: a small `PUT` that came whole, with a cached key and app, and valid in
/// all its parts. Everything else, every refusal included, is left to `GatewayResponder`, which reads it again from its
/// head. So the responder alone decides what a client may send, and which refusal it gets (decision 0038).
package struct RegistrationShortcut: Sendable {
    /// The longest body that takes the shortcut. A registration is a few hundred bytes long.
    private static let usualBodyBytesMax = 16 << 10

    private let bodyBytesMax: Int
    private let registry: RegistryStore
    private let registrations: RegistrationCommitter
    private let authenticator: APIKeyAuthenticator
    private let budget: BodyBudget
    private let clock: @Sendable () -> WallInstant
    private let log: Logger
    private let date = DateText()

    init(_ services: GatewayServices, _ authenticator: APIKeyAuthenticator, _ budget: BodyBudget) {
        bodyBytesMax = min(Self.usualBodyBytesMax, services.limits.bodyBytesMax)
        registry = services.stores.registry
        registrations = services.registrations
        self.authenticator = authenticator
        self.budget = budget
        clock = services.clock
        log = services.log
    }

    /// A request that has been read, and needs only its commit.
    struct Entry {
        fileprivate let registration: DeviceRegistration
        fileprivate let app: AppRecord
        fileprivate let path: String
        fileprivate let view: TokenView
        fileprivate let bodyBytes: Int
    }

    /// The response as it goes over the wire.
    struct Reply: Sendable {
        let head: HTTPResponseHead
        let body: ByteBuffer
    }

    /// Whether the body of this head is worth gathering: the head asks for nothing unusual.
    func mayTake(_ head: HTTPRequestHead) -> Bool {
        guard head.method == .PUT, head.version == .http1_1 else { return false }
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
            case "content-encoding", "expect", "idempotency-key", "transfer-encoding", "upgrade": return false
            default: break
            }
        }
        return keys == 1
    }

    private static let prefix = Array("/v1/apps/".utf8)

    /// Returns nil if the request is for the responder. Otherwise `register` must be called: it gives back the entry's
    /// bytes.
    func enter(_ head: HTTPRequestHead, _ body: ByteBuffer) -> Entry? {
        guard let authorization = head.headers["authorization"].first,
            let target = try? RequestTarget(head.uri), target.query.isEmpty,
            let match = try? EndpointTable.match(.put, target.segments), match.endpoint === Endpoint.registerDevice,
            let caller = authenticator.cachedCaller(authorization: authorization), (try? caller.check(match)) != nil,
            let app = registry.cachedApp(slug: match.names[0]), (try? caller.check(app.id)) != nil,
            let installation = try? DeviceHandlers.installation(match.names[1]),
            let registration = try? RegistrationRequest.read(
                Array(body.readableBytesView), installation: installation, now: clock())
        else { return nil }
        let entry = Entry(
            registration: registration, app: app, path: target.path, view: caller.tokenView,
            bodyBytes: body.readableBytes)
        guard (try? budget.take(entry.bodyBytes, for: entry.app.slug)) != nil else { return nil }
        return entry
    }

    /// - Parameter reply: called once, on the loop, after the commit or when there will be none.
    func register(_ entry: Entry, on loop: any EventLoop, reply: @escaping @Sendable (Reply) -> Void) {
        let (path, view, bytes, app) = (entry.path, entry.view, entry.bodyBytes, entry.app)
        registrations.commit([entry.registration], app: app.id) { [self] results in
            // The answer is made on the loop: here, all of a batch would wait for each other's.
            loop.execute {
                budget.giveBack(bytes, of: app.slug)
                reply(self.reply(answer(results[0], at: path, view)))
            }
        }
    }

    private func answer(_ result: Result<RegisteredDevice, StoreFault>, at path: String, _ view: TokenView) -> Answer {
        do { return DeviceHandlers.answer(try result.get(), at: path, view) } catch {
            let problem = Problem(error, .isIdempotent)
            log.note(problem, on: Endpoint.registerDevice)
            return Answer(problem)
        }
    }

    private func reply(_ answer: Answer) -> Reply {
        var headers = HTTPHeaders()
        headers.reserveCapacity(4 + answer.headers.count)
        headers.add(name: "Content-Type", value: answer.contentType)
        for header in answer.headers { headers.add(name: header.name.rawName, value: header.value) }
        headers.add(name: "Content-Length", value: String(answer.body.count))
        headers.add(name: "Date", value: date.text(at: clock()))
        let status = HTTPResponseStatus(statusCode: answer.status.code)
        return Reply(
            head: HTTPResponseHead(version: .http1_1, status: status, headers: headers),
            body: ByteBuffer(bytes: answer.body))
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
