import Foundation
import Simulator
import TestSupport
import Testing

extension Journeys {
    @Suite("A gateway that APNs refuses")
    struct RefusalTests {
        private static let live = [Device](.live, 2_000)

        @Test("stops using a refused key at once, serves other apps, and continues with a new key")
        func refusedKey() async throws {
            try await World.within { world in
                let peer = world.production.simulator
                let gateway = try await world.gateway()
                try await world.fill(.garden, Self.live, through: gateway)
                try await world.fill(.forest, [Device](.live, 5, family: 1), through: gateway)
                let refusal = ScriptedAnswer(status: 403, reason: "InvalidProviderToken")
                await peer.follow(SimulatorScript(faults: [ScriptedFault(.answer(refusal), at: 1, every: 1)]))
                let message = try await gateway.broadcast(.garden)
                try await eventually("the lane's block") {
                    try await world.database { try await $0.number("SELECT count(*) FROM lane_blocks") == 1 }
                }
                let neighbour = try await gateway.finished(try await gateway.broadcast(.forest), of: .forest)
                #expect(neighbour.terminalCounts == ["accepted": 5])
                let waiting = try await gateway.account(message, of: .garden)
                #expect(waiting.state != "finished" && waiting.terminalCounts == [:])

                await peer.follow(SimulatorScript())
                try await world.activateToken(for: .garden, through: gateway)
                let account = try await gateway.finished(message, of: .garden)
                #expect(account.addsUp && account.terminalCounts == ["accepted": Self.live.count])
                #expect(try await world.production.receipts(of: Self.live) == .onceEach(Self.live.count))
                // A connection begins with one stream, and few were open.
                #expect(await peer.summary().refused("InvalidProviderToken") <= 64)
                try await gateway.stopGently()
            }
        }

        @Test("ends a push that APNs forbids each time, and delays no other push of its app")
        func forbiddenPush() async throws {
            let live = [Device](.live, 20)
            let forbidden = [Device](.forbidden, 1)
            try await World.within { world in
                let gateway = try await world.gateway()
                try await world.fill(.garden, live, through: gateway)
                let first = try await gateway.finished(try await gateway.broadcast(.garden), of: .garden)
                #expect(first.terminalCounts == ["accepted": live.count])

                try await gateway.register(forbidden, of: .garden)
                let account = try await gateway.finished(try await gateway.broadcast(.garden), of: .garden)
                #expect(account.addsUp && account.terminalCounts == ["accepted": live.count, "rejected": 1])
                #expect(account.reasons?.first { $0.outcome == "rejected" }?.reason == "Forbidden")
                let requests = await world.production.simulator.received(forbidden[0].deviceToken)
                #expect(requests.map(\.reason) == ["Forbidden", "Forbidden"])
                let blocks = try await world.database { try await $0.number("SELECT count(*) FROM lane_blocks") }
                #expect(blocks == 0)
                try await gateway.stopGently()
            }
        }

        @Test("waits without a storm of requests when APNs calls a new provider token expired")
        func wrongClock() async throws {
            try await World.within { world in
                let peer = world.production.simulator
                let gateway = try await world.gateway()
                try await world.fill(.garden, Self.live, through: gateway)
                await peer.follow(SimulatorScript(answerDelay: .milliseconds(50)))
                let message = try await gateway.broadcast(.garden)
                try await world.production.accepted(atLeast: 50)
                await peer.follow(SimulatorScript(clockOffset: .seconds(3_700)))
                try await eventually("the expired token to be refused") {
                    await peer.summary().refused("ExpiredProviderToken") > 0
                }
                try await eventually("the lane's block") {
                    try await world.database { pool in
                        let refused = "SELECT count(*) FROM lane_blocks WHERE reason = 'ExpiredProviderToken'"
                        return try await pool.number(refused) == 1
                    }
                }
                try await eventually("the pushes to be back in the queue") {
                    try await world.database {
                        try await $0.number("SELECT count(*) FROM parcels WHERE state = 2") == 0
                    }
                }
                let account = try await gateway.account(message, of: .garden)
                #expect(account.state != "finished" && Set(account.terminalCounts.keys).isSubset(of: ["accepted"]))
                let summary = await peer.summary()
                #expect(summary.refused.reduce(0) { $0 + $1.count } == summary.refused("ExpiredProviderToken"))
                // At most the pushes in flight on the open connections, once.
                #expect(summary.refused.reduce(0) { $0 + $1.count } <= 8 * 1_000)
                #expect(try await gateway.isReady())
                try await gateway.stopGently()
            }
        }

