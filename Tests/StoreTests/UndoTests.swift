import Basis
import Model
import QueueRules
import Store
import Testing

private let dawn = StoreWorld.dawn

@Suite("A retired token")
struct UndoTests {
    /// Retires the registration by a 410 answer for the given generation.
    private static func retire(
        _ world: StoreWorld, _ id: RegistrationID, generation: Int32 = 1, at now: WallInstant = dawn
    ) async throws {
        let verdict = GuardedVerdict(
            registration: id, generation: TokenGeneration(generation), route: try await world.route(),
            verdict: .unregistered(since: now, reason: "Unregistered"), asOf: now)
        _ = try await world.stores.parcels.applyVerdicts([verdict], now: now)
    }

    private static func undo(_ world: StoreWorld, _ item: FeedbackItem) async throws -> UndoReply {
        try await world.insisting {
            try await world.stores.registry.undo(feedback: item.id, app: world.app, now: dawn)
        }
    }

    @Test("becomes active again by an undo, and earlier answers do not retire it again")
    func undone() async throws {
        try await withStores { world in
            let id = try await world.register(1...1)[0]
            try await Self.retire(world, id)
            let retired = try #require(try await world.feed().last)
            #expect(try await world.device("i1").state == .retired)
            guard case .live(let device) = try await Self.undo(world, retired) else {
                Issue.record("the token was not brought back")
                return
            }
            #expect(device == (try await world.device("i1")))
            #expect(device.state == .active && device.registeredAt == dawn)
            try await Self.retire(world, id)
            #expect(try await world.device("i1").state == .active, "an answer from before the undo changes nothing")
            #expect(try await Self.undo(world, retired) == .live(device))
            #expect(try await world.feed().map(\.verdict) == [.retired, .undone])
            try await Self.retire(world, id, generation: 2)
            #expect(try await world.device("i1").state == .retired, "a later answer retires the token again")
            // The second retirement is another entry of the feed.
            guard case .live(let later) = try await Self.undo(world, retired) else { return }
            #expect(later.state == .retired)
        }
    }

    @Test("stays retired for its old installation while another one holds it")
    func moved() async throws {
        try await withStores { world in
            let id = try await world.register(1...1)[0]
            try await Self.retire(world, id)
            try await world.register(StoreWorld.registration("i2", token: 1))
            let retired = try #require(try await world.feed().first)
            #expect(try await Self.undo(world, retired) == .moved)
            #expect(try await world.device("i1").state == .retired)
            #expect(try await world.stores.registry.removeDevice(app: world.app, installation: "i2") == 1)
            guard case .live = try await Self.undo(world, retired) else {
                Issue.record("no other installation holds the token any more")
                return
            }
        }
    }

    @Test("stays retired if it was replaced, if the feedback retired nothing, or for another app")
    func refused() async throws {
        try await withStores { world in
            let id = try await world.register(1...1)[0]
            try await Self.retire(world, id)
            try await world.register(StoreWorld.registration("i1", token: 2))
            let feed = try await world.feed()
            #expect(feed.map(\.verdict) == [.retired, .replaced])
            #expect(try await Self.undo(world, feed[0]) == .replaced)
            #expect(try await Self.undo(world, feed[1]) == .notARetirement)
            let registry = world.stores.registry
            #expect(try await registry.undo(feedback: feed[0].id + 9, app: world.app) == .unknownFeedback)
            let other = try await registry.createApp(slug: "other", name: "Other").id
            #expect(try await registry.undo(feedback: feed[0].id, app: other) == .unknownFeedback)
            _ = try await registry.removeDevice(app: world.app, installation: "i1")
            #expect(try await Self.undo(world, feed[0]) == .unknownDevice)
        }
    }

    @Test("belongs to one live device when undos race with a registration elsewhere")
    func races() async throws {
        try await withStores { world in
            for round in 1...12 {
                let id = try await world.register(round...round)[0]
                try await Self.retire(world, id)
                let retired = try #require(try await world.feed().last { $0.verdict == .retired })
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 1...3 { group.addTask { _ = try await Self.undo(world, retired) } }
                    group.addTask { try await world.register(StoreWorld.registration("j\(round)", token: round)) }
                    try await group.waitForAll()
                }
                #expect(try await world.device("j\(round)").state == .active)
                #expect(try await world.device("i\(round)").state == .retired)
            }
            #expect(try await world.number("SELECT count(*) FROM feedback WHERE verdict = 5") <= 12)
        }
    }
}
