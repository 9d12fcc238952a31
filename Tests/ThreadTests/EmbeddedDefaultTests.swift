import Foundation
import TestSupport
import Testing

@Suite("A gateway with its own PostgreSQL server")
struct EmbeddedDefaultTests {
    @Test("keeps its data and server after kill -9, whatever PG variables say, until it exits")
    func survivesKill() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "e\(UUID().uuidString.prefix(6))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer {
            RunEvidence.keep(logsBelow: folder.path(percentEncoded: false))
            try? FileManager.default.removeItem(at: folder)
        }
        let data = folder.appending(path: "data")
        var environment = Programs.environment
        environment["CARILLON_DATA_DIR"] = data.path(percentEncoded: false)
        environment["CARILLON_LISTEN"] = "127.0.0.1:0"
        // They are meant for another server.
        let others = [
            "PGHOST": "192.0.2.1", "PGHOSTADDR": "192.0.2.1", "PGPORT": "1", "PGUSER": "nobody", "PGDATABASE": "none",
            "PGOPTIONS": "-c no_such_setting=1", "PGSERVICE": "nowhere", "PGSSLMODE": "verify-full", "PGTZ": "Nowhere",
            "PGDATA": "/nowhere", "PGREQUIREPEER": "nobody", "PGTARGETSESSIONATTRS": "standby",
            "PGCHANNELBINDING": "require", "PGCLIENTENCODING": "LATIN1",
        ]
        environment.merge(others) { _, other in other }

        func start() async throws -> (Child, HTTPCaller) {
            let child = try Programs.gateway(underFaults: false, environment: environment, logs: folder)
            let line = try await child.line(beginningWith: "carillon is ready on ", within: .seconds(120))
            let address = try #require(line.split(separator: " ").last.flatMap { URL(string: String($0)) })
            let key = try String(contentsOf: data.appending(path: "admin-key"), encoding: .utf8)
            return (child, HTTPCaller(base: address, key: String(key.prefix { !$0.isNewline })))
        }
        func serverProcess() throws -> String {
            let file = data.appending(path: "postgres/postmaster.pid")
            return String(try String(contentsOf: file, encoding: .utf8).prefix { !$0.isNewline })
        }

        let (first, before) = try await start()
        _ = try await before.expect(201, "POST", "/v1/apps", #"{"slug": "garden", "name": "Garden"}"#)
        let server = try serverProcess()
        first.kill(SIGKILL)
        #expect(try await first.end() == .killed(signal: SIGKILL))
        #expect(FileManager.default.fileExists(atPath: "/proc/\(server)"), "the server survives the gateway")

        let (second, after) = try await start()
        #expect(try serverProcess() == server, "the running server is adopted, and no other is started")
        RunEvidence.secrets([before.key])
        #expect(after.key == before.key)
        #expect(try await after.expect(200, "GET", "/v1/apps").text.contains("garden"))
        second.kill(SIGTERM)
        #expect(try await second.end() == .exited(0))
        #expect(
            !FileManager.default.fileExists(
                atPath: data.appending(path: "postgres/postmaster.pid").path(percentEncoded: false)))
        for name in ["admin-key", "master-key"] {
            let path = data.appending(path: name).path(percentEncoded: false)
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            #expect(attributes[.posixPermissions] as? Int == 0o600, "only its owner can read \(name)")
        }
    }
}
