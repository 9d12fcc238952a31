import Foundation
import Glibc
import JSON
import Simulator
import TestSupport
import Testing

extension Journeys {
    @Suite("A message that is followed while its gateway restarts")
    struct FollowedMessageTests {
        private static let live = [Device](.live, 20_000)

        @Test(
            "shows its progress to the end in the command, which reports that the gateway is away",
            arguments: [SIGKILL, SIGTERM])
        func watched(_ signal: Int32) async throws {
            try await Self.within { world, first, message in
                let watcher = try world.watch(message, first)
                try await eventually("the command to show some progress") {
                    try Self.shown(watcher).contains { ($0["pending"]?.integer ?? 0) > 0 }
                }
                first.program.kill(signal)
                _ = try await first.program.end()
                try await eventually("the command to report the outage") {
                    watcher.logged.contains("The gateway is unreachable: retrying for five minutes.")
                }
                #expect(watcher.isAlive)
                let second = try await world.gateway()
                #expect(try await watcher.end() == .exited(0), "\(watcher.loggedLast)")
                let accounts = try Self.shown(watcher)
                let last = try #require(accounts.last)
                #expect(last["state"]?.string == "finished" && last["pending"]?.integer == 0)
                #expect(last["outcomes"]?.object?["accepted"]?.integer == Int64(Self.live.count))
                let ended = accounts.compactMap { $0["progress"]?.object?["ended"]?.integer }
                #expect(ended == ended.sorted(), "the number of ended pushes never falls")
                try await second.stopGently()
            }
        }

        @Test("ends its event stream with the process, and the next process streams it to the end")
        func streamed() async throws {
            try await Self.within { world, first, message in
                let path = "/v1/apps/garden/messages/\(message)/events"
                async let cutOff = first.api.expect(200, "GET", path)
                try await world.production.accepted(atLeast: 3_000)
                try await first.stopGently()
                let before = try Event.list(try await cutOff.text)
                #expect(!before.isEmpty && before.allSatisfy { $0.name == "progress" })

                let second = try await world.gateway()
                let after = try Event.list(try await second.api.expect(200, "GET", path).text)
                #expect(after.last?.name == "finished" && after.dropLast().allSatisfy { $0.name == "progress" })
                let accepted = after.last?.account["outcomes"]?.object?["accepted"]?.integer
                #expect(accepted == Int64(Self.live.count))
                let ids = (before + after).map(\.id)
                #expect(zip(ids, ids.dropFirst()).allSatisfy { $0 < $1 }, "event ids rise across processes")
                try await second.stopGently()
            }
        }

        /// Runs the body during a broadcast. Each gateway listens at the address of the one before it.
        private static func within(_ body: (World, Gateway, _ message: String) async throws -> Void) async throws {
            let settings = [
                "LISTEN": "127.0.0.1:\(StandIn.freePort())", "LEASE_SECONDS": "3", "REQUEST_DEADLINE_SECONDS": "2",
            ]
            try await World.within(settings: settings, production: .init(streamLimit: 50)) { world in
                let gateway = try await world.gateway()
                try await world.fill(.garden, live, through: gateway)
                await world.production.simulator.follow(SimulatorScript(answerDelay: .milliseconds(250)))
                let message = try await gateway.broadcast(.garden)
                try await world.production.accepted(atLeast: 1_000)
                try await body(world, gateway, message)
                #expect(try await world.production.receipts(of: live).withoutRepeats == .onceEach(live.count))
            }
        }

        /// Each account that the command has printed completely.
        private static func shown(_ watcher: Program) throws -> [JSONObject] {
            let whole = watcher.printed.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            return try whole.map { try #require(try JSONReader.read(Array($0.utf8), limits: .trusted).object) }
        }

        private struct Event {
            let id: Int64
            let name: String
            let account: JSONObject

            /// The greeting and heartbeats are not events.
            static func list(_ stream: String) throws -> [Event] {
                try stream.components(separatedBy: "\n\n").compactMap { block in
                    let lines = block.split(separator: "\n")
                    func field(_ name: String) -> String? {
                        lines.first { $0.hasPrefix(name + ": ") }.map { String($0.dropFirst(name.count + 2)) }
                    }
                    guard let name = field("event"), let reported = field("data") else { return nil }
                    return Event(
                        id: try #require(field("id").flatMap { Int64($0) }), name: name,
                        account: try #require(try JSONReader.read(Array(reported.utf8), limits: .trusted).object))
                }
            }
        }
    }
}

extension World {
    /// Starts the command that follows a message; it runs until it ends by itself.
    fileprivate func watch(_ message: String, _ gateway: Gateway) throws -> Program {
        let settings = ["URL": gateway.api.base.absoluteString, "KEY": gateway.api.key, "APP": "garden"]
        return try Program(["messages", "watch", message, "--json"], settings: settings, logs: folder)
    }
}
