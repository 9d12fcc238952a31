import Basis
import Model
import Postgres
import QueueRules
import Reactor
import Store
import Testing

/// A registration locks its device's badge from its first statement to its commit. A cut or a lease that changes badges
/// waits for it.
@Suite("A push whose device is being registered for another user")
struct CutBesideRegistrationTests {
    private static let order = CutOrder(owner: StoreWorld.ann, leaseFor: .seconds(60), parcelMembersMax: 5_000)

    private enum Path {
        /// The message is leased by the transaction that accepts it.
        case cut
        /// It is planned and leased.
        case leased
    }

    @Test(
        "neither reaches the next user nor changes the badge, for every form of audience",
        arguments: [
            (Path.cut, Audience.Selection.users(["ada"]), AudienceChange.user),
            (.leased, .users(["ada"]), .user),
            (.leased, .tags(TagExpression(any: ["vip"])), .condition),
            (.leased, .filter("user == \"ada\""), .condition),
        ])
    private func withheld(path: Path, selection: Audience.Selection, change: AudienceChange) async throws {
        try await withStores { world in
            var registration = StoreWorld.registration("i1", token: 1)
            registration.profile[.user] = .set("ada")
            registration.profile.tags = .set(["vip"])
            let device = try await world.register(registration).record.id.value
            let message = world.newMessage(
                1, urgency: .transactional, badge: .increment, audience: Audience(selection))
            if path == .leased { try await world.send(message) }
            let parcels = try await Self.whileRegistered(device, world) { try await Self.send(message, path, world) }
            let statuses = parcels.flatMap { $0.members.map(\.status) }
            // A cut that waits too long for the badge begins anew, and finds nobody then.
            #expect(statuses == [.excluded(change)] || path == .cut && statuses.isEmpty)
            #expect(try await world.number("SELECT badge FROM registration_pulse") == 0)
        }
    }

    @Test("ends if it is a wake-up and its lease waits for the badge of another message")
    func wakeUp() async throws {
        try await withFanOuts { fanOuts in
            let world = fanOuts.world
            try await fanOuts.register("phone")
            try await world.pool.script("UPDATE registrations SET user_id = 'ada'")
            let device = Int64(try await world.number("SELECT id FROM registrations"))
            try await fanOuts.subscribe("phone", "/news", .value, user: "ada")
            try await fanOuts.put("/news", "1")
            try await fanOuts.fanOut()
            let now = fanOuts.now
            try await world.send(
                world.newMessage(
                    1, urgency: .transactional, badge: .increment, audience: .installations(["phone"])), at: now)
            let order = LeaseOrder(
                route: try await world.route(), owner: StoreWorld.ann, leaseFor: .seconds(60), knownFormats: [1])
            let parcels = try await Self.whileRegistered(device, world) {
                try await world.stores.parcels.lease(order, now: now).parcels
            }
            #expect(parcels.map { $0.members.map(\.status) } == [[.excluded(.condition)], [.present]])
        }
    }

    /// Sends while another transaction makes the device another user's. That one commits once the sending waits for it.
    private static func whileRegistered(
        _ device: Int64, _ world: StoreWorld, send: @escaping @Sendable () async throws -> [LeasedParcel]
    ) async throws -> [LeasedParcel] {
        let sending = try await world.pool.transaction {
            transaction throws(PostgresError) -> Task<[LeasedParcel], any Error> in
            for statement in [
                "SELECT FROM registration_pulse WHERE registration_id = \(device) FOR UPDATE",
                "UPDATE registrations SET user_id = 'eve', tags = '{}' WHERE id = \(device)",
            ] { _ = try await transaction.run(query(statement)) }
            let sending = Task { try await send() }
            try await Self.waitForLock(world)
            return sending
        }
        return try await sending.value
    }

    private static func send(_ message: NewMessage, _ path: Path, _ world: StoreWorld) async throws -> [LeasedParcel] {
        guard path == .cut else { return [try #require(try await world.lease(at: StoreWorld.dawn))] }
        let result = await world.stores.messages.cut([try #require(CutMessage(message))], order, now: StoreWorld.dawn) {
            Set($0.keys)
        }
        #expect(result.replies == [.success(.cut)])
        return result.written.leases.flatMap(\.parcels)
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
