import Basis
import Model
import Postgres
import QueueRules
import RegistryRules
import Testing

private let wrongToken = rejection(.tokenSuspect, "INVALID_ARGUMENT")
private let otherProject = rejection(.tokenElsewhere, "SENDER_ID_MISMATCH")

private func rejection(_ fault: RejectionFault, _ reason: String) -> Outcome {
    .rejected(Rejection(fault: fault, reason: reason))
}

extension FanOutWorld {
    /// Writes, and lets the provider answer each push that this causes.
    fileprivate func push(_ number: Int, to path: String = "/a", _ outcome: Outcome) async throws {
        try await put(path, "\(number)")
        try await fanOut()
        try await answer(outcome)
    }

    fileprivate func state(of device: String) async throws -> RegistrationState {
        let state = "SELECT state FROM registrations WHERE installation = '\(device)'"
        return try await world.pool.read(query(state)).one { row throws(PostgresError) in try row.stored() }
    }
}

@Suite("A token that only subscriptions named")
struct UnprovenTokenTests {
    @Test("ends with its second blame if it never took a push")
    func secondBlame() async throws {
        try await withFanOuts { world in
            try await world.subscribe("stranger", "/a")
            try await world.push(1, wrongToken)
            #expect(try await world.state(of: "stranger") == .suspected)
            try await world.push(2, wrongToken)
            #expect(try await world.state(of: "stranger") == .retired)
            try await world.put("/a", "3")
            #expect(try await world.fanOut() == 0, "its subscription sleeps")
            #expect(try await world.world.feed().isEmpty)
            #expect(try await world.world.number("SELECT count(*) FROM route_minutes") == 0, "no sample has it")
        }
    }

    @Test("counts one blame for pushes that were under way together")
    func together() async throws {
        try await withFanOuts { world in
            for path in ["/a", "/b"] { try await world.subscribe("stranger", path) }
            for path in ["/a", "/b"] { try await world.put(path, "1") }
            try await world.fanOut()
            try await world.answer(wrongToken)
            #expect(try await world.state(of: "stranger") == .suspected)
        }
    }

    @Test("stays after blames if it took a push before")
    func proven() async throws {
        try await withFanOuts { world in
            try await world.subscribe("phone", "/a")
            try await world.push(1, wrongToken)
            try await world.push(2, .accepted)
            #expect(try await world.state(of: "phone") == .active)
            for number in 3...5 { try await world.push(number, wrongToken) }
            #expect(try await world.state(of: "phone") == .suspected)
        }
    }

    @Test("gets no blame from answers that may be about our credential")
    func otherProjects() async throws {
        try await withFanOuts { world in
            try await world.subscribe("phone", "/a")
            for number in 1...3 { try await world.push(number, otherProject) }
            try await world.push(4, wrongToken)
            try await world.push(5, otherProject)
            #expect(try await world.state(of: "phone") == .suspected)
            try await world.push(6, wrongToken)
            #expect(try await world.state(of: "phone") == .retired)
        }
    }

    @Test("gets no blame while most answers about the route's devices are suspicions")
    func guarded() async throws {
        try await withFanOuts { world in
            try await world.subscribe("phone", "/a")
            try await world.push(1, wrongToken)
            try await world.world.pool.script(
                """
                INSERT INTO route_minutes (route_id, minute, answered, suspected)
                SELECT route_id, date_trunc('minute', now() + interval '1 day'), 20, 20 FROM registrations
                """)
            for number in 2...3 { try await world.push(number, wrongToken) }
            #expect(try await world.state(of: "phone") == .suspected)
            try await world.world.pool.script("UPDATE route_minutes SET answered = 2000")
            try await world.push(4, wrongToken)
            #expect(try await world.state(of: "phone") == .retired)
        }
    }

    @Test("has to take a push again after a subscription revived it")
    func revived() async throws {
        try await withFanOuts { world in
            try await world.subscribe("phone", "/a")
            try await world.push(1, .accepted)
            try await world.retire("phone")
            try await world.subscribe("phone", "/a")
            try await world.fanOut()
            try await world.answer(wrongToken)
            #expect(try await world.state(of: "phone") == .suspected)
            try await world.push(2, wrongToken)
            #expect(try await world.state(of: "phone") == .retired)
        }
    }

    @Test("leaves tokens that a backend registered as they are")
    func registered() async throws {
        try await withFanOuts { world in
            try await world.register("phone")
            try await world.subscribe("phone", "/a")
            for number in 1...3 { try await world.push(number, wrongToken) }
            #expect(try await world.state(of: "phone") == .suspected)
        }
    }
}
