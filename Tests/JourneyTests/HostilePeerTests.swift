import Basis
import Reactor
import Simulator
import TestSupport
import Testing

extension Journeys {
    @Suite("A gateway whose APNs misbehaves")
    struct HostilePeerTests {
        private static let live = [Device](.live, 1_960)
        private static let dead = [Device](.gone, 40)
        private static let residentPeakMiBMax = 150
        private static let streamLimit = 100
        private static let shortLifetimeSeconds = 15
        /// The longest time from the decision to send until it is recorded, on a busy machine.
        private static let onTheWay: Duration = .seconds(5)
        /// Short, so that silence is noticed soon, but longer than a busy machine takes to answer.
        private static let settings = ["REQUEST_DEADLINE_SECONDS": "3"]

        @Test("loses no push, stays ready, and uses little memory", arguments: Misbehaviour.all)
        func goesOn(_ misbehaviour: Misbehaviour) async throws {
            try await Self.within { world, gateway in
                let peer = world.production.simulator
                await peer.follow(misbehaviour.script)
                let message = try await gateway.broadcast(.garden)
                try await eventually("the peer to misbehave") { misbehaviour.isFelt(await peer.summary()) }
                let neighbour = try await Self.neighboursPush(gateway)
                #expect(try await gateway.isReady())
                let account = try await gateway.finished(message, of: .garden)

                Self.expectAll(of: account)
                let receipts = try await world.production.receipts(of: Self.live)
                #expect(receipts.withoutRepeats == .onceEach(Self.live.count))
                #expect(receipts.repeats <= misbehaviour.connectionsLost * Self.streamLimit)
                try Self.note("\(misbehaviour)", gateway, receipts, neighbour)
            }
        }

        @Test("waits while APNs is silent, serves other apps, and continues when APNs answers again")
        func comesBack() async throws {
            try await Self.within { world, gateway in
                let peer = world.production.simulator
                let message = try await Self.silencedMidway(world, gateway)
                let neighbour = try await Self.neighboursPush(gateway)
                #expect(
                    try await gateway.account(message, of: .garden).state != "finished", "the peer fell silent too late"
                )
                #expect(try await gateway.isReady())
                await peer.follow(SimulatorScript())
                let account = try await gateway.finished(message, of: .garden)

                Self.expectAll(of: account)
                let receipts = try await world.production.receipts(of: Self.live)
                #expect(receipts.withoutRepeats == .onceEach(Self.live.count))
                try Self.note("silent for a while", gateway, receipts, neighbour)
            }
        }

