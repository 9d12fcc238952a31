import Basis
import Model
import Postgres
import QueueRules
import Reactor
import TestSupport
import Testing

private let dawn = StoreWorld.dawn

@Suite("A lease that raises badges")
struct MemberOrderTests {
    /// Inserts the badge rows in random order, and so many that the server would sort them by pages if it could choose.
    private static let scattered = """
        INSERT INTO registrations (app_id, route_id, provider, kind, installation, token)
        SELECT r.app_id, r.route_id, 1, 1, 'c' || n, sha256(n::text::bytea) FROM registrations r,
            generate_series(1, 20000) AS n;
        INSERT INTO registration_pulse (registration_id, badge, registered_at) SELECT id, 0, '2026-01-01' FROM registrations ORDER BY md5(id::text)
        ON CONFLICT DO NOTHING;
        ANALYZE registration_pulse
        """

    private static func number(_ sql: String, _ pool: PostgresPool) async throws(PostgresError) -> Int {
        try await pool.number("SELECT count(*) FROM (\(sql)) AS found")
    }

    @Test("locks the badge rows of its members by rising id, wherever the rows lie")
    func order() async throws {
        try await withStores { world in
            // These members come after the first slice, which is small.
            let first = try await world.register(1...1)[0].value + 2_000
            try await world.pool.script(Self.scattered)
            try await world.send(world.newMessage(badge: .increment))
            #expect(try await world.lease()?.members.count == 2_000)
            let (pool, middle) = (world.pool, first + 2_500)
            let limit = Clocks.monotonicNow() + .seconds(60)
            let (lease, below, above) = try await pool.transaction {
                transaction throws(PostgresError) -> (Task<LeasedParcel?, any Error>, Int, Int) in
                _ = try await transaction.run(
                    query("SELECT FROM registration_pulse WHERE registration_id = \(middle) FOR UPDATE"))
                let lease = Task { try await world.lease() }
                // Other databases of the same server have sessions of their own.
                let waiting = """
                    SELECT FROM pg_stat_activity
                    WHERE datname = current_database() AND pg_backend_pid() <> pid AND wait_event_type = 'Lock'
                    """
                while try await Self.number(waiting, pool) == 0 {
                    if Clocks.monotonicNow() > limit { break }
                    await Task.yield()
                }
                func free(_ range: ClosedRange<Int64>) async throws(PostgresError) -> Int {
                    try await Self.number(
                        """
                        SELECT FROM registration_pulse
                        WHERE registration_id BETWEEN \(range.lowerBound) AND \(range.upperBound) FOR UPDATE SKIP LOCKED
                        """, pool)
                }
                return (lease, try await free(first...middle - 1), try await free(middle + 1...first + 4_999))
            }
            #expect(try await lease.value?.members.count == 5_000)
            #expect(below == 0, "\(below) of the members before the locked one were not locked")
            #expect(above == 2_499, "\(2_499 - above) of the members after the locked one were locked")
        }
    }

    @Test(
        "raises each member's badge once and no other badge, whether ids are close or far apart",
        arguments: [2, 4, 5, 39])
    func strangers(apart step: Int) async throws {
        try await withStores { world in
            let ids = try await world.register(1...40)
            let named = stride(from: 1, through: 40, by: step).map { $0 }
            let audience = Audience.installations(named.map { "i\($0)" })
            try await world.pool.script("UPDATE registration_pulse SET badge = 7")
            try await world.send(world.newMessage(badge: .increment, audience: audience))
            try await world.register(named[1]...named[1], environment: .sandbox)
            let gone = named.count > 2 ? named[2] : nil
            if let gone {
                _ = try await world.stores.registry.removeDevice(app: world.app, installation: "i\(gone)")
            }
            let sandbox = try await world.route(.sandbox)
            for attempt in Int64(0)...1 {
                let now = dawn + .seconds(attempt * 100)
                let parcel = try #require(try await world.lease(at: now))
                #expect(parcel.members.map(\.registration) == named.map { ids[$0 - 1] })
                for (member, number) in zip(parcel.members, named) {
                    #expect(member.badge == (number == gone ? 0 : 8))
                    let status: MemberStatus =
                        number == gone ? .deleted : number == named[1] ? .moved(to: sandbox) : .present
                    #expect(member.status == status)
                    let start = Int(member.tokenStart)
                    let token = Array(parcel.tokens[start..<start + Int(member.tokenCount)])
                    #expect(token == (number == gone ? [] : StoreWorld.token(number).bytes))
                }
                _ = try await world.stores.parcels.rescue(now: now + .seconds(61))
            }
            let raised = try await world.number("SELECT count(*) FROM registration_pulse WHERE badge = 8")
            let kept = try await world.number("SELECT count(*) FROM registration_pulse WHERE badge = 7")
            #expect(raised == named.count - (gone == nil ? 0 : 1))
            #expect(kept == 40 - named.count)
        }
    }
}
