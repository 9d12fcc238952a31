import Basis
import Reactor
import Simulator
import TestSupport
import Testing

extension LongJourneys {
    @Suite("A broadcast during the cleanup of many old rows")
    struct SweptBroadcastTests {
        private static let live = [Device](.live, 40_000)
        /// A rate at which the broadcast lasts longer than the fifteen seconds between two rounds of maintenance.
        private static let perSecond = 1_000
        /// More rows than one round deletes.
        private static let old = 40_000

        /// Rows that are deleted one by one, and a day of history (1 January 2020) that is dropped whole.
        private static let backlog = """
            INSERT INTO messages (id, app_id, format, state, priority, push_type, audience_summary, kind, horizon, accepted_at,
                expires_at, finished_at, audience)
            SELECT (lpad(to_hex(n), 12, '0') || repeat('0', 20))::uuid, 1, 1, 6, 2, 1, '{}', 1, 0, '2020-01-01', '2020-01-02',
                '2020-01-01', 0 FROM generate_series(1, \(old)) AS n;
            INSERT INTO message_contents SELECT id, '', '' FROM messages WHERE finished_at = '2020-01-01';
            INSERT INTO feedback (app_id, registration_id, generation, installation, kind, provider, verdict, reason,
                at, number)
            SELECT 1, n, 1, 'i' || n, 1, 1, 1, 'Unregistered', '2020-01-01', n FROM generate_series(1, \(old)) AS n;
            INSERT INTO idempotency_keys (app_id, operation, key, body_sha256, answer, created_at)
            SELECT 1, 'POST', 'k' || n, sha256(''), '', '2020-01-01' FROM generate_series(1, \(old)) AS n;
            INSERT INTO push_history SELECT id, 1, 0, 1, 1, 2, 'BadTopic', 1, '2020-01-01', 1, 1, 1, '\\x8101'
            FROM messages WHERE finished_at = '2020-01-01';
            CREATE TABLE push_history_d18262 PARTITION OF push_history
                FOR VALUES FROM ('016f5e66-e800-0000-0000-000000000000') TO ('016f638d-4400-0000-0000-000000000000');
            INSERT INTO push_history
            SELECT ('016f5e67' || lpad(to_hex(n), 24, '0'))::uuid, 1, 0, 1, 1, 2, 'BadTopic', 1, '2020-01-01', 1, 1, 1,
                '\\x8101'
            FROM generate_series(1, \(old)) AS n;
            """
        private static let isDayThere = "SELECT count(to_regclass('push_history_d18262'))"

        /// The least share of the rate during the cleanup. A stopped broadcast would be near zero; a busy machine costs
        /// less than half.
        private static let shareMin = 0.2

        private static let left = """
            SELECT (SELECT count(*) FROM message_contents c JOIN messages m ON m.id = c.message_id
                    WHERE m.finished_at = '2020-01-01')
                + (SELECT count(*) FROM feedback) + (SELECT count(*) FROM idempotency_keys)
                + (SELECT count(*) FROM push_history WHERE at < '2021-01-01')
            """

        @Test("continues and reaches each device once while two gateways clean up")
        func swept() async throws {
            try await World.within { world in
                let gateways = [try await world.gateway(), try await world.gateway()]
                try await world.fill(.garden, Self.live, through: gateways[0])
                let message = try await gateways[0].send(
                    .garden,
                    """
                    {"audience": {"all": true}, "badge": "increment",
                     "options": {"rate_per_second": \(Self.perSecond)},
                     "notification": {"title": "Carillon", "body": "\(World.text)"}}
                    """)[0]
                try await world.production.accepted(atLeast: 3 * Self.perSecond)
                let undisturbed = Clocks.wallNow()
                let swept = try await world.database { pool in
                    try await pool.script(Self.backlog)
                    #expect(try await pool.number(Self.left) == 5 * Self.old)
                    #expect(try await pool.number(Self.isDayThere) == 1)
                    // A round of maintenance starts every fifteen seconds: nothing interferes before the first one.
                    try await eventually("the first old rows to be deleted") {
                        try await pool.number(Self.left) < 5 * Self.old
                    }
                    let begun = Clocks.wallNow()
                    try await eventually("all old rows to be deleted") {
                        try await pool.number(Self.left) + pool.number(Self.isDayThere) == 0
                    }
                    return begun...max(Clocks.wallNow(), begun + .seconds(1))
                }
                let meanwhile = try await gateways[1].account(message, of: .garden)
                #expect(
                    meanwhile.state == "sending" && meanwhile.pending > 0, "the broadcast lasts longer than the sweep")

                let account = try await gateways[1].finished(message, of: .garden)
                #expect(account.addsUp && account.terminalCounts == ["accepted": Self.live.count])
                #expect(try await world.production.receipts(of: Self.live) == .onceEach(Self.live.count))
                let arrivals = await world.production.simulator.arrivals(of: Self.live)
                let share =
                    try Self.rate(of: arrivals, in: swept) / Self.rate(of: arrivals, until: undisturbed, after: swept)
                #expect(share > Self.shareMin, "during the sweep the broadcast had \(share) of its rate")
                for gateway in gateways {
                    #expect(!gateway.program.logged.contains("[error]"))
                    try await gateway.stopGently()
                }
            }
        }

        /// Pushes per second between two times of the arrivals' clock.
        private static func rate(of arrivals: [WallInstant], in time: ClosedRange<WallInstant>) -> Double {
            Double(arrivals.count { time.contains($0) }) / ((time.upperBound - time.lowerBound) / .seconds(1))
        }

        /// The rate outside the cleanup: before the old rows were inserted, and from its end to the last push.
        private static func rate(
            of arrivals: [WallInstant], until undisturbed: WallInstant, after swept: ClosedRange<WallInstant>
        ) throws -> Double {
            let (first, last) = (try #require(arrivals.first), try #require(arrivals.last))
            let before = arrivals.count { $0 <= undisturbed }
            let after = arrivals.count { $0 > swept.upperBound }
            let behind = max(.zero, last - swept.upperBound)
            return Double(before + after) / ((undisturbed - first + behind) / .seconds(1))
        }
    }
}
