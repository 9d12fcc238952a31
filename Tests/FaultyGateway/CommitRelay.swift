import Foundation
import Model
import NIOCore
import NIOPosix

/// Stands between the gateway's libpq and PostgreSQL, and reports a step when the statements of a transaction are done
/// and its COMMIT has not left. So a fault interrupts the very statements and commits that the product sends.
///
/// It forwards every byte, and reads the frames on their way (PostgreSQL's manual, "Message Formats").
enum CommitRelay {
    private static let socketName = "/.s.PGSQL.5432"

    /// Starts to listen on a socket in a new folder, and returns the folder.
    ///
    /// - Parameters:
    ///   - folder: that of the server's socket.
    ///   - idles: whether the server learns, before a step is reported, that its transaction is idle. A process that
    ///     freezes between two round trips leaves it so, and the server ends such transactions.
    static func start(before folder: String, idles: Bool, _ reached: @escaping @Sendable (Step) -> Void) async throws
        -> String
    {
        let own = FileManager.default.temporaryDirectory.appending(path: "relay-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: own, withIntermediateDirectories: true)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        _ = try await ServerBootstrap(group: group)
            .childChannelOption(.autoRead, value: false)
            .childChannelInitializer { client in
                ClientBootstrap(group: client.eventLoop).connect(unixDomainSocketPath: folder + socketName)
                    .flatMapThrowing { server in
                        let watch = TransactionWatch(client: client, server: server, idles: idles, reached: reached)
                        try client.pipeline.syncOperations.addHandler(
                            FrameHandler(startsUntyped: true, watch.takeFromClient) { server.close(promise: nil) })
                        try server.pipeline.syncOperations.addHandler(
                            FrameHandler(startsUntyped: false, watch.takeFromServer) { client.close(promise: nil) })
                        try client.syncOptions?.setOption(.autoRead, value: true)
                    }
            }
            .bind(unixDomainSocketPath: own.path(percentEncoded: false) + socketName).get()
        return own.path(percentEncoded: false)
    }
}

/// The statements of one connection's transaction so far. It lives on the connection's event loop.
private final class TransactionWatch {
    /// A statement that was executed.
    private struct Execution {
        let statement: String
        /// The rows that it affected or returned.
        var rows = 0
        /// The first column of its first row, if that is an int64.
        var number: Int64?
    }

    private let client: any Channel
    private let server: any Channel
    private let idles: Bool
    private let reached: (Step) -> Void
    /// Answers to our own Syncs, which the client must not see.
    private var syncs = 0
    private var isExplicit = false
    private var bound = ""
    private var executions: [Execution] = []
    private var answered = 0
    /// The frame that commits and what came behind it, until the statements before it are answered.
    private var held: [Frame] = []

    init(client: any Channel, server: any Channel, idles: Bool, reached: @escaping (Step) -> Void) {
        (self.client, self.server, self.idles, self.reached) = (client, server, idles, reached)
    }

    func takeFromClient(_ frame: Frame) {
        if !held.isEmpty { return held.append(frame) }
        if commits(frame), !executions.isEmpty {
            held = [frame]
            // The server keeps its answers until it is asked, and a statement that found no row is no step.
            server.writeAndFlush(Frame.flush, promise: nil)
            return release()
        }
        server.writeAndFlush(frame.bytes, promise: nil)
    }

    /// Whether the frame ends a transaction with a commit.
    private func commits(_ frame: Frame) -> Bool {
        switch frame.type {
        case UInt8(ascii: "P"):
            let (name, sql) = frame.strings
            if sql.hasPrefix("BEGIN") { (isExplicit, executions, answered) = (true, [], 0) }
            if sql == "ROLLBACK" { (isExplicit, executions, answered) = (false, [], 0) }
            return name.isEmpty && sql == "COMMIT"
        case UInt8(ascii: "B"): bound = frame.strings.1
        case UInt8(ascii: "E"): executions.append(Execution(statement: bound))
        case UInt8(ascii: "S"): return !isExplicit
        case UInt8(ascii: "Q"): (isExplicit, executions, answered) = (false, [], 0)
        default: break
        }
        return false
    }

