import Foundation
import Glibc
import Simulator
import TestSupport
import Testing

extension Journeys {
    @Suite("A PostgreSQL server that dies in the middle of a broadcast")
    struct DatabaseOutageTests {
        private static let live = [Device](.live, 19_600)
        private static let dead = [Device](.gone, 400)

        @Test("makes requests fail with 503 until it restarts; the broadcast then continues")
        func outage() async throws {
            try await DatabaseServer.within { server in
                try await World.within(server: server, production: .init(streamLimit: 50)) { world in
                    let gateway = try await world.gateway()
                    try await world.fill(.garden, Self.live + Self.dead, through: gateway)
                    await world.production.simulator.follow(SimulatorScript(answerDelay: .milliseconds(100)))
                    let message = try await gateway.broadcast(.garden)
                    try await world.production.accepted(atLeast: 2_000)
                    try await server.kill()

                    try await eventually("the gateway to report that it is not ready") {
                        try await gateway.api.call("GET", "/readyz").status == 503
                    }
                    try await Self.expectSorry(gateway, "PUT", "/v1/apps/garden/devices/new", Self.live[0])
                    try await Self.expectSorry(gateway, "GET", "/v1/apps/garden/messages/\(message)")
                    try await gateway.api.expect(200, "GET", "/healthz")
                    try await server.startAgain()
                    try await eventually("the gateway to be ready again") { try await gateway.isReady() }

                    let account = try await gateway.finished(message, of: .garden)
                    try await Self.expectAll(account, world)
                    try await gateway.stopGently()
                    Self.expectOneOutage(in: gateway.program.logged)
                }
            }
        }

        /// The outage is one line when it begins and one when it ends. Of what failed meanwhile no line is repeated.
        private static func expectOneOutage(in log: String) {
            let lines = log.split(separator: "\n").filter { $0.contains(" Database ") }
            let sentences = lines.map { $0.split(separator: " ", maxSplits: 1)[1].components(separatedBy: "  ")[0] }
            #expect(sentences.contains("warning Database lost: pushes wait and requests get 503"), "\(lines)")
            #expect(sentences.contains("notice Database is back: work continues"), "\(lines)")
            #expect(Set(sentences).count == sentences.count, "\(lines)")
        }

        @Test("gets restarted by the gateway if it is the gateway's own server")
        func privateServer() async throws {
            try await World.within(server: nil, production: .init(streamLimit: 50)) { world in
                let gateway = try await world.gateway()
                try await world.fill(.garden, Self.live + Self.dead, through: gateway)
                await world.production.simulator.follow(SimulatorScript(answerDelay: .milliseconds(100)))
                let message = try await gateway.broadcast(.garden)
                try await world.production.accepted(atLeast: 2_000)
                let server = try #require(world.postmasterFile?.process)
                #expect(kill(server, SIGKILL) == 0)
                try await eventually("another server to replace it") {
                    // The file is missing for a moment.
                    guard let process = world.postmasterFile?.process else { return false }
                    return process != server
                }
                let account = try await gateway.finished(message, of: .garden)
                try await Self.expectAll(account, world)
                try await gateway.stopGently()
            }
        }

        private static func expectSorry(
            _ gateway: Gateway, _ method: String, _ path: String, _ device: Device? = nil
        ) async throws {
            let reply = try await gateway.api.call(method, path, device?.registration(named: false))
            #expect(reply.status == 503, "\(method): \(reply.text)")
            #expect(reply.retryAfter.flatMap { Int($0) } != nil)
        }

        /// The process survived and knew every answer: nothing was sent twice.
        private static func expectAll(_ account: Account, _ world: World) async throws {
            #expect(account.addsUp)
            #expect(account.terminalCounts == ["accepted": live.count, "unregistered": dead.count])
            #expect(try await world.production.receipts(of: live) == .onceEach(live.count))
        }
    }
}
