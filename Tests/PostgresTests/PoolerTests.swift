import Postgres
import Reactor
import TestSupport
import Testing

@Suite("The check for a pooler")
struct PoolerTests {
    @Test("passes where each session has a server process of its own")
    func direct() async throws {
        let loop = try ReactorLoop(name: "pooler-test")
        defer { loop.stop() }
        #expect(try await SharedServer.settings().keepsSessions(on: loop))
    }

    @Test("reports that no server answers")
    func unreachable() async throws {
        let loop = try ReactorLoop(name: "pooler-test")
        defer { loop.stop() }
        let settings = try PostgresSettings(parsing: "host=/nowhere port=5432 dbname=carillon")
        let error = await failure { () async throws(PostgresError) in try await settings.keepsSessions(on: loop) }
        #expect(error == .unavailable(.unreachable))
    }
}
