import ArgumentParser
import CommandLine
import Foundation
import JSON
import Model
import Postgres

/// `carillon-bench wakeup`: a write to a data tree with many subscriptions, compared with one that has none and with a
/// broadcast.
struct WakeUpBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wakeup", abstract: "A change that many devices subscribe to, beside a broadcast to them.",
        discussion: HelpText.of(
            """
            Devices are imported once, and used again by the next run. All of them subscribe to the root of the app's data \
            tree. Each round measures writes to a leaf without and with these subscriptions, the time until the last \
            device was woken by one write, and a broadcast to the same devices. At the end all subscriptions expire at \
            once, and each device hears of it.

            It fails if a device hears of the end of its subscription never or twice, or if the gateway had more than 150 MB of memory.
            """,
            examples: ["carillon-bench wakeup", "carillon-bench wakeup --devices 1000000 --rounds 5 --json"]))

    @OptionGroup var options: BenchOptions
    @Option(help: ArgumentHelp("How many devices.", valueName: "count")) var devices = 100_000
    @Option(help: ArgumentHelp("How many writes are timed.", valueName: "count")) var writes = 500
    @Option(help: ArgumentHelp("How many times all are run, in turn.", valueName: "count")) var rounds = 3

    private static let memoryBytesMax: Int64 = 150 << 20

    func validate() throws {
        guard (1_000...10_000_000).contains(devices) else { throw ValidationError("--devices takes 1000 to 10000000.") }
        guard (10...100_000).contains(writes) else { throw ValidationError("--writes takes 10 to 100000.") }
        guard (1...100).contains(rounds) else { throw ValidationError("--rounds takes 1 to 100.") }
    }

    func run() async throws {
        try await options.run(standIns: ["--sink", "--open-streams"], data: BenchWorld.data(of: devices)) { world in
            let fixture = WakeUpFixture(
                world: world, broadcasts: BroadcastFixture(world: world, devices: devices), devices: devices)
            try await fixture.fill()
            var figures: [WakeUpFigures] = []
            for _ in 0..<rounds { figures.append(try await fixture.round(writes: writes)) }
            let expiry = try await fixture.expire()
            let memory = world.memoryBytesMax
            show(figures, endsPerSecond: Double(devices) / (expiry / .seconds(1)), memory)
            guard memory <= Self.memoryBytesMax else {
                throw CommandFault(.failed, "the gateway had \(memory >> 20) MiB of memory; the limit is 150 MB")
            }
        }
    }

    private func show(_ figures: [WakeUpFigures], endsPerSecond: Double, _ memory: Int64) {
        let alone = figures.map(\.alone).median
        let watched = figures.map(\.watched).median
        let (woken, broadcast) = (figures.map(\.wakeUpsPerSecond).median, figures.map(\.broadcastPerSecond).median)
        if options.json {
            func number(_ value: Double) -> JSONValue { JSONNumber(value).map { .number($0) } ?? .null }
            return writeJSON(
                .object(
                    JSONObject([
                        JSONMember("write_p99_ms", number(alone)), JSONMember("watched_write_p99_ms", number(watched)),
                        JSONMember("write_ratio", number(watched / alone)),
                        JSONMember("wake_ups_per_second", number(woken)),
                        JSONMember("broadcast_per_second", number(broadcast)),
                        JSONMember("fan_out_ratio", number(woken / broadcast)),
                        JSONMember("expired_per_second", number(endsPerSecond)),
                        JSONMember("memory_bytes_max", .number(.whole(memory))),
                    ])))
        }
        Console.write(
            String(
                format: "write: p99 %.2f ms without subscriptions, %.2f ms with %d: %.2f times", alone, watched,
                devices,
                watched / alone))
        Console.write(
            String(
                format: "fan-out: %.0f pushes a second, %.2f of a broadcast's %.0f", woken, woken / broadcast, broadcast
            ))
        Console.write(String(format: "expiry: %.0f subscriptions a second, each with its notice", endsPerSecond))
        Console.write("memory: the gateway had at most \(memory >> 20) MiB")
    }
}

/// The figures of one round.
private struct WakeUpFigures {
    /// The 99th percentiles of writes without and with subscriptions, in milliseconds.
    let alone: Double
    let watched: Double
    let wakeUpsPerSecond: Double
    let broadcastPerSecond: Double
}

/// An app whose devices all subscribe to the root of its tree, and another app without subscriptions.
private struct WakeUpFixture {
    let world: BenchWorld
    let broadcasts: BroadcastFixture
    let devices: Int

    private static let timeout: Duration = .seconds(600)
    private static let pollEvery: Duration = .milliseconds(10)
    private static let clock = ContinuousClock()