    func takeFromServer(_ frame: Frame) {
        if syncs > 0, frame.type == UInt8(ascii: "Z") {
            syncs -= 1
            return
        }
        client.writeAndFlush(frame.bytes, promise: nil)
        guard answered < executions.count else { return }
        switch frame.type {
        case UInt8(ascii: "D"):
            if executions[answered].number == nil { executions[answered].number = frame.firstNumber }
        case UInt8(ascii: "C"):
            executions[answered].rows = frame.strings.0.split(separator: " ").last.flatMap { Int($0) } ?? 0
            answered += 1
        case UInt8(ascii: "I"), UInt8(ascii: "s"): answered += 1
        case UInt8(ascii: "E"):
            executions = []
            answered = 0
        default: break
        }
        release()
    }

    /// Lets the commit go once all statements are answered.
    private func release() {
        guard !held.isEmpty, answered == executions.count else { return }
        if let step {
            // A Sync would commit a transaction without BEGIN.
            if idles, isExplicit {
                syncs += 1
                server.writeAndFlush(Frame.sync, promise: nil)
            }
            reached(step)
        }
        (isExplicit, executions, answered) = (false, [], 0)
        let frames = held
        held = []
        server.writeAndFlush(frames[0].bytes, promise: nil)
        for frame in frames.dropFirst() { takeFromClient(frame) }
    }

    /// The step that the transaction has reached, if it did what the step is about.
    private var step: Step? {
        let done = executions.filter { $0.rows > 0 }
        func did(_ names: String...) -> Bool { done.contains { names.contains($0.statement) } }
        func didAny(_ prefix: String) -> Bool { done.contains { $0.statement.hasPrefix(prefix) } }
        if did("schedule_fall_due") {
            return done.contains { ($0.number ?? 0) > 0 } ? .scheduleWritten : nil
        }
        if did("stop_claim", "stop_hold", "stop_release", "stop_forget", "message_rates_release") {
            return .stopWritten
        }
        if did("parcel_settle", "parcel_settle_ending") { return .settleWritten }
        if didAny("parcel_claim") { return .leaseWritten }
        if did("plan_cut") { return .sliceWritten }
        if did("node_raise") { return .nodeWritten }
        if didAny("fan_out_progress") { return .fanOutWritten }
        if did("items_write") { return .updateWritten }
        if didAny("item_pushes_cut") { return .pushesWritten }
        if did("removal_begin") { return .removalWritten }
        if did("removal_go_on") { return .portionCommitted }
        // A direct message's transaction reads which providers the app reaches.
        if didAny("message_write") { return did("message_app_providers") ? .cutWritten : .messageWritten }
        return nil
    }
}

/// A message of PostgreSQL's protocol: a type, a length, a body. A client's first one has no type.
private struct Frame {
    let bytes: ByteBuffer
    /// 0: it has none.
    let type: UInt8

    static let flush = ByteBuffer(bytes: [UInt8(ascii: "H"), 0, 0, 0, 4])
    static let sync = ByteBuffer(bytes: [UInt8(ascii: "S"), 0, 0, 0, 4])

    /// The first two strings of the body, each ended by a zero.
    var strings: (String, String) {
        let parts = bytes.readableBytesView.dropFirst(5).split(
            separator: 0, maxSplits: 2, omittingEmptySubsequences: false)
        func text(_ place: Int) -> String { place < parts.count ? String(decoding: parts[place], as: UTF8.self) : "" }
        return (text(0), text(1))
    }

    /// The first column of a DataRow in binary format, if it has eight bytes.
    var firstNumber: Int64? {
        let start = bytes.readerIndex + 7
        guard bytes.getInteger(at: start, as: Int32.self) == 8 else { return nil }
        return bytes.getInteger(at: start + 4, as: Int64.self)
    }
}

/// Cuts what a connection receives into frames.
private final class FrameHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private var received = ByteBuffer()
    private var isUntyped: Bool
    private let take: (Frame) -> Void
    private let ended: () -> Void

    init(startsUntyped: Bool, _ take: @escaping (Frame) -> Void, ended: @escaping () -> Void) {
        (isUntyped, self.take, self.ended) = (startsUntyped, take, ended)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received.writeImmutableBuffer(unwrapInboundIn(data))
        while true {
            let typeBytes = isUntyped ? 0 : 1
            guard let length = received.getInteger(at: received.readerIndex + typeBytes, as: Int32.self),
                let type = isUntyped ? 0 : received.getInteger(at: received.readerIndex, as: UInt8.self),
                let bytes = received.readSlice(length: typeBytes + Int(length))
            else { break }
            isUntyped = false
            take(Frame(bytes: bytes, type: type))
        }
        received.discardReadBytes()
    }

    func channelInactive(context: ChannelHandlerContext) { ended() }
}
