import ArgumentParser
import Basis
import Calendar
import CommandLine
import Foundation
import JSON

/// `carillon-bench latency`: one push at a time on an idle system, from the request to the stand-in's receipt.
struct LatencyBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "latency", abstract: "From the HTTP request to the stand-in's receipt, one push at a time.",
        discussion: HelpText.of(
            """
            Each push is a POST of a message to one installation, durably accepted by PostgreSQL as in production, and \
            sent over TLS and HTTP/2. The next one waits until its message has finished, and a little longer. Both clocks \
            are this machine's. In turn with each push goes what none can do without: three commits to the same PostgreSQL, \
            one after the other, and an empty request to the same gateway. What holds on another machine is the ratio.

            With --beside-devices the pushes go to one of so many devices, in turn to which nothing else is sent, a \
            broadcast at half of its full rate, and one at full speed; each push is taken until its answer is settled. So \
            often is said by --rounds, and --pushes are those of all rounds together.

            With --singles so many messages to one device each are handed in over --connections at once, to a sink: what is \
            printed is how many a second are accepted, and sent and settled, and what each costs. They come in --rounds \
            turns, and before each pgbench commits rows one by one in the same PostgreSQL. settled_ratio is the rate of \
            settled messages to pgbench's.
            """,
            examples: [
                "carillon-bench latency --pushes 500", "carillon-bench latency --beside-devices 300000",
                "carillon-bench latency --singles 20000", "carillon-bench latency --json",
            ]))

    @OptionGroup var options: BenchOptions
    @Option(
        help: ArgumentHelp("How many pushes to each provider, or in each company (default: 300).", valueName: "count"))
    var pushes: Int?

    @Option(help: ArgumentHelp("Measures beside a broadcast to so many devices instead.", valueName: "count"))
    var besideDevices: Int?
    @Option(
        help: ArgumentHelp("Turns of --singles, or of each part of --beside-devices (default: 5).", valueName: "count"))
    var rounds: Int?

    @Option(help: ArgumentHelp("Sends so many single messages at once instead.", valueName: "count"))
    var singles: Int?
    @Option(help: ArgumentHelp("Of --singles, how many are handed in at once (default: 64).", valueName: "count"))
    var connections: Int?

    /// A stand-in shows at least this many pushes of a token.
    private static let pushesMax = 900
    private static let pushesBesideMax = 100_000
    private static let pushesDefault = 300
    private static let roundsDefault = 5
    private static let connectionsDefault = 64

    func validate() throws {
        let pushesMax = besideDevices == nil ? Self.pushesMax : Self.pushesBesideMax
        guard (10...pushesMax).contains(pushes ?? Self.pushesDefault) else {
            throw ValidationError("--pushes takes 10 to \(pushesMax).")
        }
        guard (1...10).contains(rounds ?? 1) else { throw ValidationError("--rounds takes 1 to 10.") }
        guard (10_000...10_000_000).contains(besideDevices ?? 10_000) else {
            throw ValidationError("--beside-devices takes 10000 to 10000000.")
        }
        guard (100...1_000_000).contains(singles ?? 100) else {
            throw ValidationError("--singles takes 100 to 1000000.")
        }
        guard (1...1_000).contains(connections ?? 1) else {
            throw ValidationError("--connections takes 1 to 1000.")
        }
        try validateTogether()
    }

    /// Refuses combinations of options of which one would have no effect.
    private func validateTogether() throws {
        guard singles == nil || besideDevices == nil else {
            throw ValidationError("Only one of --singles and --beside-devices.")
        }
        guard singles == nil || pushes == nil else {
            throw ValidationError("--singles says how many: --pushes is for those one at a time.")
        }
        guard rounds == nil || besideDevices != nil || singles != nil else {
            throw ValidationError("--rounds is of --beside-devices and --singles.")
        }
        guard connections == nil || singles != nil else { throw ValidationError("--connections is of --singles.") }
    }

    func run() async throws {
        let pushes = pushes ?? Self.pushesDefault
        if let singles {
            let connections = connections ?? Self.connectionsDefault
            // All messages may wait at once.
            let settings = ["CARILLON_BACKLOG_MESSAGES": "1000000"]
            return try await options.run(
                standIns: ["--sink", "--open-streams"], data: "singles", settings: settings
            ) { world in
                let figures = try await SinglesBench(
                    world: world, messages: singles, connections: connections,
                    rounds: rounds ?? Self.roundsDefault
                ).measure()
                if options.json { writeJSON(figures.json) } else { figures.write() }
            }
        }
        guard let besideDevices else { return try await options.run { world in try await measure(world, pushes) } }
        let data = BenchWorld.data(of: besideDevices)
        try await options.run(standIns: ["--sink", "--open-streams"], data: data) { world in
            let figures = try await LatencyUnderLoad(
                world: world, devices: besideDevices, pushes: pushes, rounds: rounds ?? Self.roundsDefault
            ).measure()
            if options.json { writeJSON(figures.json) } else { figures.write() }
        }
    }

    private func measure(_ world: BenchWorld, _ pushes: Int) async throws {
        let report = try await ReferenceCommits.within(world) { commits in
            let fixture = LatencyFixture(world: world, commits: commits)
            try await fixture.fill()
            var report: [JSONMember] = []
            for provider in LatencyFixture.Provider.allCases {
                let figures = try await fixture.measure(provider, pushes: pushes)
                if !options.json { figures.write(provider) }
                report.append(JSONMember(provider.rawValue, figures.json))
            }
            return report
        }
        let memory = world.memoryBytesMax
        if options.json {
            writeJSON(.object(JSONObject(report + [JSONMember("memory_bytes_max", .number(.whole(memory)))])))
        } else {
            Console.write("the gateway's memory was at most \(memory >> 20) MiB")
        }
    }
}