    /// Imports devices and makes their subscriptions, with the rows that the API would make.
    func fill() async throws {
        try await broadcasts.fill()
        try await world.client.send("POST", "/v1/apps", ["slug": "quiet", "name": "Quiet"], as: .app)
        _ = try await world.client.call("PUT", BenchWorld.app + "/rules", Array(#"{"rules": {".read": true}}"#.utf8))
        // One fan-out at a time: the writes that are timed have none beside them.
        let settings = #"{"wakeup": {"enabled": true, "gather_ms": 60000}}"#
        _ = try await world.client.call("PATCH", BenchWorld.app, Array(settings.utf8))
        try await write("bench", 0)
        try await database { try await $0.script(Self.subscribe) }
        _ = try await broadcasts.broadcast()
    }

    private static let subscribe = """
        DELETE FROM due_watches; DELETE FROM subscriptions; DELETE FROM watches;
        INSERT INTO watches (app_id, path, weight_bytes, weight_leaves) SELECT id, '/', 20, 1 FROM apps WHERE slug = 'bench';
        INSERT INTO subscriptions (app_id, watch_id, registration_id, version, mode, expires_at)
        SELECT r.app_id, w.id, r.id, 1, 2, '2100-01-01' FROM registrations r JOIN watches w ON w.app_id = r.app_id
        WHERE r.state <> \(RegistrationState.retired.sql) ORDER BY r.id;
        UPDATE watches SET wants_value = true;
        INSERT INTO subscription_progress (subscription_id, sent_seq) SELECT id, 0 FROM subscriptions;
        ANALYZE subscriptions; ANALYZE subscription_progress; ANALYZE watches;
        """

    private func database<Answer>(_ body: (PostgresPool) async throws -> Answer) async throws -> Answer {
        try await world.withDatabase(statementTime: Self.timeout) { try await body($0) }
    }

    func round(writes: Int) async throws -> WakeUpFigures {
        let woken = try await wakeUp()
        let watched = try await timed(writes, in: "bench")
        let alone = try await timed(writes, in: "quiet")
        let broadcast = try await broadcasts.broadcast()
        return WakeUpFigures(
            alone: alone, watched: watched, wakeUpsPerSecond: Double(devices) / (woken / .seconds(1)),
            broadcastPerSecond: Double(devices) / (broadcast.time / .seconds(1)))
    }

    private func write(_ app: String, _ value: Int) async throws {
        _ = try await world.client.call("PUT", "/base/\(app)/leaf.json", Array(String(value).utf8))
    }

    /// The 99th percentile of writes, one after the other, in milliseconds.
    private func timed(_ count: Int, in app: String) async throws -> Double {
        var times: [Duration] = []
        for number in 0..<count {
            let start = Self.clock.now
            try await write(app, number)
            times.append(Self.clock.now - start)
        }
        return Percentiles(times).value(at: 0.99) / .milliseconds(1)
    }

    /// One write, until every push that it causes is settled.
    private func wakeUp() async throws -> Duration {
        try await database { pool in
            // The last fan-out's pause is over for this measurement.
            try await pool.script("UPDATE watches SET cut_at = NULL; UPDATE due_watches SET due_at = now()")
            try await Self.waitUntilQuiet(pool)
            try await pool.script("UPDATE watches SET cut_at = NULL")
            let start = Self.clock.now
            try await write("bench", Int.random(in: 1_000_000...2_000_000))
            try await Self.waitUntilQuiet(pool)
            return Self.clock.now - start
        }
    }

    /// Lets all subscriptions expire, until each device has heard of it.
    func expire() async throws -> Duration {
        try await database { pool in
            let before = try await pool.read(Query(Self.heard)).one(Int64.init)
            try await pool.script("UPDATE subscriptions SET expires_at = now()")
            let start = Self.clock.now
            try await Self.waitUntil(Self.isNotifiedOfExpiry, pool)
            let time = Self.clock.now - start
            let heard = try await pool.read(Query(Self.heard)).one(Int64.init) - before
            guard heard == Int64(devices) else {
                throw CommandFault(.failed, "\(devices) subscriptions expired, but \(heard) devices heard of it")
            }
            return time
        }
    }

    private static let heard = Statement(
        unprepared: """
            SELECT coalesce(sum(accepted), 0)::bigint FROM messages WHERE origin = \(MessageOrigin.revocation.rawValue)
            """)

    private static func waitUntilQuiet(_ pool: PostgresPool) async throws { try await waitUntil(isQuiet, pool) }

    private static func waitUntil(_ statement: Statement, _ pool: PostgresPool) async throws {
        let end = clock.now + timeout
        while clock.now < end {
            if try await pool.read(Query(statement)).one({ row throws(PostgresError) in try row.bool() }) { return }
            try await Task.sleep(for: pollEvery)
        }
        throw CommandFault(.failed, "the devices have not heard of it in ten minutes")
    }

    private static let isQuiet = Statement(
        unprepared: "SELECT NOT EXISTS (SELECT FROM due_watches) AND NOT EXISTS (SELECT FROM parcels)")

    private static let isNotifiedOfExpiry = Statement(
        unprepared: "SELECT NOT EXISTS (SELECT FROM subscriptions) AND NOT EXISTS (SELECT FROM parcels)")
}
