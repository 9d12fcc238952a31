import ArgumentParser
import Foundation
import JSON

/// `carillon bench broadcast`: one message to many devices, beside what the wire alone can do.
struct BroadcastBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "broadcast", abstract: "One message to many devices, beside nghttp2's load generator.",
        discussion: HelpText.of(
            """
            Devices are imported once, and used again by the next run. Each round sends a message with a badge to all of \
            them, from its acceptance to the last settled push, with PostgreSQL's default durability; then h2load sends as \
            many requests of that size to the same sink. What holds on another machine are the ratios.

            With --answer-ms each round sends a second message, to a sink whose answers all come so late: what a lane \
            makes of a provider that is far away.

            With --values each push says something of its own device, as templates do.

            With --rate, --pause-seconds or --cancel one broadcast is sent by two gateways, limited, or paused or cancelled \
            in its middle, and the sink's count is held against the account.
            """,
            examples: [
                "carillon bench broadcast", "carillon bench broadcast --devices 1000000 --rounds 5 --json",
                "carillon bench broadcast --answer-ms 50", "carillon bench broadcast --devices 10000000 --values",
                "carillon bench broadcast --devices 1000000 --rate 20000",
                "carillon bench broadcast --devices 1000000 --pause-seconds 60",
            ]))

    @OptionGroup var options: BenchOptions
    @Option(help: ArgumentHelp("How many devices.", valueName: "count")) var devices = 100_000
    @Option(help: ArgumentHelp("How many times both are run, in turn.", valueName: "count")) var rounds = 5
    @Option(
        help: ArgumentHelp(
            "Measures also with answers that come so many milliseconds late.", valueName: "milliseconds"))
    var answerMs: Int?
    @Flag(help: "Puts a value of each device's own into its push.") var values = false
    @Option(help: ArgumentHelp("Measures instead how well so many pushes a second are kept.", valueName: "pushes"))
    var rate: Int?
    @Option(help: ArgumentHelp("Pauses instead one in its middle, for so long.", valueName: "seconds"))
    var pauseSeconds: Int?
    @Flag(help: "Cancels instead one in its middle.") var cancel = false

    func validate() throws {
        guard (10_000...10_000_000).contains(devices) else {
            throw ValidationError("--devices takes 10000 to 10000000.")
        }
        guard (1...100).contains(rounds) else { throw ValidationError("--rounds takes 1 to 100.") }
        guard (1...10_000).contains(answerMs ?? 1) else { throw ValidationError("--answer-ms takes 1 to 10000.") }
        guard (1...1_000_000).contains(rate ?? 1) else { throw ValidationError("--rate takes 1 to 1000000.") }
        guard (2...3_600).contains(pauseSeconds ?? 2) else { throw ValidationError("--pause-seconds takes 2 to 3600.") }
        guard (rate == nil ? 0 : 1) + (pauseSeconds == nil ? 0 : 1) + (cancel ? 1 : 0) <= 1 else {
            throw ValidationError("Only one of --rate, --pause-seconds and --cancel.")
        }
    }

    private var wish: BroadcastLife.Wish? {
        if let rate { return .rate(rate) }
        if let pauseSeconds { return .pause(.seconds(pauseSeconds)) }
        return cancel ? .cancel : nil
    }

    func run() async throws {
        try await options.run(standIns: ["--sink", "--open-streams"], data: BenchWorld.data(of: devices)) { world in
            guard let wish else { return try await measure(world) }
            let garden = BroadcastGarden(world: world, devices: devices, hasValues: values)
            try await garden.furnish()
            let second = try await world.addGateway()
            // Opens connections and prepares statements.
            _ = try await garden.broadcast()
            var figures = try await BroadcastLife(world: world, garden: garden).perform(wish)
            figures.memoryBytesMax = max(world.memoryBytesMax, ProcessUsage(of: second.process)?.memoryBytesMax ?? 0)
            if options.json { sayJSON(figures.json) } else { figures.say(wish) }
            guard figures.addsUp else { throw CommandFault(.failed, "the account and the sink don't agree") }
        }
    }

    private func measure(_ world: BenchWorld) async throws {
        let reference = try ReferenceSender(world.folder, sink: world.standIns, requests: devices)
        let garden = BroadcastGarden(world: world, devices: devices, hasValues: values)
        try await garden.furnish()
        // Opens connections, prepares statements, and makes room on the badges' pages.
        _ = try await garden.broadcast()
        var figures = BroadcastFigures(devices: devices)
        var progress = Progress("broadcasts")
        for round in 1...rounds {
            let ours = try await garden.broadcast()
            figures.add(ours, late: try await lateBroadcast(garden), try reference.run(devices))
            progress.show(Int64(round), of: Int64(rounds), "each beside h2load")
        }
        progress.end()
        figures.memoryBytesMax = world.memoryBytesMax
        if options.json { sayJSON(figures.json) } else { figures.say(answerMs: answerMs) }
    }

    /// nil where it is not asked for.
    private func lateBroadcast(_ garden: BroadcastGarden) async throws -> BroadcastGarden.Broadcast? {
        guard let answerMs else { return nil }
        try await garden.world.standIns.answerLate(by: answerMs)
        let late = try await garden.broadcast()
        try await garden.world.standIns.answerLate(by: 0)
        return late
    }
}

