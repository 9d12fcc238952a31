import CommandLine
import Foundation
import JSON

/// The results of several rounds; medians are shown.
struct BroadcastFigures {
    private struct Round {
        let ours: BroadcastFixture.Broadcast
        let late: BroadcastFixture.Broadcast?
        let reference: ReferenceSender.Figures
    }

    let devices: Int
    private var rounds: [Round] = []
    var memoryBytesMax: Int64 = 0

    init(devices: Int) { self.devices = devices }

    mutating func add(
        _ ours: BroadcastFixture.Broadcast, late: BroadcastFixture.Broadcast?, _ reference: ReferenceSender.Figures
    ) {
        rounds.append(Round(ours: ours, late: late, reference: reference))
    }

    private func median(_ value: (Round) -> Double) -> Double {
        rounds.map(value).median
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
    /// Pushes a second in the rounds with late answers; 0 if there are none.
    private var lateRate: Double {
        median { round in round.late.map { Double(devices) / ($0.time / .seconds(1)) } ?? 0 }
    }
    private var lateRatio: Double { median { round in round.late.map { round.ours.time / $0.time } ?? 0 } }
    private var lateProcessor: Double { perMillion { $0.late?.used.program ?? .zero } }
    private var hasLate: Bool { rounds.contains { $0.late != nil } }
    private var processorRatio: Double { median { $0.ours.used.program / $0.reference.processor } }
    /// The slowest start of all rounds.
    private var first: Duration { rounds.map(\.ours.first).max() ?? .zero }
    private var firstMs: Double { first / .milliseconds(1) }

    var faults: [BroadcastFault] { BroadcastFault.found(memoryBytesMax: memoryBytesMax, first: first) }
    private var sinkLoad: SinkLoad {
        SinkLoad(
            ours: median { $0.ours.used.sink / $0.ours.time },
            reference: median { $0.reference.sink / $0.reference.time })
    }

    func write(answerMs: Int?) {
        Console.write("\(devices) devices, \(rounds.count) rounds, medians")
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
        table.write()
        if hasLate { Console.write("with late answers \(seconds(lateRatio)) of the rate without") }
        Console.write(
            "ratios: rate \(seconds(rateRatio)), processor \(seconds(processorRatio)); the gateway's memory was at most "
                + "\(memoryBytesMax >> 20) MiB")
        sinkLoad.write()
        Console.write("the first push of a round came after \(String(format: "%.0f", firstMs)) ms at the latest")
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
            "first_push_ms_max": number(firstMs), "faults": .array(faults.map { .string($0.code) }),
            "sink_cpu_share": number(sinkLoad.ours), "reference_sink_cpu_share": number(sinkLoad.reference),
            "is_void": .bool(sinkLoad.isWall), "memory_bytes_max": .number(.whole(memoryBytesMax)),
        ]
    }
}
