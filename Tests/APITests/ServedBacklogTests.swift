import Basis
import Calendar
import Model
import Postgres
import Reactor
import TestSupport
import Testing

@Suite("The messages API of an app with a backlog")
struct ServedBacklogTests {
    private static let hello = #"{"audience": {"all": true}, "notification": {"body": "Noon"}, "badge": "increment"}"#

    @Test("refuses new messages while too many are unfinished, of that app only")
    func backlog() async throws {
        try await withGateway(backlog: (messages: 3, broadcasts: 2)) { world in
            let path = try await world.makeApp() + "/messages"
            for _ in 1...2 { try await world.expect(202, "POST", path, Self.hello) }
            let full = try await world.refuse(.backlogFull, "POST", path, Self.hello)
            #expect(full.header("retry-after") == "10")
            // A message that names its receivers is not a broadcast. It counts as unfinished while it waits.
            try await world.expect(
                201, "PUT", "/v1/apps/tower/devices/phone", GatewayWorld.registration(1, #", "user": "ann""#))
            let hour = RFC3339.format(Clocks.wallNow() + .seconds(3_600))
            let input = #""audience": {"users": ["ann"]}, "notification": {"body": "Noon"}"#
            let (one, later) = ("{\(input)}", "{\(input), \"options\": {\"send_at\": \"\(hour)\"}}")
            for body in [later, one, one] { try await world.expect(202, "POST", path, body) }
            let fuller = try await world.refuse(.backlogFull, "POST", path, one)
            #expect(try fuller.member("detail") != full.member("detail"))
            let other = try await world.makeApp("other") + "/messages"
            try await world.expect(202, "POST", other, Self.hello)
        }
    }

    @Test("repeats an accepted answer even while too many messages are unfinished")
    func repeatedAtFullBacklog() async throws {
        try await withGateway(backlog: (messages: 1, broadcasts: 1)) { world in
            let path = try await world.makeApp() + "/messages"
            let key = ["Idempotency-Key: lost-answer"]
            let first = try await world.expect(202, "POST", path, Self.hello, headers: key)
            let second = try await world.expect(202, "POST", path, Self.hello, headers: key)
            #expect(second.body == first.body)
            #expect(second.header("idempotency-replayed") == "true")
            try await world.refuse(.idempotencyMismatch, "POST", path, Self.hello + " ", headers: key)
            try await world.refuse(.backlogFull, "POST", path, Self.hello, headers: ["Idempotency-Key: another"])
            // A refusal is not stored as the first answer: the key can be used again once there is capacity.
            #expect(try await world.pool.number("SELECT count(*) FROM idempotency_keys") == 1)
        }
    }
}
