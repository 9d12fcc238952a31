import Glibc
import Postgres
import Reactor
import Synchronization
import TestSupport
import Testing

/// A table without a primary key, so that a row that is written twice shows.
private func makeTable(_ pool: PostgresPool) async throws -> String {
    let name = uniqueName("journal")
    try await pool.script("CREATE TABLE \(name) (id int8)")
    return name
}

@Suite("A PostgreSQL server that stops and restarts")
struct OutageTests {
    @Test("counts as unavailable within the caller's deadline, and the same pool recovers afterwards")
    func stopAndStart() async throws {
        try await withOwnServer { server, settings, _ in
            try await withPool(settings) { pool in
                _ = try await pool.run([query("SELECT 1"), query("SELECT 2")])
                await server.stop()
                for _ in 0..<3 {
                    let error = await failure { () async throws(PostgresError) in
                        try await pool.run(query("SELECT 1"), deadline: .milliseconds(200))
                    }
                    #expect(error == .unavailable(.unreachable) && error?.isTransient == true)
                }
                #expect(await pool.census().outage == .unreachable)
                _ = try await server.start()
                #expect(try await pool.run(query("SELECT 3::int4")).one(Int32.init) == 3)
                #expect(await pool.census().outage == nil)
            }
        }
    }

    @Test("shows in the pool's reports of its attempts to connect, and so does its return")
    func attempts() async throws {
        try await withOwnServer { server, settings, _ in
            try await withPool(settings) { pool in
                let attempts = Mutex<[UnavailableReason?]>([])
                await pool.report { reason in attempts.withLock { $0.append(reason) } }
                _ = try await pool.run(query("SELECT 1"))
                #expect(attempts.withLock { $0 } == [nil])
                await server.stop()
                _ = await failure { () async throws(PostgresError) in
                    try await pool.run(query("SELECT 1"), deadline: .milliseconds(200))
                }
                let failed = attempts.withLock { $0.dropFirst() }
                #expect(!failed.isEmpty && failed.allSatisfy { $0 == .unreachable })
                _ = try await server.start()
                _ = try await pool.run(query("SELECT 1"))
                #expect(attempts.withLock { $0.last } == .some(nil))
            }
        }
    }

    @Test("answers callers that wait through the restart, without an error")
    func timeout() async throws {
        try await withOwnServer { server, settings, _ in
            try await withPool(settings) { pool in
                _ = try await pool.run(query("SELECT 1"))
                await server.stop()
                let waiting = Task { try await pool.run(query("SELECT 4::int4")).one(Int32.init) }
                try await eventually("the query to wait") { await pool.census().waiting == 1 }
                _ = try await server.start()
                #expect(try await waiting.value == 4)
            }
        }
    }

    @Test("keeps each acknowledged write exactly once, and no rejected write, when killed under load")
    func killedUnderLoad() async throws {
        try await withOwnServer { server, settings, _ in
            try await withPool(settings) { pool in
                let journal = try await makeTable(pool)
                let writers = (0..<6).map { writer in
                    Task { await write(pool, journal, firstID: Int64(writer) * 1_000_000) }
                }
                for _ in 0..<3 {
                    let before = try? await pool.count(journal)
                    try await eventually("the journal to grow") {
                        (try? await pool.count(journal)) ?? 0 > (before ?? 0) + 50
                    }
                    try await killPostmaster(server)
                    _ = try await server.start()
                }
                for writer in writers { writer.cancel() }
                var answers = WriteAnswers()
                for writer in writers { answers.add(await writer.value) }
                let rows = try await pool.read(query("SELECT id FROM \(journal) ORDER BY id")).map(Int64.init)
                let stored = Set(rows)
                #expect(stored.count == rows.count)
                #expect(answers.committed.isSubset(of: stored))
                #expect(stored.isSubset(of: answers.committed.union(answers.unknown)))
                #expect(answers.denied.isDisjoint(with: stored))
                #expect(!answers.committed.isEmpty)
            }
        }
    }

