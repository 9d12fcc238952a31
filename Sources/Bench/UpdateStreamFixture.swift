import CommandLine
import Foundation
import JSON
import Postgres

/// An update as a ticker would send it: of one of a thousand items in turn, with four fields. The same number is always
/// the same update.
struct TickerLine {
    static let items = 1_000

    /// From 0 on.
    let number: Int

    var item: String { "stock-\(number % Self.items)" }
    /// By rising names.
    var fields: [(name: String, text: String)] {
        let price = 20 + number % 977
        return [
            ("ask", "\(price).75"), ("bid", "\(price).25"), ("last_price", "\(price).50"),
            ("stock_name", "Stock \(number % Self.items)"),
        ]
    }

    /// The line of a producer's stream, which is numbered from 1 on.
    var json: String {
        let members = fields.map { #""\#($0.name)":"\#($0.text)""# }.joined(separator: ",")
        return #"{"line":\#(number + 1),"item":"\#(item)","fields":{\#(members)}}"# + "\n"
    }
}

/// A producer that sends its updates as streams, each from a file that is made for it.
struct UpdateStreamFixture {
    private let world: BenchWorld
    /// An earlier run's producer has sent lines with these numbers.
    private let producer = UUID().uuidString.lowercased()

    init(world: BenchWorld) { self.world = world }

    /// Sends the lines with these numbers in one request.
    /// - Returns: the run from the first byte to the last answer.
    func run(_ numbers: Range<Int>) async throws -> BenchRun {
        let path = world.folder.file("updates.ndjson")
        let content = Data(numbers.map { TickerLine(number: $0).json }.joined().utf8)
        guard FileManager.default.createFile(atPath: path, contents: content),
            let file = FileHandle(forReadingAtPath: path)
        else { throw CommandFault(.failed, "\(path) can't be written") }
        defer { try? FileManager.default.removeItem(atPath: path) }
        let before = try world.used()
        let clock = ContinuousClock()
        let start = clock.now
        var last = JSONValue.null
        try await world.client.stream(BenchWorld.app + "/updates?producer=\(producer)", file: file) { line in
            guard line.object?["code"] == nil else {
                throw CommandFault(.failed, "a line was refused: \(String(decoding: line.bytes, as: UTF8.self))")
            }
            last = line
        }
        let time = clock.now - start
        guard last.count("through") == Int64(numbers.upperBound) else {
            throw CommandFault(.failed, "the stream ended at line \(last.count("through"))")
        }
        return BenchRun(time: time, used: try world.used() - before)
    }
}

/// The least work of writing updates: one statement that writes a thousand rows, and its commit. The table is that of
/// items, in a database beside the gateway's.
struct ReferenceItems {
    private let world: BenchWorld
    private let pool: PostgresPool

    static func within<Answer>(
        _ world: BenchWorld, _ body: (ReferenceItems) async throws -> Answer
    ) async throws -> Answer {
        try await ReferenceDatabase.within(world) {
            try await world.migrate(database: ReferenceDatabase.name)
            return try await world.withDatabase(ReferenceDatabase.name, connectionsMax: 1) { pool in
                try await pool.script("INSERT INTO apps (slug, name) VALUES ('bench', 'Bench')")
                return try await body(ReferenceItems(world: world, pool: pool))
            }
        }
    }

    /// Writes the updates with these numbers, in their order.
    func write(_ numbers: Range<Int>) async throws -> BenchRun {
        // Made before the clock starts, so that only PostgreSQL is measured. A statement has each item once.
        let queries = stride(from: numbers.lowerBound, to: numbers.upperBound, by: TickerLine.items).map {
            Self.query(($0..<min(numbers.upperBound, $0 + TickerLine.items)).map(TickerLine.init))
        }
        let before = try world.used()
        let clock = ContinuousClock()
        let start = clock.now
        for query in queries { _ = try await pool.run(query) }
        let time = clock.now - start
        return BenchRun(time: time, used: try world.used() - before)
    }

    private static func query(_ lines: [TickerLine]) -> Query {
        let fields = lines.map(\.fields)
        return Query(upsert) {
            $0.textArray("items", lines.map(\.item))
            $0.textArray("names", TickerLine(number: 0).fields.map(\.name))
            $0.textArray("asks", fields.map { $0[0].text })
            $0.textArray("bids", fields.map { $0[1].text })
            $0.textArray("last_prices", fields.map { $0[2].text })
            $0.textArray("stock_names", fields.map { $0[3].text })
        }
    }

    private static let upsert = Statement(
        "bench_upsert_items",
        """
        INSERT INTO items AS known (app_id, name, seq, field_names, field_texts, field_seqs)
        SELECT apps.id, line.item, 1, :names, ARRAY[line.ask, line.bid, line.last_price, line.stock_name], '{1,1,1,1}'
        FROM apps CROSS JOIN unnest(:items, :asks, :bids, :last_prices, :stock_names)
            AS line (item, ask, bid, last_price, stock_name)
        ON CONFLICT (app_id, name) DO UPDATE SET seq = known.seq + 1, field_names = excluded.field_names,
            field_texts = excluded.field_texts, field_seqs = array_fill(known.seq + 1, ARRAY[4]),
            updated_at = clock_timestamp()
        """)
}
