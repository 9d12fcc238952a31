import Foundation
import JSON
import NIOCore

/// Many messages to one device each, handed in over some connections at once, to a sink.
struct SinglesBench {
    let world: BenchWorld
    let messages: Int
    let connections: Int
    private static let devices = 1_000
    private static let warmUpCount = 200
    private static let look: Duration = .milliseconds(20)
    private static let patience: Duration = .seconds(600)

    func measure() async throws -> SinglesFigures {
        let garden = BroadcastGarden(world: world, devices: Self.devices)
        try await garden.furnish()
        return try await RegistryDatabase.within(world) { database in try await measure(database) }
    }

    private func measure(_ database: RegistryDatabase) async throws -> SinglesFigures {
        // Opens connections and prepares statements.
        _ = try await send(Self.warmUpCount)
        _ = try await finish(database)
        let (before, used) = (try await database.transactions(), try world.used())
        let clock = ContinuousClock()
        let start = clock.now
        let load = try await send(messages)
        let looks = try await finish(database)
        let took = clock.now - start
        let sent = try world.used() - used
        return SinglesFigures(
            messages: messages, connections: connections, accepted: load.time, settled: took,
            transactions: try await database.transactions() - before - looks, used: sent,
            memoryBytesMax: world.memoryBytesMax)
    }

    private func send(_ count: Int) async throws -> RequestLoad.Figures {
        let base = world.client.base
        guard let url = URL(string: base), let host = url.host, let port = url.port else {
            throw CommandFault(.failed, "\(base) is no address")
        }
        let key = try text(ofFile: world.gateway.keyFile).filter { !$0.isNewline }
        let load = try await RequestLoad.over(connections, to: host, port: port) { load in
            try await load.run(1..<count + 1) { Self.message($0, key) }
        }
        guard load.statuses == [202: count] else {
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

    /// Until PostgreSQL has a settled answer of each.
    ///
    /// - Returns: how often it was asked.
    private func finish(_ database: RegistryDatabase) async throws -> Int64 {
        var looks: Int64 = 1
        let clock = ContinuousClock()
        let limit = clock.now + Self.patience
        while try await database.hasOpenMessages() {
            guard clock.now < limit else { throw CommandFault(.failed, "messages have not finished in ten minutes") }
            try await Task.sleep(for: Self.look)
            looks += 1
        }
        return looks
    }
}

/// What was measured of single messages.
struct SinglesFigures {
    let messages: Int
    let connections: Int
    /// From the first request to the last 202.
    let accepted: Duration
    /// From the first request to the last settled answer.
    let settled: Duration
    let transactions: Int64
    let used: BenchUsage
    let memoryBytesMax: Int64

    private func rate(_ time: Duration) -> Double { Double(messages) / (time / .seconds(1)) }
    private func each(_ value: Double) -> Double { value / Double(messages) }
    private func microseconds(_ time: Duration) -> Double { each(time / .microseconds(1)) }

    func say() {
        Console.say("\(messages) messages to one device each, over \(connections) connections")
        var table = TextTable("", "A SECOND")
        table.add("accepted", String(format: "%.0f", rate(accepted)))
        table.add("sent and settled", String(format: "%.0f", rate(settled)))
        table.say()
        Console.say(
            String(
                format: "a message: %.2f transactions, processor time in microseconds: gateway %.0f, PostgreSQL %.0f",
                each(Double(transactions)), microseconds(used.gateway), microseconds(used.database))
                + "; the gateway's memory was at most \(memoryBytesMax >> 20) MiB")
    }

    var json: JSONValue {
        func number(_ value: Double) -> JSONValue { JSONNumber(value).map(JSONValue.number) ?? .null }
        return [
            "messages": .number(.whole(Int64(messages))), "connections": .number(.whole(Int64(connections))),
            "accepted_per_second": number(rate(accepted)), "settled_per_second": number(rate(settled)),
            "transactions_per_message": number(each(Double(transactions))),
            "gateway_cpu_us_per_message": number(microseconds(used.gateway)),
            "database_cpu_us_per_message": number(microseconds(used.database)),
            "memory_bytes_max": .number(.whole(memoryBytesMax)),
        ]
    }
}