/// An app with one phone of each provider.
private struct LatencyFixture {
    enum Provider: String, CaseIterable { case apns, fcm }

    let world: BenchWorld
    let commits: ReferenceCommits
    /// Acceptance, plan and lease: each is committed before the next begins.
    private static let commitsOfAPush = 3
    /// After these, connections are open, statements are prepared and caches are warm.
    private static let warmUpCount = 30
    /// Long enough for the work after a settle to end.
    private static let pause: Duration = .milliseconds(25)
    private static let pollEvery: Duration = .milliseconds(5)
    private static let timeout: Duration = .seconds(60)

    func fill() async throws {
        try await world.fill()
        for provider in Provider.allCases {
            var device: [JSONMember] = [
                JSONMember("provider", .string(provider.rawValue)), JSONMember("token", .string(token(provider))),
            ]
            if provider == .apns { device.append(JSONMember("topic", .string(OwnStandIns.topic))) }
            try await world.client.send(
                "PUT", BenchWorld.app + "/devices/" + provider.rawValue, .object(JSONObject(device)),
                as: .registeredDevice)
        }
    }

    private func token(_ provider: Provider) -> String {
        provider == .apns ? "a11e" + String(repeating: "0", count: 60) : "bench:" + String(repeating: "q", count: 40)
    }

    func measure(_ provider: Provider, pushes: Int) async throws -> LatencyFigures {
        var progress = Progress(provider.rawValue)
        let before = try world.used()
        var sent: [WallInstant] = []
        var accepted: [Duration] = []
        var references: [Duration] = []
        for number in 0..<(Self.warmUpCount + pushes) {
            let start = Self.now
            let message = try await world.client.send(
                "POST", BenchWorld.app + "/messages", content(provider, number), as: .message)
            let end = Self.now
            try await finish(message.shown("id"))
            try await Task.sleep(for: Self.pause)
            let reference = try await reference(number)
            try await Task.sleep(for: Self.pause)
            guard number >= Self.warmUpCount else {
                progress.show(0, of: nil, "warming up")
                continue
            }
            progress.show(Int64(number - Self.warmUpCount + 1), of: Int64(pushes), "one at a time")
            sent.append(start)
            accepted.append(end - start)
            references.append(reference)
        }
        progress.end()
        let used = try world.used() - before
        let arrivals = try await arrivals(provider)
        let received = try sent.enumerated().map { index, start throws(CommandFault) in
            guard let arrival = arrivals[Int64(Self.warmUpCount + index)] else {
                throw CommandFault(.failed, "the stand-in of \(provider.rawValue) did not show push \(index + 1)")
            }
            return arrival - start
        }
        return LatencyFigures(
            accepted: Percentiles(accepted), received: Percentiles(received), reference: Percentiles(references),
            used: used, pushes: Self.warmUpCount + pushes)
    }