    private struct WriteAnswers: Sendable {
        var committed: Set<Int64> = []
        var unknown: Set<Int64> = []
        var denied: Set<Int64> = []

        mutating func add(_ other: WriteAnswers) {
            committed.formUnion(other.committed)
            unknown.formUnion(other.unknown)
            denied.formUnion(other.denied)
        }
    }

    /// Writes rising ids, each once, until it is cancelled.
    private func write(_ pool: PostgresPool, _ journal: String, firstID: Int64) async -> WriteAnswers {
        var answers = WriteAnswers()
        let insert = Statement("insert_journal", "INSERT INTO \(journal) VALUES (:id)")
        var id = firstID
        while !Task.isCancelled {
            id += 1
            let error = await failure { () async throws(PostgresError) in
                if id % 2 == 0 { return try await pool.run(Query(insert) { $0.int64("id", id) }).affectedRows }
                return try await pool.run([Query(insert) { $0.int64("id", id) }], transaction: TransactionOptions())
                    .count
            }
            switch error {
            case nil: answers.committed.insert(id)
            case .commitUnknown: answers.unknown.insert(id)
            default: answers.denied.insert(id)
            }
        }
        return answers
    }
}

@Suite("A PostgreSQL connection that breaks")
struct BrokenConnectionTests {
    @Test("reports an unknown commit if COMMIT was sent, and a lost connection otherwise", arguments: 0..<4)
    func killedInBetween(which: Int) async throws {
        try await withOwnServer { server, settings, _ in
            try await withPool(settings) { pool in
                try await withPool(settings) { observer in
                    let slow = query("SELECT pg_sleep(600)")
                    let conversation = Task { () async -> PostgresError? in
                        await failure { () async throws(PostgresError) in
                            switch which {
                            case 0: _ = try await pool.run(slow)
                            case 1: _ = try await pool.run([slow], transaction: TransactionOptions())
                            case 2: _ = try await pool.read(slow)
                            default:
                                try await pool.transaction { transaction async throws(PostgresError) in
                                    _ = try await transaction.run(slow)
                                }
                            }
                        }
                    }
                    try await eventually("the query to sleep") {
                        try await observer.read(
                            query("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'")
                        ).one(Int64.init) == 1
                    }
                    try await killPostmaster(server)
                    let error = await conversation.value
                    #expect(error == (which < 2 ? .commitUnknown : .connectionLost))
                }
            }
        }
    }

    @Test("gets replaced unnoticed if an operator ends its idle session")
    func terminated() async throws {
        try await withPool { pool in
            let victim = try await pool.read(query("SELECT pg_backend_pid()")).one(Int32.init)
            try await withPool { other in
                _ = try await other.run(query("SELECT pg_terminate_backend(\(victim), 10000)"))
            }
            // The connection was idle: nothing is lost, and no caller notices.
            let replaced = try await pool.run(query("SELECT pg_backend_pid()")).one(Int32.init)
            #expect(replaced != victim)
        }
    }

    @Test("fails its open transaction with a lost connection, and never with an unknown commit")
    func terminatedInside() async throws {
        try await withPool { pool in
            let error = await failure { () async throws(PostgresError) in
                try await pool.transaction { transaction async throws(PostgresError) in
                    let victim = try await transaction.run(query("SELECT pg_backend_pid()")).one(Int32.init)
                    _ = try await pool.run(query("SELECT pg_terminate_backend(\(victim), 10000)"))
                    _ = try await transaction.run(query("SELECT 1"))
                }
            }
            #expect(error == .connectionLost)
            _ = try await pool.run(query("SELECT 1"))
        }
    }

    @Test(
        "fails at the deadline if the server is silent; a commit under way is then unknown", arguments: [true, false])
    func silent(writes: Bool) async throws {
        try await withOwnServer { _, settings, _ in
            try await withPool(settings) { pool in
                let backend = try await pool.read(query("SELECT pg_backend_pid()")).one(Int32.init)
                kill(backend, SIGSTOP)
                defer { kill(backend, SIGCONT) }
                let error = await failure { () async throws(PostgresError) in
                    if writes {
                        _ = try await pool.run(query("SELECT 1"), deadline: .milliseconds(50))
                    } else {
                        _ = try await pool.read(query("SELECT 1"), deadline: .milliseconds(50))
                    }
                }
                #expect(error == (writes ? .commitUnknown : .deadlinePassed))
                #expect(try await pool.run(query("SELECT 5::int4")).one(Int32.init) == 5)
            }
        }
    }
}

