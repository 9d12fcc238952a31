import Glibc
import Postgres
import Reactor
import TestSupport
import Testing

/// A port that was free a moment ago.
private func freePort() throws -> UInt16 {
    let listening = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(listening) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = unsafe withUnsafeMutablePointer(to: &address) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
            unsafe bind(listening, pointer, length) == 0 && getsockname(listening, pointer, &length) == 0
        }
    }
    try #require(isBound)
    return UInt16(bigEndian: address.sin_port)
}

/// The error of one query on a pool of its own; nil if it succeeds.
private func outcome(_ url: String) async throws -> PostgresError? {
    let settings = try PostgresSettings(parsing: url)
    var error: PostgresError?
    try await withPool(settings) { pool in
        error = await failure { () async throws(PostgresError) in try await pool.run(query("SELECT 1")) }
    }
    return error
}

/// Both ends of a connection notice within seconds that a cable was cut.
private func expectVigilance(_ url: String) async throws {
    try await withPool(try PostgresSettings(parsing: url)) { pool in
        let reported = try await pool.run(
            query(
                """
                SELECT concat_ws(' ', current_setting('tcp_keepalives_idle'), current_setting('tcp_keepalives_interval'),
                    current_setting('tcp_keepalives_count'), current_setting('tcp_user_timeout'))
                """))
        #expect(try reported.one(String.init) == "10 5 3 25000")
    }
}

@Suite("A PostgreSQL server over TCP")
struct TCPTests {
    @Test("accepts a host name and a password, and rejections carry their reason", .timeLimit(.minutes(5)))
    func names() async throws {
        try await withOwnServer { server, settings, folder in
            let port = try freePort()
            try await withPool(settings) { pool in
                try await pool.script("CREATE ROLE anna LOGIN PASSWORD 'hunter2'")
                try await pool.script("ALTER SYSTEM SET listen_addresses = 'localhost'")
                try await pool.script("ALTER SYSTEM SET port = \(port)")
            }
            await server.stop()
            let rules = unsafe fopen(folder + "/postgres/pg_hba.conf", "a")
            unsafe fputs("host all anna localhost scram-sha-256\n", rules)
            unsafe fclose(rules)
            _ = try await server.start()
            let place = "localhost:\(port)"
            #expect(try await outcome("postgres://anna:hunter2@\(place)/carillon") == nil)
            #expect(try await outcome("postgres://anna:hunter2@no-such-host.invalid,\(place)/carillon") == nil)
            #expect(
                try await outcome("postgres://anna:hunter3@\(place)/carillon")
                    == .unavailable(.rejected(.invalidPassword)))
            #expect(
                try await outcome("postgres://anna:hunter2@\(place)/nothing")
                    == .unavailable(.rejected(.databaseMissing)))
            #expect(
                try await outcome("postgres://bert:hunter2@\(place)/carillon")
                    == .unavailable(.rejected(.invalidAuthorization)))
            try await expectVigilance("postgres://anna:hunter2@\(place)/carillon")
        }
    }
}
