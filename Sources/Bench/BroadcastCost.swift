import CommandLine
import Foundation
import JSON

/// The machine's time and memory for a broadcast, beside h2load's requests to the same sink in the same minutes.
struct BroadcastCost {
    /// Pushes that the sink received.
    let pushes: Int64
    /// The run from the broadcast's request to its end, pauses included, also in the processor time.
    let took: BenchRun
    let reference: ReferenceSender.Figures
    /// Peak memory of one gateway; of the larger one if there are several.
    let memoryBytesMax: Int64

    /// Seconds for a million, that is microseconds a push; nil: there was none.
    private func perMillion(_ time: Duration) -> Double? {
        pushes > 0 ? time / .seconds(1) * 1_000_000 / Double(pushes) : nil
    }
    private var referencePerMillion: Double {
        reference.processor / .seconds(1) * 1_000_000 / Double(reference.requests)
    }
    private var ratio: Double? { perMillion(took.used.program).map { $0 / referencePerMillion } }
    private var sinkLoad: SinkLoad {
        SinkLoad(ours: took.used.sink / took.time, reference: reference.sink / reference.time)
    }

    func write() {
        func shown(_ value: Double?) -> String { value.map { String(format: "%.2f", $0) } ?? "-" }
        var table = TextTable("", "PUSHES/S", "CPU S PER MILLION")
        table.add("carillon, with PostgreSQL", "", shown(perMillion(took.used.program)))
        table.add("  of these the gateway", "", shown(perMillion(took.used.gateway)))
        table.add("  of these PostgreSQL", "", shown(perMillion(took.used.database)))
        table.add("h2load", String(format: "%.0f", reference.perSecond), shown(referencePerMillion))
        table.write()
        Console.write(
            "processor ratio \(shown(ratio)), what the programs do while nothing is sent included; a gateway's memory was "
                + "at most \(memoryBytesMax >> 20) MiB")
        sinkLoad.write()
    }

    var members: [JSONMember] {
        func number(_ value: Double?) -> JSONValue { value.flatMap { JSONNumber($0) }.map(JSONValue.number) ?? .null }
        return [
            JSONMember("gateway_cpu_s_per_million", number(perMillion(took.used.gateway))),
            JSONMember("database_cpu_s_per_million", number(perMillion(took.used.database))),
            JSONMember("reference_cpu_s_per_million", number(referencePerMillion)),
            JSONMember("reference_per_second", number(reference.perSecond)),
            JSONMember("processor_ratio", number(ratio)), JSONMember("sink_cpu_share", number(sinkLoad.ours)),
            JSONMember("reference_sink_cpu_share", number(sinkLoad.reference)),
            JSONMember("is_void", .bool(sinkLoad.isWall)),
            JSONMember("memory_bytes_max", .number(.whole(memoryBytesMax))),
        ]
    }
}
