import Model
import Postgres
import Testing

/// Triggers check the app of a message, and the message and route of a parcel (decision 0037).
@Suite("The references of messages and parcels")
struct MessageReferenceTests {
    private static let message = """
        INSERT INTO messages (id, app_id, format, priority, push_type, kind, horizon, accepted_at, expires_at,
            audience_summary)
        SELECT gen_random_uuid(), :app, format, priority, push_type, kind, horizon, accepted_at, expires_at,
            audience_summary
        FROM messages LIMIT 1
        """

    /// Copies the open parcel once for each row, with other references.
    private static func insert(_ rows: [(message: String, app: String, route: String)]) -> String {
        let copies = rows.map { row in
            """
            SELECT \(row.message), \(row.app), \(row.route), format, priority, due_at, expires_at, members,
                member_count, pending
            FROM parcels
            """
        }
        return """
            INSERT INTO parcels (message_id, app_id, route_id, format, priority, due_at, expires_at, members,
                member_count, pending) \(copies.joined(separator: " UNION ALL "))
            """
    }

    /// One message with a settled and an open parcel.
    private static func withMessage(_ body: (StoreWorld) async throws -> Void) async throws {
        try await withStores { world async throws in
            try await world.register(1...2)
            _ = try await world.send(world.newMessage(), parcelMembersMax: 1)
            let parcel = try #require(try await world.lease())
            try await world.settle(parcel.settlingAll())
            try await body(world)
        }
    }

    @Test("exist, in every row of a statement")
    func refused() async throws {
        try await Self.withMessage { world async throws in
            let other = try await world.neighbour()
            let right = ("message_id", "app_id", "route_id")
            for wrong in [
                ("gen_random_uuid()", "app_id", "route_id"), ("message_id", "app_id", "1000000"),
                ("message_id", "\(other.app.value)", "route_id"),
            ] {
                for rows in [[wrong], [right, wrong], [wrong, right]] {
                    #expect(await world.refusal(of: Self.insert(rows)) == .foreignKeyViolation, "\(rows)")
                }
            }
            #expect(await world.refusal(of: Self.insert([right, right])) == nil)
            #expect(try await world.number("SELECT count(*) FROM parcels") == 3)
            func message(app: String) -> String { Self.message.replacing(":app", with: app) }
            #expect(await world.refusal(of: message(app: "1000000")) == .foreignKeyViolation)
            #expect(await world.refusal(of: message(app: "\(other.app.value)")) == nil)
        }
    }

    @Test("take parcels and accounts with a deleted message, and messages with their app")
    func goes() async throws {
        try await Self.withMessage { world async throws in
            #expect(try await world.number("SELECT count(*) FROM message_providers") == 1)
            try await world.pool.script("DELETE FROM apps")
            for table in ["messages", "parcels", "message_providers"] {
                #expect(try await world.number("SELECT count(*) FROM \(table)") == 0, "\(table)")
            }
        }
    }

    @Test("make a deletion wait for new parcels, and new parcels for a deletion")
    func waits() async throws {
        try await Self.withMessage { world async throws in
            let insert = Self.insert([("message_id", "app_id", "route_id")])
            let delete = "DELETE FROM messages"
            for (first, second) in [(insert, delete), (delete, insert)] {
                #expect(try await world.refusal(of: second, beside: first) == .lockNotAvailable, "\(second)")
            }
        }
    }
}
