import CommandLine
import Foundation
import JSON
import NIOCore
import Postgres

/// Many messages to one device each, requested over several connections at once and sent to a sink. Before each round,
/// pgbench measures the commits that the same PostgreSQL makes a second.
struct SinglesBench {
    let world: BenchWorld
    let messages: Int
    let connections: Int
    let rounds: Int
    private static let devices = 5_000
    private static let warmUpCount = 200
    private static let pollEvery: Duration = .milliseconds(20)
    private static let timeout: Duration = .seconds(600)

    func measure() async throws -> SinglesFigures {
        let garden = BroadcastFixture(world: world, devices: Self.devices)
        try await garden.fill()
        return try await RegistryDatabase.within(world) { database in
            try await PgBench.within(world) { commits in try await measure(database, commits) }
        }
    }

    private func measure(
        _ database: RegistryDatabase, _ commits: PgBench
    ) async throws -> SinglesFigures {
        // Opens connections and prepares statements.
        _ = try await send(1..<Self.warmUpCount + 1)
        _ = try await finish(database)
        let before = try await database.transactions()
        var polls: Int64 = 0
        var turns: [SinglesFigures.Round] = []
        var progress = Progress("messages")
        for numbers in Portions(messages, in: rounds).ranges {
            // The gateway is idle by now.
            let commitsPerSecond = try commits.run()
            let used = try world.used()
            let clock = ContinuousClock()
            let start = clock.now
            let load = try await send(numbers)
            polls += try await finish(database)
            let took = BenchRun(time: clock.now - start, used: try world.used() - used)
            turns.append(
                SinglesFigures.Round(
                    messages: numbers.count, accepted: load.time, settled: took,
                    commitsPerSecond: commitsPerSecond))
            progress.show(Int64(numbers.upperBound - 1), of: Int64(messages), "pgbench before each turn")
        }
        progress.end()
        // The reference commits are not counted here: they go to another database.
        return SinglesFigures(
            rounds: turns, connections: connections,
            transactions: try await database.transactions() - before - polls, memoryBytesMax: world.memoryBytesMax)
    }

    private func send(_ numbers: Range<Int>) async throws -> RequestLoad.Figures {
        let base = world.client.base
        guard let url = URL(string: base), let host = url.host, let port = url.port else {
            throw CommandFault(.failed, "\(base) is not an address")
        }
        let key = try text(ofFile: world.gateway.keyFile).filter { !$0.isNewline }
        let load = try await RequestLoad.over(connections, to: host, port: port) { load in
            try await load.run(numbers) { Self.message($0, key) }
        }
        guard load.statuses == [202: numbers.count] else {
            throw CommandFault(.failed, "the gateway answered \(load.statuses)")
        }
        return load
    }

    private static func message(_ number: Int, _ key: String) -> ByteBuffer {
        let body =
            #"{"audience":{"installations":["phone-\#(number % devices + 1)"]},"badge":"increment","#
            + #""notification":{"title":"Noon","body":"Message \#(number)"}}"#
        return ByteBuffer(
            string: "POST \(BenchWorld.app)/messages HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer \(key)\r\n"
                + "content-type: application/json\r\ncontent-length: \(body.utf8.count)\r\n\r\n" + body)
    }

    /// Waits until PostgreSQL has a settled answer of each message.
    ///
    /// - Returns: the number of queries that this took.
    private func finish(_ database: RegistryDatabase) async throws -> Int64 {
        var polls: Int64 = 1
        let clock = ContinuousClock()
        let limit = clock.now + Self.timeout
        while try await database.hasOpenMessages() {
            guard clock.now < limit else { throw CommandFault(.failed, "messages have not finished in ten minutes") }
            try await Task.sleep(for: Self.pollEvery)
            polls += 1
        }
        return polls
    }
}

/// The measurements of single messages.
struct SinglesFigures {
    struct Round {
        let messages: Int
        /// The time from the first request to the last 202.
        let accepted: Duration
        /// The time from the first request to the last settled answer.
        let settled: BenchRun
        /// The rate of pgbench before the round.
        let commitsPerSecond: Double
    }

    /// At least one.
    let rounds: [Round]
    let connections: Int
    let transactions: Int64
    let memoryBytesMax: Int64

    private var messages: Int { rounds.map(\.messages).reduce(0, +) }
    private var used: BenchUsage { rounds.dropFirst().reduce(rounds[0].settled) { $0 + $1.settled }.used }
    /// Messages a second over all rounds.
    private func rate(_ time: (Round) -> Duration) -> Double {
        Double(messages) / (rounds.map(time).reduce(.zero, +) / .seconds(1))
    }
    /// The median of the rounds' ratios: messages settled a second to commits a second.
    private var settledRatio: Double {
        median(rounds.map { Double($0.messages) / ($0.settled.time / .seconds(1)) / $0.commitsPerSecond })
    }
    private var commitsPerSecond: Double { median(rounds.map(\.commitsPerSecond)) }
    private func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
    private func each(_ value: Double) -> Double { value / Double(messages) }
    private func microseconds(_ time: Duration) -> Double { each(time / .microseconds(1)) }

    func write() {
        Console.write(
            "\(messages) messages to one device each, over \(connections) connections, in \(rounds.count) turns")
        var table = TextTable("", "A SECOND")
        table.add("accepted", String(format: "%.0f", rate(\.accepted)))
        table.add("sent and settled", String(format: "%.0f", rate(\.settled.time)))
        table.add("pgbench \(PgBench.arguments.joined(separator: " "))", String(format: "%.0f", commitsPerSecond))
        table.write()
        Console.write(
            "settled_ratio \(String(format: "%.2f", settledRatio)): messages settled a second to commits of pgbench, "
                + "median of the turns")
        Console.write(
            String(
                format: "a message: %.2f transactions, processor time in microseconds: gateway %.0f, PostgreSQL %.0f",
                each(Double(transactions)), microseconds(used.gateway), microseconds(used.database))
                + "; the gateway's memory was at most \(memoryBytesMax >> 20) MiB")
    }

    var json: JSONValue {
        func number(_ value: Double) -> JSONValue { JSONNumber(value).map(JSONValue.number) ?? .null }
        return [
            "messages": .number(.whole(Int64(messages))), "connections": .number(.whole(Int64(connections))),
            "rounds": .number(.whole(Int64(rounds.count))),
            "accepted_per_second": number(rate(\.accepted)), "settled_per_second": number(rate(\.settled.time)),
            "commits_per_second": number(commitsPerSecond), "settled_ratio": number(settledRatio),
            "transactions_per_message": number(each(Double(transactions))),
            "gateway_cpu_us_per_message": number(microseconds(used.gateway)),
            "database_cpu_us_per_message": number(microseconds(used.database)),
            "memory_bytes_max": .number(.whole(memoryBytesMax)),
        ]
    }
}