    /// The least that a push needs on this machine: three commits and an empty HTTP request.
    private func reference(_ number: Int) async throws -> Duration {
        let clock = ContinuousClock()
        let start = clock.now
        for _ in 0..<Self.commitsOfAPush { try await commits.commit(number) }
        _ = try await world.client.call("GET", "/healthz")
        return clock.now - start
    }

    private static var now: WallInstant {
        let now = Date().timeIntervalSince1970
        return WallInstant(microseconds: Int64(now * 1_000_000))
    }

    private func content(_ provider: Provider, _ number: Int) -> JSONValue {
        [
            "audience": ["installations": .array([.string(provider.rawValue)])],
            "notification": ["title": "Noon", "body": "Twelve o'clock"], "data": ["number": .string(String(number))],
        ]
    }

    private func finish(_ message: String) async throws {
        let clock = ContinuousClock()
        let limit = clock.now + Self.timeout
        while clock.now < limit {
            try await Task.sleep(for: Self.pollEvery)
            let account = try await world.client.get(BenchWorld.app + "/messages/" + message, as: .message)
            guard account.shown("state") == "finished" else { continue }
            guard account.object?["outcomes"]?.count("accepted") == 1 else {
                throw CommandFault(
                    .failed, "a push was not accepted: \(String(decoding: account.bytes, as: UTF8.self))")
            }
            return
        }
        throw CommandFault(.failed, "message \(message) has not finished within a minute")
    }

    /// The times at which the stand-in received the pushes, by their number.
    private func arrivals(_ provider: Provider) async throws -> [Int64: WallInstant] {
        let url = provider == .apns ? world.standIns.production : world.standIns.fcm
        var arrivals: [Int64: WallInstant] = [:]
        for push in try await world.standIns.pushes(to: token(provider), at: url) {
            let payload = push.object?["payload"]?.object
            let data = provider == .apns ? payload : payload?["message"]?.object?["data"]?.object
            guard let number = data?["number"]?.string.flatMap({ Int64($0) }),
                let arrival = push.object?["at"]?.string.flatMap({ RFC3339.parse($0) })
            else { continue }
            arrivals[number] = arrival
        }
        return arrivals
    }
}

/// The measurements of one provider.
private struct LatencyFigures {
    let accepted: Percentiles
    let received: Percentiles
    /// Three commits and an empty request.
    let reference: Percentiles
    /// The processor time of the whole measurement. PostgreSQL's includes the reference's commits.
    let used: BenchUsage
    /// Includes the pushes of the warm-up.
    let pushes: Int

    /// Seconds for a million, that is microseconds a push.
    private func perMillion(_ time: Duration) -> Double { time / .seconds(1) * 1_000_000 / Double(pushes) }

    private var ratio: Double { received.value(at: 0.5) / reference.value(at: 0.5) }

    func write(_ provider: LatencyFixture.Provider) {
        Console.write("\(provider.rawValue): \(received.count) pushes, one at a time, in milliseconds")
        var table = TextTable("", "P50", "P90", "P99", "MAX")
        let rows = [
            ("request to 202", accepted), ("request to the provider", received),
            ("three commits and an empty request", reference),
        ]
        for (name, figures) in rows {
            let shown = figures.all.map { String(format: "%.2f", $0.value) }
            table.add(name, shown[0], shown[1], shown[2], shown[3])
        }
        table.write()
        Console.write(
            "to the provider a push took \(String(format: "%.2f", ratio)) times as long as three commits and an empty "
                + "request (p50)")
        Console.write(
            "processor seconds for a million of them, with what they are held against: the gateway "
                + String(format: "%.0f", perMillion(used.gateway)) + ", PostgreSQL "
                + String(format: "%.0f", perMillion(used.database)))
    }

    var json: JSONValue {
        func object(_ figures: Percentiles) -> JSONValue {
            .object(
                JSONObject(
                    figures.all.map { JSONMember($0.name + "_ms", JSONNumber($0.value).map(JSONValue.number) ?? .null) }
                ))
        }
        return [
            "pushes": .number(.whole(Int64(received.count))), "accepted": object(accepted),
            "received": object(received), "reference": object(reference),
            "p50_ratio": JSONNumber(ratio).map(JSONValue.number) ?? .null,
            "gateway_cpu_s_per_million": JSONNumber(perMillion(used.gateway)).map(JSONValue.number) ?? .null,
            "database_cpu_s_per_million": JSONNumber(perMillion(used.database)).map(JSONValue.number) ?? .null,
        ]
    }
}
