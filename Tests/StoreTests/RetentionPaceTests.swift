import Basis
import Postgres
import Reactor
import Store
import TestSupport
import Testing

private let dawn = StoreWorld.dawn

/// Retention beside a gateway at full speed: how much a round deletes, and what it may delay.
@Suite("Retention under load")
struct RetentionPaceTests {
    /// Old rows in every table that is swept by rows, more than two rounds delete.
    private static let backlog = """
        INSERT INTO messages (id, app_id, format, state, priority, push_type, audience_summary, kind, horizon, accepted_at,
            expires_at, finished_at, audience)
        SELECT (lpad(to_hex(n), 12, '0') || repeat('0', 20))::uuid, 1, 1, 6, 2, 1, '{}', 1, 0, '2020-01-01', '2020-01-02',
            '2020-01-01', 0 FROM generate_series(1, 12000) AS n;
        INSERT INTO message_contents SELECT id, '', '' FROM messages;
        INSERT INTO inline_targets SELECT 1000000 + row_number() OVER (), id, 1, sha256('x') FROM messages;
        INSERT INTO feedback (app_id, registration_id, generation, installation, kind, provider, verdict, reason, at,
            number)
        SELECT 1, n, 1, 'i' || n, 1, 1, 1, 'Unregistered', '2020-01-01', n FROM generate_series(1, 12000) AS n;
        INSERT INTO idempotency_keys (app_id, operation, key, body_sha256, answer, created_at)
        SELECT 1, 'POST', 'k' || n, sha256(''), '', '2020-01-01' FROM generate_series(1, 12000) AS n;
        INSERT INTO route_minutes SELECT routes.id, timestamptz '2020-01-01' + n * interval '1 minute', 1, 0
        FROM routes, generate_series(1, 6000) AS n;
        INSERT INTO push_history SELECT id, 1, 0, 1, 1, 2, 'BadTopic', 1, '2020-01-01', 1, 1, 1, '\\x8101'
        FROM messages;
        """

    private static var oneDay: Retention {
        var retention = Retention()
        retention.historyDays = 1
        return retention
    }

    private static let left = """
        SELECT (SELECT count(*) FROM message_contents) + (SELECT count(*) FROM inline_targets)
            + (SELECT count(*) FROM feedback) + (SELECT count(*) FROM idempotency_keys)
            + (SELECT count(*) FROM route_minutes) + (SELECT count(*) FROM push_history)
        """

    /// A round starts every fifteen seconds, and rounds follow each other while they find rows. Retention therefore
    /// keeps up: a table gets at most a few thousand rows a second.
    @Test("deletes 5,000 rows per table in each round, and reports whether more remain")
    func pace() async throws {
        try await withStores { world in
            try await world.register(1...1)
            try await world.pool.script(Self.backlog)
            #expect(try await world.number(Self.left) == 6 * 12_000)
            #expect(try await world.stores.sweeper.sweep(Retention(), rounds: 2))
            #expect(try await world.number(Self.left) == 6 * 2_000)
            #expect(try await world.stores.sweeper.sweep(Retention(), rounds: 2) == false)
            #expect(try await world.number(Self.left) == 0)
        }
    }

    /// Recent rows are not scanned: a round that finds nothing reads a few pages, however much is kept.
    @Test("reads only a few pages when nothing is old enough")
    func idleRound() async throws {
        var one = PoolSettings()
        one.connectionsMax = 1
        try await withStores(pool: one) { world in
            try await world.register(1...1)
            try await world.pool.script(
                """
                INSERT INTO route_minutes SELECT routes.id, now() - n * interval '1 second', 1, 0
                FROM routes, generate_series(1, 50000) AS n;
                INSERT INTO idempotency_keys (app_id, operation, key, body_sha256, answer)
                SELECT 1, 'POST', 'k' || n, sha256(''), '' FROM generate_series(1, 50000) AS n;
                INSERT INTO feedback (app_id, registration_id, generation, installation, kind, provider, verdict,
                    reason, number)
                SELECT 1, n, 1, 'i' || n, 1, 1, 1, 'Unregistered', n FROM generate_series(1, 50000) AS n;
                ANALYZE
                """)
            for _ in 1...2 { #expect(try await world.stores.sweeper.sweep() == 0) }
            let before = try await world.pagesRead()
            #expect(try await world.stores.sweeper.sweep() == 0)
            let read = try await world.pagesRead() - before
            // The pages of the feed are its oldest 5,000 rows, which have no index by age.
            #expect(read < 200, "a round without expired rows read \(read) pages")
        }
    }

    @Test("drops a backlog of daily partitions a few at a time, and creates the coming days")
    func longAway() async throws {
        try await withStores { world in
            let brief = Self.oneDay
            let noon = WallInstant(secondsSince1970: 20_000 * 86_400 + 43_200)
            for day in 0..<3 { _ = try await world.stores.sweeper.sweep(brief, now: noon + .seconds(day * 4 * 86_400)) }
            let days = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'push_history'::regclass"
            for _ in 1...5 { _ = try await world.stores.sweeper.sweep(brief, now: noon + .seconds(20 * 86_400)) }
            #expect(try await world.number(days) == 4 + 1)
        }
    }

    /// A backup reads the history for hours. While the sweep waits for a partition, settles queue behind it. They may
    /// not wait longer than a slow disk would make them.
    @Test("delays no settle while a backup keeps it from dropping a partition")
    func backup() async throws {
        try await withStores { world in
            let brief = Self.oneDay
            let noon = WallInstant(secondsSince1970: 20_000 * 86_400 + 43_200)
            _ = try await world.stores.sweeper.sweep(brief, now: noon)
            try await withPool(world.settings) { backup in
                try await backup.transaction { transaction throws(PostgresError) in
                    try await transaction.script("LOCK TABLE push_history IN ACCESS SHARE MODE")
                    let sweep = Task {
                        try await world.stores.sweeper.sweep(brief, now: noon + .seconds(9 * 86_400))
                    }
                    let settles = Task { try await world.writeHistory(until: sweep) }
                    #expect(await settles.result.isSuccess, "no settle waits longer than the time limit")
                    #expect(await sweep.result.isSuccess)
                }
            }
            #expect(try await world.number("SELECT count(*) FROM push_history") > 0)
        }
    }
}

extension Result {
    fileprivate var isSuccess: Bool {
        if case .success = self { true } else { false }
    }
}

extension StoreWorld {
    /// Pages of shared buffers, read by the pool's only connection.
    fileprivate func pagesRead() async throws -> Int {
        _ = try await pool.read(query("SELECT pg_stat_force_next_flush()"))
        return try await number(
            """
            SELECT sum(heap_blks_read + heap_blks_hit + coalesce(idx_blks_read + idx_blks_hit, 0))
            FROM pg_statio_user_tables
            WHERE relname IN ('route_minutes', 'idempotency_keys', 'feedback')
            """)
    }

    /// Writes to the history as settles do, one after the other. Each would wait as long as a change of a partition.
    fileprivate func writeHistory(until sweep: Task<Int, any Error>) async throws {
        let ended = Ended()
        Task {
            _ = await sweep.result
            await ended.note()
        }
        var number = 0
        while await !ended.isNoted {
            number += 1
            try await pool.script(
                """
                SET LOCAL lock_timeout = '700ms';
                INSERT INTO push_history VALUES ('ffffffff-0000-0000-0000-000000000001', \(number), 0, 1, 1, 2,
                    'BadTopic', 1, '2026-01-01', 1, 1, 1, '\\x8101')
                """)
        }
    }
}

private actor Ended {
    private(set) var isNoted = false
    func note() { isNoted = true }
}
