import ArgumentParser
import CommandLine
import Foundation
import JSON

/// `carillon-bench wire`: prepared pushes through a lane alone, beside as many requests of nghttp2's load generator.
struct WireBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wire", abstract: "A lane alone, beside nghttp2's load generator.",
        discussion: HelpText.of(
            """
            Pushes that were made beforehand go through one connection of a lane to a sink: header fields with an id and a \
            collapse id, frames, TLS, sockets, and answers. No gateway and no database take part. Then h2load sends as many \
            requests of that size to the same sink. What holds on another machine are the ratios.
            """,
            examples: ["carillon-bench wire", "carillon-bench wire --pushes 1000000 --rounds 5 --json"]))

    @OptionGroup var options: BenchOptions
    @Option(help: ArgumentHelp("How many pushes in a round.", valueName: "count")) var pushes = 500_000
    @Option(help: ArgumentHelp("How many times both are run, in turn.", valueName: "count")) var rounds = 5

    func validate() throws {
        guard (10_000...10_000_000).contains(pushes) else {
            throw ValidationError("--pushes takes 10000 to 10000000.")
        }
        guard (1...100).contains(rounds) else { throw ValidationError("--rounds takes 1 to 100.") }
    }

    func run() async throws {
        try await options.runBesideStandIns(["--sink", "--open-streams"]) { folder, standIns in
            let reference = try ReferenceSender(folder, sink: standIns, requests: pushes)
            let figures = try await WireSender.within(standIns) { sender in
                // Opens the connection, and lets the lane's buffers grow to their full size.
                _ = try await sender.run(pushes)
                var figures = WireFigures(pushes: pushes)
                var progress = Progress("wire")
                for round in 1...rounds {
                    figures.rounds.append((try await sender.run(pushes), try reference.run(pushes)))
                    progress.show(Int64(round), of: Int64(rounds), "each beside h2load")
                }
                progress.end()
                return figures
            }
            if options.json { writeJSON(figures.json) } else { figures.write() }
        }
    }
}

/// The results of several rounds; medians are shown.
struct WireFigures {
    let pushes: Int
    var rounds: [(ours: WireSender.Run, reference: ReferenceSender.Figures)] = []

    init(pushes: Int) { self.pushes = pushes }

    private func median(_ value: ((ours: WireSender.Run, reference: ReferenceSender.Figures)) -> Double) -> Double {
        rounds.map(value).median
    }

    private var rate: Double { median { Double(pushes) / ($0.ours.time / .seconds(1)) } }
    private var referenceRate: Double { median { $0.reference.perSecond } }
    /// Seconds for a million pushes, that is microseconds a push.
    private var processor: Double { median { $0.ours.processor / .seconds(1) } * 1_000_000 / Double(pushes) }
    private var referenceProcessor: Double {
        median { $0.reference.processor / .seconds(1) } * 1_000_000 / Double(pushes)
    }
    private var ratio: Double { median { $0.ours.processor / $0.reference.processor } }
    private var sinkLoad: SinkLoad {
        SinkLoad(
            ours: median { $0.ours.sink / $0.ours.time }, reference: median { $0.reference.sink / $0.reference.time })
    }
    /// This program's peak memory, including the prepared pushes.
    private var memoryBytesMax: Int64 {
        ProcessUsage(of: ProcessInfo.processInfo.processIdentifier)?.memoryBytesMax ?? 0
    }

    func write() {
        Console.write("\(pushes) pushes over one connection, \(rounds.count) rounds, medians")
        var table = TextTable("", "PUSHES/S", "CPU S PER MILLION")
        table.add("a lane", String(format: "%.0f", rate), String(format: "%.2f", processor))
        table.add("h2load", String(format: "%.0f", referenceRate), String(format: "%.2f", referenceProcessor))
        table.write()
        Console.write(
            "ratio of the processor time \(String(format: "%.2f", ratio)); the sender's memory was at most "
                + "\(memoryBytesMax >> 20) MiB")
        sinkLoad.write()
    }

    var json: JSONValue {
        func number(_ value: Double) -> JSONValue { JSONNumber(value).map(JSONValue.number) ?? .null }
        return [
            "pushes": .number(.whole(Int64(pushes))), "rounds": .number(.whole(Int64(rounds.count))),
            "pushes_per_second": number(rate), "reference_per_second": number(referenceRate),
            "cpu_s_per_million": number(processor), "reference_cpu_s_per_million": number(referenceProcessor),
            "processor_ratio": number(ratio), "sink_cpu_share": number(sinkLoad.ours),
            "reference_sink_cpu_share": number(sinkLoad.reference), "is_void": .bool(sinkLoad.isWall),
            "memory_bytes_max": .number(.whole(memoryBytesMax)),
        ]
    }
}

/// The share of one core that the sink used while each sender sent to it over its one connection.
struct SinkLoad {
    let ours: Double
    let reference: Double

    /// From this share on, the sink limits the rate. It is below 1, because a thread that has a whole core wastes some
    /// of it.
    private static let wall = 0.95
    /// Whether the sink was the bottleneck. If so, the measured rate is the sink's and not the lane's.
    var isWall: Bool { ours >= Self.wall }

    func write() {
        func share(_ load: Double) -> String { String(format: "%.2f", load) }
        Console.write("of a core the sink used \(share(ours)) for carillon, \(share(reference)) for h2load")
        if isWall { Console.write("VOID: carillon waited for the sink, whose rate this is") }
        if reference >= Self.wall { Console.write("h2load waited for the sink: its rate is the sink's") }
    }
}
