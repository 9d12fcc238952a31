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
            """,
            examples: ["carillon bench broadcast", "carillon bench broadcast --devices 1000000 --rounds 5 --json"]))

    @OptionGroup var options: BenchOptions
    @Option(help: ArgumentHelp("How many devices.", valueName: "count")) var devices = 100_000
    @Option(help: ArgumentHelp("How many times both are run, in turn.", valueName: "count")) var rounds = 5

    func validate() throws {
        guard (10_000...10_000_000).contains(devices) else {
            throw ValidationError("--devices takes 10000 to 10000000.")
        }
        guard (1...100).contains(rounds) else { throw ValidationError("--rounds takes 1 to 100.") }
    }

    func run() async throws {
        try await options.run(standIns: ["--sink", "--open-streams"], data: "broadcast-\(devices)") { world in
            try await measure(world)
        }
    }

    private func measure(_ world: BenchWorld) async throws {
        let reference = try ReferenceSender(world.folder, sink: world.standIns.production, requests: devices)
        let garden = BroadcastGarden(world: world, devices: devices)
        try await garden.furnish()
        // Opens connections, prepares statements, and makes room on the badges' pages.
        _ = try await garden.broadcast()
        var figures = BroadcastFigures(devices: devices)
        var progress = Progress("broadcasts")
        for round in 1...rounds {
            figures.add(try await garden.broadcast(), try reference.run(devices))
            progress.show(Int64(round), of: Int64(rounds), "each beside h2load")
        }
        progress.end()
        figures.memoryBytesMax = world.memoryBytesMax
        if options.json { sayJSON(figures.json) } else { figures.say() }
    }
}

/// What several rounds gave; medians are shown.
struct BroadcastFigures {
    private struct Round {
        let ours: BroadcastGarden.Broadcast
        let reference: ReferenceSender.Figures
    }

    let devices: Int
    private var rounds: [Round] = []
    var memoryBytesMax: Int64 = 0

    init(devices: Int) { self.devices = devices }

    mutating func add(_ ours: BroadcastGarden.Broadcast, _ reference: ReferenceSender.Figures) {
        rounds.append(Round(ours: ours, reference: reference))
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
    private var processorRatio: Double { median { $0.ours.used.program / $0.reference.processor } }
    /// How much of one core the sink used while we sent: near 1 it is the sink that is measured.
    private var sinkLoad: Double { median { $0.ours.used.sink / $0.ours.time } }

    func say() {
        Console.say("\(devices) devices, \(rounds.count) rounds, medians")
        var table = TextTable("", "PUSHES/S", "CPU S PER MILLION")
        func seconds(_ value: Double) -> String { String(format: "%.2f", value) }
        table.add(
            "carillon, with PostgreSQL", String(format: "%.0f", rate), seconds(perMillion { $0.ours.used.program }))
        table.add("  of these the gateway", "", seconds(perMillion { $0.ours.used.gateway }))
        table.add("  of these PostgreSQL", "", seconds(perMillion { $0.ours.used.database }))
        table.add(
            "h2load", String(format: "%.0f", referenceRate), seconds(perMillion { $0.reference.processor }))
        table.say()
        Console.say(
            "ratios: rate \(seconds(rateRatio)), processor \(seconds(processorRatio)); the sink used "
                + "\(seconds(sinkLoad)) of a core; the gateway's memory was at most \(memoryBytesMax >> 20) MiB")
    }

    var json: JSONValue {
        func number(_ value: Double) -> JSONValue { JSONNumber(value).map(JSONValue.number) ?? .null }
        return [
            "devices": .number(.whole(Int64(devices))), "rounds": .number(.whole(Int64(rounds.count))),
            "pushes_per_second": number(rate), "reference_per_second": number(referenceRate),
            "rate_ratio": number(rateRatio), "processor_ratio": number(processorRatio),
            "gateway_cpu_s_per_million": number(perMillion { $0.ours.used.gateway }),
            "database_cpu_s_per_million": number(perMillion { $0.ours.used.database }),
            "reference_cpu_s_per_million": number(perMillion { $0.reference.processor }),
            "sink_cpu_share": number(sinkLoad), "memory_bytes_max": .number(.whole(memoryBytesMax)),
        ]
    }
}