        @Test("gives up pushes that APNs never answers, and accounts for all of them")
        func neverAnswers() async throws {
            try await Self.within { world, gateway in
                let start = Clocks.wallNow()
                let message = try await Self.silencedMidway(world, gateway, ttlSeconds: Self.shortLifetimeSeconds)
                let neighbour = try await Self.neighboursPush(gateway)
                #expect(
                    try await gateway.account(message, of: .garden).state != "finished", "the peer fell silent too late"
                )
                let account = try await gateway.finished(message, of: .garden)

                #expect(account.addsUp)
                #expect(account.audience == Self.live.count + Self.dead.count)
                #expect(account.outcomes["gave_up", default: 0] > 0)
                let known = Set(["accepted", "unregistered", "gave_up", "expired"])
                #expect(known.isSuperset(of: account.terminalCounts.keys), "\(account.terminalCounts)")
                let lost = account.reasons?.filter { $0.outcome == "gave_up" }.map(\.reason)
                #expect(lost == ["answer_lost"])
                let last = try #require(await world.production.simulator.arrivals(of: Self.live).last)
                let overdue = last - start - .seconds(Self.shortLifetimeSeconds)
                #expect(overdue < Self.onTheWay, "no push was sent after it had expired")
                #expect(try await gateway.isReady())
                try Self.note(
                    "never answers", gateway, try await world.production.receipts(of: Self.live), neighbour)
            }
        }

        private static func within(_ body: (World, Gateway) async throws -> Void) async throws {
            try await World.within(settings: settings, production: .init(streamLimit: UInt32(streamLimit))) { world in
                let gateway = try await world.gateway()
                try await world.fill(.garden, live + dead, through: gateway)
                try await world.fill(.forest, [Device](.live, 1, family: 1), through: gateway)
                try await body(world, gateway)
                try await gateway.stopGently()
            }
        }

        /// Starts a broadcast of which the peer answers a part, and then nothing more.
        private static func silencedMidway(
            _ world: World, _ gateway: Gateway, ttlSeconds: Int = 86_400
        ) async throws -> String {
            let peer = world.production.simulator
            await peer.follow(SimulatorScript(answerDelay: .milliseconds(500)))
            let message = try await gateway.broadcast(.garden, ttlSeconds: ttlSeconds)
            try await world.production.accepted(atLeast: 50)
            await peer.follow(SimulatorScript(faults: [ScriptedFault(.silence, at: 1, every: 1)]))
            // Earlier requests are answered by then.
            try await eventually("the peer to fall silent") { await peer.summary().unanswered >= 20 }
            return message
        }

        /// Another app's push through another credential: the time from its request until it is accounted for (P7).
        private static func neighboursPush(_ gateway: Gateway) async throws -> Duration {
            let clock = ContinuousClock()
            return try await clock.measure {
                let message = try await gateway.send(.forest, audience: #"{"installations": ["live-1-0"]}"#)
                let account = try await gateway.finished(message, of: .forest)
                #expect(account.terminalCounts == ["accepted": 1])
            }
        }

        private static func expectAll(of account: Account) {
            #expect(account.addsUp)
            #expect(account.terminalCounts == ["accepted": live.count, "unregistered": dead.count])
        }

        private static func note(
            _ what: String, _ gateway: Gateway, _ receipts: Receipts, _ neighbour: Duration
        ) throws {
            let peak = try gateway.program.residentPeakMiB()
            #expect(peak < residentPeakMiBMax)
            print("\(what): VmHWM \(peak) MiB, repeats \(receipts.repeats), the neighbour's push took \(neighbour)")
        }
    }
}

/// Behaviour that no provider should show.
struct Misbehaviour: Sendable, CustomTestStringConvertible, CustomStringConvertible {
    let description: String
    let faults: [ScriptedFault]
    /// The number of connections it costs. The pushes in flight on them may have been processed without an answer.
    let connectionsLost: Int
    let isFelt: @Sendable (SimulatorSummary) -> Bool

    var testDescription: String { description }
    var script: SimulatorScript { SimulatorScript(faults: faults) }

    private init(
        _ description: String, _ faults: ScriptedFault..., connectionsLost: Int = 0,
        isFelt: @escaping @Sendable (SimulatorSummary) -> Bool
    ) {
        self.description = description
        self.faults = faults
        self.connectionsLost = connectionsLost
        self.isFelt = isFelt
    }

    static let all = [
        Misbehaviour("garbage", ScriptedFault(.garbage, at: 100, times: 6), connectionsLost: 6) {
            $0.connectionsOpened > 6
        },
        Misbehaviour("garbage as a greeting", ScriptedFault(.garbage, at: 0, times: 4), connectionsLost: 4) {
            $0.connectionsOpened > 4
        },
        Misbehaviour("half a frame, then nothing", ScriptedFault(.halfFrame, at: 100, times: 3), connectionsLost: 3) {
            $0.connectionsOpened > 3
        },
        Misbehaviour("huge headers", ScriptedFault(.hugeHeader, at: 90, every: 200, times: 8), connectionsLost: 8) {
            $0.faults >= 4
        },
        Misbehaviour("every 97th stream reset", ScriptedFault(.reset(.internalError), at: 97, every: 97)) {
            $0.reset > 5
        },
        Misbehaviour(
            "GOAWAY every 150", ScriptedFault(.goAway(ScriptedGoAway(reason: "Shutdown")), at: 150)
        ) { $0.goAways > 5 },
        Misbehaviour("SETTINGS drop to 1", ScriptedFault(.streamLimit(1), at: 150)) { $0.faults > 0 },
        Misbehaviour("stalls", ScriptedFault(.stall, at: 120, times: 3), connectionsLost: 3) {
            $0.connectionsOpened > 1
        },
        Misbehaviour("connections dropped", ScriptedFault(.drop, at: 110, times: 6), connectionsLost: 6) {
            $0.connectionsOpened > 6
        },
    ]
}