        @Test("retries temporary rejections, on a new connection if APNs shuts the old one down")
        func temporary() async throws {
            let fates: [Fate] = [.unavailableOnce, .internalErrorOnce, .shutdownOnce, .resetOnce, .refusedStreamOnce]
            let stubborn = fates.enumerated().flatMap { [Device]($1, 5, family: 2 + $0) }
            let live = [Device](.live, 200)
            try await World.within { world in
                let gateway = try await world.gateway()
                try await world.fill(.garden, live + stubborn, through: gateway)
                let account = try await gateway.finished(try await gateway.broadcast(.garden), of: .garden)
                #expect(account.addsUp && account.terminalCounts == ["accepted": live.count + stubborn.count])
                let receipts = try await world.production.receipts(of: live + stubborn)
                #expect(receipts == .onceEach(live.count + stubborn.count))
                #expect(
                    await world.production.simulator.summary().connectionsOpened > 1,
                    "Shutdown makes the lane open another connection")
                #expect(try await gateway.feedback(.garden) == [])
                try await gateway.stopGently()
            }
        }

        @Test("holds pushes that need a topic until a credential names one")
        func noTopic() async throws {
            let live = [Device](.live, 50)
            try await World.within { world in
                let gateway = try await world.gateway()
                try await gateway.api.expect(201, "POST", "/v1/apps", #"{"slug": "garden", "name": "Garden"}"#)
                try await world.activateToken(for: .garden, topics: [], through: gateway)
                try await gateway.register(live, of: .garden)
                let message = try await gateway.broadcast(.garden)
                try await eventually("the log to report the paused route") {
                    gateway.program.logged.contains("Route paused: its pushes wait")
                }
                let waiting = try await gateway.account(message, of: .garden)
                #expect(waiting.state != "finished" && waiting.terminalCounts == [:])

                try await world.activateToken(for: .garden, through: gateway)
                let account = try await gateway.finished(message, of: .garden)
                #expect(account.addsUp && account.terminalCounts == ["accepted": live.count])
                #expect(try await world.production.receipts(of: live) == .onceEach(live.count))
                try await gateway.stopGently()
            }
        }

        @Test("sends a background push with the headers that Apple requires")
        func background() async throws {
            let live = [Device](.live, 3)
            try await World.within { world in
                let gateway = try await world.gateway()
                try await world.fill(.garden, live, through: gateway)
                let reply = try await gateway.api.expect(
                    202, "POST", "/v1/apps/garden/messages",
                    """
                    {"audience": {"all": true}, "data": {"article": "42"},
                     "options": {"push_type": "background", "ttl_seconds": 600}}
                    """)
                struct Accepted: Decodable { let id: String }
                let account = try await gateway.finished(try reply.decoded(Accepted.self).id, of: .garden)
                #expect(account.terminalCounts == ["accepted": 3])
                let push = try #require(await world.production.simulator.received(live[0].deviceToken).first)
                #expect(push.header("apns-push-type") == "background")
                #expect(push.header("apns-priority") == "5")
                let payload = String(decoding: push.body, as: UTF8.self)
                #expect(payload.contains(#""content-available":1"#) && payload.contains(#""article":"42""#))
                #expect(!payload.contains("alert") && !payload.contains("badge"))
                try await gateway.stopGently()
            }
        }
    }
}
