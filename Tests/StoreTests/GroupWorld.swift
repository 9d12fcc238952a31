import Basis
import Model
import Postgres
import QueueRules
import Store
import Testing

// Messages to single devices: sending, planning and leasing several at once.
extension StoreWorld {
    /// Sends one message to each installation in order, and plans each by itself.
    func sendEach(
        _ installations: [String], badge: BadgeChange = .none, from first: UInt64 = 1,
        lifetime: Duration = .seconds(3_600), _ change: (inout NewMessage) -> Void = { _ in }
    ) async throws {
        for (place, name) in installations.enumerated() {
            var message = newMessage(
                first + UInt64(place), urgency: .transactional, badge: badge,
                audience: Audience(.installations([name])), lifetime: lifetime)
            change(&message)
            try await send(message, at: Self.dawn + .microseconds(Int64(first) + Int64(place)))
        }
    }

    /// Accepts one message for each audience in order, without planning.
    func acceptEach(_ audiences: [Audience], from first: UInt64 = 1) async throws {
        for (place, audience) in audiences.enumerated() {
            let message = newMessage(first + UInt64(place), urgency: .transactional, audience: audience)
            #expect(try await stores.messages.accept([message], now: Self.dawn) == .accepted)
        }
    }

    func leaseGroup(
        _ size: LeaseGroup = .standard, owner: ProcessID = ann, scope: LeaseScope = .ordinary,
        at now: WallInstant = dawn + .seconds(1), unreadable: @Sendable (StoreFault) -> Void = { _ in }
    ) async throws -> [LeasedParcel] {
        let order = LeaseOrder(
            route: try await route(), owner: owner, leaseFor: .seconds(60), knownFormats: [1, 2], scope: scope)
        return try await stores.parcels.lease(order, size, now: now, unreadable: unreadable).parcels
    }

    /// Returns the id of a parcel by its place in the order of planning.
    func parcel(at place: Int) async throws -> Int {
        try await number("SELECT id FROM parcels ORDER BY id OFFSET \(place) LIMIT 1")
    }

    /// Runs the body while another transaction has locked the row.
    func holding<Answer: Sendable>(
        _ row: String, _ body: @Sendable () async throws -> Answer
    ) async throws -> Answer {
        let outcome = try await pool.transaction {
            transaction throws(PostgresError) -> Result<Answer, any Error> in
            _ = try await transaction.run(query("SELECT FROM \(row) FOR UPDATE"))
            do {
                return .success(try await body())
            } catch { return .failure(error) }
        }
        return try outcome.get()
    }
}
