import Model
import Store
import Testing

@Suite("A topic of registered devices")
struct UncoveredTopicTests {
    private func add(_ topics: [String], whole: [String] = [], to world: StoreWorld) async throws {
        let credential = NewCredential(
            id: try await world.stores.credentials.nextIDs(1)[0], app: world.app, provider: .apns,
            environment: .production, kind: whole.isEmpty ? .token : .certificate, topics: topics, wholeTopics: whole,
            facts: Array("{}".utf8), sealed: [1])
        _ = try await world.stores.credentials.insert([credential], app: world.app, activate: true, once: nil) { _ in
            []
        }
    }

    private func register(_ count: Int, topic: String, in world: StoreWorld, from first: Int) async throws {
        for number in first..<(first + count) {
            var registration = StoreWorld.registration("i\(number)", token: number)
            registration.topic = topic
            try await world.register(registration)
        }
    }

    @Test("stays uncovered until an active credential covers one of its services")
    func uncovered() async throws {
        try await withStores { world in
            try await register(3, topic: "com.example.garden", in: world, from: 1)
            try await register(1, topic: "com.example.forest", in: world, from: 4)
            try await register(2, topic: "com.example.meadow", in: world, from: 5)
            func uncovered() async throws -> [String] {
                try await world.stores.credentials.uncoveredTopics().map { "\($0.app) \($0.topic) \($0.registrations)" }
            }
            let garden = "clock-tower com.example.garden 3"
            let forest = "clock-tower com.example.forest 1"
            #expect(try await uncovered() == [garden, "clock-tower com.example.meadow 2", forest])
            try await add(["com.example.meadow"], whole: ["com.example.meadow.voip"], to: world)
            #expect(try await uncovered() == [garden, forest])
            try await add(["com.example.garden"], to: world)
            #expect(try await uncovered() == [forest])
            try await world.pool.script("UPDATE registrations SET state = \(RegistrationState.retired.rawValue)")
            #expect(try await uncovered() == [])
        }
    }
}