@Suite("A peer that is not a PostgreSQL server")
struct StrangePeerTests {
    @Test(
        "counts as unavailable within the connect timeout",
        arguments: [
            nil, "", "HTTP/1.1 400 Bad Request\r\n\r\n", "S", "N", "R\u{0}\u{0}\u{0}\u{8}\u{0}\u{0}\u{0}\u{0}nonsense",
            "E\u{0}\u{0}\u{0}\u{9}", "\u{0}\u{0}\u{0}\u{0}", "Z\u{0}\u{0}\u{0}\u{5}I",
        ] as [String?])
    func garbage(text: String?) async throws {
        let peer = try StrangePeer(text.map { Array($0.utf8) })
        defer { peer.stop() }
        var settings = try PostgresSettings(parsing: "postgres://somebody:hunter2@localhost:\(peer.port)/nothing")
        settings.connectTimeout = .milliseconds(300)
        var pool = PoolSettings()
        pool.waitMax = .seconds(2)
        try await withPool(settings, pool: pool) { pool in
            let error = await failure { () async throws(PostgresError) in try await pool.run(query("SELECT 1")) }
            #expect(error == .unavailable(.unreachable))
        }
    }

    @Test("counts as unreachable if its port is closed, and as unknown if its name is")
    func closedPort() async throws {
        let peer = try StrangePeer(nil)
        let port = peer.port
        peer.stop()
        for (host, reason) in [("127.0.0.1", UnavailableReason.unreachable), ("no-such-host.invalid", .nameUnknown)] {
            let settings = try PostgresSettings(parsing: "postgres://somebody@\(host):\(port)/nothing")
            try await withPool(settings) { pool in
                try await eventually("the error to give its reason") {
                    let error = await failure { () async throws(PostgresError) in
                        try await pool.run(query("SELECT 1"), deadline: .milliseconds(100))
                    }
                    return error == .unavailable(reason)
                }
            }
        }
    }
}

/// Listens, sends its text to every client (nil: none), and then neither sends nor closes.
private final class StrangePeer: Sendable {
    let port: UInt16
    private let listening: Int32

    init(_ text: [UInt8]?) throws {
        let listening = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe bind(listening, pointer, length) == 0 && listen(listening, 16) == 0
                    && getsockname(listening, pointer, &length) == 0
            }
        }
        try #require(isBound)
        port = UInt16(bigEndian: address.sin_port)
        self.listening = listening
        Thread.detach { StrangePeer.serve(listening, text) }
    }

    func stop() {
        shutdown(listening, Int32(SHUT_RDWR))
        close(listening)
    }

    private static func serve(_ listening: Int32, _ text: [UInt8]?) {
        var taken: [Int32] = []
        while true {
            let connection = accept(listening, nil, nil)
            if connection < 0 { break }
            taken.append(connection)
            if let text { _ = unsafe send(connection, text, text.count, Int32(MSG_NOSIGNAL)) }
        }
        for connection in taken { close(connection) }
    }
}

private enum Thread {
    /// A system thread, because Swift's task pool must not block.
    static func detach(_ work: @escaping @Sendable () -> Void) {
        final class Box {
            let work: @Sendable () -> Void; init(_ work: @escaping @Sendable () -> Void) { self.work = work }
        }
        var thread = pthread_t()
        let box = unsafe Unmanaged.passRetained(Box(work)).toOpaque()
        _ = unsafe pthread_create(
            &thread, nil,
            { box in
                guard let box = unsafe box else { return nil }
                unsafe Unmanaged<Box>.fromOpaque(box).takeRetainedValue().work()
                return nil
            }, box)
        pthread_detach(thread)
    }
}
