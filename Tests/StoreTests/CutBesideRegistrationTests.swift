import Basis
import Model
import Postgres
import QueueRules
import Reactor
import Store
import Testing

/// A registration locks its device's row from its first statement to its commit. A message that changes the badge waits
/// for it, after it has found or checked its members.
@Suite("A message to a user whose device is being registered for another user")
struct CutBesideRegistrationTests {
    private static let lane = LaneKey(CredentialID(7))
    private static let order = CutOrder(owner: StoreWorld.ann, leaseFor: .seconds(60), parcelMembersMax: 5_000)

    private enum Path: CaseIterable {
        /// The message is leased by the transaction that accepts it.
        case cut
        /// It is planned and leased.
        case leased
    }

    @Test("does not reach the next user, in either path", arguments: Path.allCases)
    private func withheld(path: Path) async throws {
        try await withStores { world in
            var registration = StoreWorld.registration("i1", token: 1)
            registration.profile[.user] = .set("ada")
            let device = try await world.register(registration).record.id.value
            let message = world.newMessage(
                1, urgency: .transactional, badge: .increment, audience: Audience(.users(["ada"])))
            if path == .leased { try await world.send(message) }
            let sending = try await world.pool.transaction {
                transaction throws(PostgresError) -> Task<[LeasedParcel], any Error> in
                for statement in [
                    "SELECT FROM registration_pulse WHERE registration_id = \(device) FOR UPDATE",
                    "UPDATE registrations SET user_id = 'eve' WHERE id = \(device)",
                ] { _ = try await transaction.run(query(statement)) }
                let sending = Task { try await Self.send(message, path, world) }
                try await Self.waitForLock(world)
                return sending
            }
            let parcels = try await sending.value
            #expect(parcels.map { $0.members.map(\.status) } == [[.excluded(.user)]])
        }
    }

    private static func send(_ message: NewMessage, _ path: Path, _ world: StoreWorld) async throws -> [LeasedParcel] {
        guard path == .cut else { return [try #require(try await world.lease(at: StoreWorld.dawn))] }
        let result = await world.stores.messages.cut([try #require(CutMessage(message))], order, now: StoreWorld.dawn) {
            $0.mapValues { _ in lane }
        }
        #expect(result.replies == [.success(.cut)])
        return result.leases.flatMap(\.parcels)
    }

    private static func waitForLock(_ world: StoreWorld) async throws(PostgresError) {
        let waiting = query(
            """
            SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
            """)
        let limit = Clocks.monotonicNow() + .seconds(60)
        while try await world.pool.run(waiting).one(Int64.init) == 0, Clocks.monotonicNow() < limit {
            await Task.yield()
        }
    }
}
