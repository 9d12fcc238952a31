import API
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Registry
import Store
import Synchronization
import TestSupport
import Testing

/// An event on the connection.
enum ShortcutEvent: Equatable, Sendable {
    /// An answer was written to the socket.
    case answered(status: UInt, headers: [String: String], body: String)
    /// The handlers behind the shortcut received this part.
    case passedOn(HTTPServerRequestPart)
    case sawQuiesce
    case sawInputEnd
    case sawError
    /// The input of the connection was closed.
    case endsInput

    var status: UInt? {
        if case .answered(let status, _, _) = self { status } else { nil }
    }

    /// The name of the event, without its contents.
    var text: String {
        switch self {
        case .answered(let status, _, _): "\(status)"
        case .passedOn(.head(let head)): "\(head.method)"
        case .passedOn(.body): "body"
        case .passedOn(.end): "end"
        case .sawQuiesce: "quiesce"
        case .sawInputEnd: "input ended"
        case .sawError: "error"
        case .endsInput: "ends input"
        }
    }
}

/// A connection with the shortcut. Handlers that keep a journal stand in for the socket and the library.
struct ShortcutFixture: Sendable {
    let channel = NIOAsyncTestingChannel()
    let journal = Journal()

    final class Journal: Sendable {
        private let events = Mutex<[ShortcutEvent]>([])
        func note(_ event: ShortcutEvent) { events.withLock { $0.append(event) } }
        var all: [ShortcutEvent] { events.withLock { $0 } }
        var text: [String] { all.map(\.text) }
    }

    init(_ services: GatewayServices, _ authenticator: APIKeyAuthenticator? = nil) async throws {
        let shortcut = GatewayResponder(services, authenticator: authenticator).shortcut
        let (channel, journal) = (channel, journal)
        try await channel.testingEventLoop.executeInContext {
            try channel.pipeline.syncOperations.addHandlers([
                SocketSide(journal), RequestShortcutHandler(shortcut), LibrarySide(journal),
            ])
        }
        try await channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1)).get()
    }

    /// Delivers all parts in one read, as one packet would; then `then` runs in the same tick.
    func come(
        _ parts: [HTTPServerRequestPart], then: @escaping @Sendable (_ pipeline: ChannelPipeline) -> Void = { _ in }
    ) async throws {
        let channel = channel
        try await channel.testingEventLoop.executeInContext {
            for part in parts { channel.pipeline.fireChannelRead(part) }
            channel.pipeline.fireChannelReadComplete()
            then(channel.pipeline)
        }
    }

    /// Answers as the handlers behind the shortcut do.
    func answer() async throws {
        let channel = channel
        try await channel.testingEventLoop.executeInContext {
            channel.pipeline.write(
                HTTPServerResponsePart.head(HTTPResponseHead(version: .http1_1, status: .ok)), promise: nil)
            channel.pipeline.writeAndFlush(HTTPServerResponsePart.end(nil), promise: nil)
        }
    }

    /// Waits until the journal has so many answers, and returns it.
    func events(withAnswers count: Int) async throws -> [ShortcutEvent] {
        try await eventually("\(count) answers") { journal.all.compactMap(\.status).count >= count }
        return journal.all
    }

    func close() async { _ = try? await channel.finish(acceptAlreadyClosed: true) }

    static func post(
        _ path: String, _ body: String, headers: [(String, String)] = []
    ) -> [HTTPServerRequestPart] {
        put(path, body, headers: headers, method: .POST)
    }

    static func put(
        _ path: String, _ body: String, key: String = GatewayWorld.key, headers: [(String, String)] = [],
        method: HTTPMethod = .PUT
    ) -> [HTTPServerRequestPart] {
        var fields = HTTPHeaders([
            ("Host", "gateway"), ("Authorization", "Bearer \(key)"), ("Content-Length", "\(body.utf8.count)"),
        ])
        for (name, value) in headers { fields.replaceOrAdd(name: name, value: value) }
        let head = HTTPRequestHead(version: .http1_1, method: method, uri: path, headers: fields)
        return [.head(head), .body(ByteBuffer(string: body)), .end(nil)]
    }

    static func get(_ path: String) -> [HTTPServerRequestPart] {
        let fields = HTTPHeaders([("Host", "gateway")])
        return [.head(HTTPRequestHead(version: .http1_1, method: .GET, uri: path, headers: fields)), .end(nil)]
    }
}

/// Stands between the socket and the shortcut.
private final class SocketSide: ChannelOutboundHandler {
    typealias OutboundIn = HTTPServerResponsePart
    private let journal: ShortcutFixture.Journal
    private var head: HTTPResponseHead?
    private var body = ""

    init(_ journal: ShortcutFixture.Journal) { self.journal = journal }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(let head): self.head = head
        case .body(.byteBuffer(let bytes)): body += String(buffer: bytes)
        case .body: Issue.record("the shortcut sends no files")
        case .end:
            guard let head else {
                Issue.record("an answer ended without a head")
                return
            }
            let fields = Dictionary(head.headers.map { ($0.name.lowercased(), $0.value) }) { "\($0), \($1)" }
            journal.note(.answered(status: head.status.code, headers: fields, body: body))
            (self.head, body) = (nil, "")
        }
        promise?.succeed()
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        if mode == .input { return journal.note(.endsInput) }
        context.close(mode: mode, promise: promise)
    }
}

/// Stands in for the library's handlers, which answer what is passed on to them.
private final class LibrarySide: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart
    private let journal: ShortcutFixture.Journal

    init(_ journal: ShortcutFixture.Journal) { self.journal = journal }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { journal.note(.passedOn(unwrapInboundIn(data))) }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case is ChannelShouldQuiesceEvent: journal.note(.sawQuiesce)
        case ChannelEvent.inputClosed: journal.note(.sawInputEnd)
        default: Issue.record("unknown event")
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { journal.note(.sawError) }
}

extension ShortcutFixture {
    /// Makes a connection to this gateway's API, with the app in the cache for the whole test.
    static func within(
        _ world: GatewayWorld, committer: RegistrationCommitter? = nil, authenticator: APIKeyAuthenticator? = nil,
        _ body: (ShortcutFixture) async throws -> Void
    ) async throws {
        let stores = Stores(pool: world.pool, world.stores.context, appsFreshFor: .seconds(86_400))
        _ = try await stores.registry.app(slug: "tower")
        let services = world.services.with(
            stores, committer ?? RegistrationCommitter(registry: stores.registry))
        let fixture = try await ShortcutFixture(services, authenticator)
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await body(fixture)) } catch { outcome = .failure(error) }
        await fixture.close()
        try outcome.get()
    }
}

extension GatewayServices {
    fileprivate func with(_ stores: Stores, _ registrations: RegistrationCommitter) -> GatewayServices {
        GatewayServices(
            stores: stores, wakeUpStores: wakeUpStores, triggerStores: triggerStores, registrations: registrations,
            intake: intake, credentials: credentials, nodeWriter: nodeWriter, updateWriter: updateWriter,
            readAccess: readAccess, adminKeySHA256: adminKeySHA256, readiness: readiness, entropy: entropy,
            limits: limits)
    }
}