/// What several rounds gave; medians are shown.
struct BroadcastFigures {
    private struct Round {
        let ours: BroadcastGarden.Broadcast
        let late: BroadcastGarden.Broadcast?
        let reference: ReferenceSender.Figures
    }

    let devices: Int
    private var rounds: [Round] = []
    var memoryBytesMax: Int64 = 0

    init(devices: Int) { self.devices = devices }

    mutating func add(
        _ ours: BroadcastGarden.Broadcast, late: BroadcastGarden.Broadcast?, _ reference: ReferenceSender.Figures
    ) {
        rounds.append(Round(ours: ours, late: late, reference: reference))
    }

    private func median(_ value: (Round) -> Double) -> Double {
        let sorted = rounds.map(value).sorted()
        return sorted.isEmpty ? 0 : sorted[sorted.count / 2]
    }

    /// Seconds for a million pushes, that is microseconds a push.
    private func perMillion(_ value: @escaping (Round) -> Duration) -> Double {
        median { value($0) / .seconds(1) } * 1_000_000 / Double(devices)
    }

    private var rate: Double { median { Double(devices) / ($0.ours.time / .seconds(1)) } }
    private var referenceRate: Double { median { $0.reference.perSecond } }
    private var rateRatio: Double {
        median { Double(devices) / ($0.ours.time / .seconds(1)) / $0.reference.perSecond }
    }
    /// Of those with late answers; 0 where there are none.
    private var lateRate: Double {
        median { round in round.late.map { Double(devices) / ($0.time / .seconds(1)) } ?? 0 }
    }
    private var lateRatio: Double { median { round in round.late.map { round.ours.time / $0.time } ?? 0 } }
    private var lateProcessor: Double { perMillion { $0.late?.used.program ?? .zero } }
    private var hasLate: Bool { rounds.contains { $0.late != nil } }
    private var processorRatio: Double { median { $0.ours.used.program / $0.reference.processor } }
    /// The slowest of all rounds.
    private var firstMs: Double { rounds.map { $0.ours.first / .milliseconds(1) }.max() ?? 0 }
    private var sinkLoad: SinkLoad {
        SinkLoad(
            ours: median { $0.ours.used.sink / $0.ours.time },
            reference: median { $0.reference.sink / $0.reference.time })
    }

    func say(answerMs: Int?) {
        Console.say("\(devices) devices, \(rounds.count) rounds, medians")
        var table = TextTable("", "PUSHES/S", "CPU S PER MILLION")
        func seconds(_ value: Double) -> String { String(format: "%.2f", value) }
        table.add(
            "carillon, with PostgreSQL", String(format: "%.0f", rate), seconds(perMillion { $0.ours.used.program }))
        table.add("  of these the gateway", "", seconds(perMillion { $0.ours.used.gateway }))
        table.add("  of these PostgreSQL", "", seconds(perMillion { $0.ours.used.database }))
        table.add(
            "h2load", String(format: "%.0f", referenceRate), seconds(perMillion { $0.reference.processor }))
        if let answerMs, hasLate {
            table.add(
                "carillon, answers \(answerMs) ms late", String(format: "%.0f", lateRate), seconds(lateProcessor))
        }
        table.say()
        if hasLate { Console.say("with late answers \(seconds(lateRatio)) of the rate without") }
        Console.say(
            "ratios: rate \(seconds(rateRatio)), processor \(seconds(processorRatio)); the gateway's memory was at most "
                + "\(memoryBytesMax >> 20) MiB")
        sinkLoad.say()
        Console.say("the first push of a round came after \(String(format: "%.0f", firstMs)) ms at the latest")
    }

    var json: JSONValue {
        func number(_ value: Double) -> JSONValue { JSONNumber(value).map(JSONValue.number) ?? .null }
        return [
            "late_answers_per_second": hasLate ? number(lateRate) : .null,
            "late_answers_ratio": hasLate ? number(lateRatio) : .null,
            "late_answers_cpu_s_per_million": hasLate ? number(lateProcessor) : .null,
            "devices": .number(.whole(Int64(devices))), "rounds": .number(.whole(Int64(rounds.count))),
            "pushes_per_second": number(rate), "reference_per_second": number(referenceRate),
            "rate_ratio": number(rateRatio), "processor_ratio": number(processorRatio),
            "gateway_cpu_s_per_million": number(perMillion { $0.ours.used.gateway }),
            "database_cpu_s_per_million": number(perMillion { $0.ours.used.database }),
            "reference_cpu_s_per_million": number(perMillion { $0.reference.processor }),
            "first_push_ms_max": number(firstMs),
            "sink_cpu_share": number(sinkLoad.ours), "reference_sink_cpu_share": number(sinkLoad.reference),
            "is_void": .bool(sinkLoad.isWall), "memory_bytes_max": .number(.whole(memoryBytesMax)),
        ]
    }
}
