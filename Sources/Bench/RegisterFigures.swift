import CommandLine
import Foundation
import JSON

/// The results of several rounds of `carillon-bench register`; medians are shown.
struct RegisterFigures {
    /// The parts of each round, in this order.
    enum Part: String, CaseIterable {
        case empty, created, again

        var status: Int { self == .created ? 201 : 200 }

        var title: String {
            switch self {
            case .empty: "empty route"
            case .created: "new registrations"
            case .again: "the same again"
            }
        }
    }

    struct Run {
        let load: RequestLoad.Figures
        let used: BenchUsage
        /// The load generator's processor time.
        let generator: Duration

        static func + (one: Self, other: Self) -> Self {
            Self(
                load: one.load + other.load, used: one.used + other.used, generator: one.generator + other.generator)
        }
    }

    let devices: Int
    let connections: Int
    var rounds: [[Part: Run]] = []
    var memoryBytesMax: Int64 = 0

    init(devices: Int, connections: Int) {
        self.devices = devices
        self.connections = connections
    }

    private func median(_ part: Part, _ value: (_ run: Run, _ empty: Run) -> Double) -> Double {
        rounds.compactMap { round in
            round[part].flatMap { run in round[.empty].map { value(run, $0) } }
        }.median
    }

    private func rate(_ part: Part) -> Double { median(part) { run, _ in run.load.perSecond } }

    private func ratio(_ part: Part) -> Double {
        median(part) { run, empty in run.load.perSecond / empty.load.perSecond }
    }

    /// Seconds for a million requests, that is microseconds a request.
    private func perMillion(_ part: Part, _ time: (Run) -> Duration) -> Double {
        median(part) { run, _ in time(run) / .seconds(1) } * 1_000_000 / Double(devices)
    }

    func write() {
        Console.write("\(devices) devices over \(connections) connections, \(rounds.count) rounds, medians")
        var table = TextTable(
            "", "REQUESTS/S", "OF THE EMPTY ROUTE", "CPU S PER MILLION: GATEWAY", "POSTGRESQL", "LOAD GENERATOR")
        for part in Part.allCases {
            table.add(
                part.title, String(format: "%.0f", rate(part)), String(format: "%.2f", ratio(part)),
                String(format: "%.0f", perMillion(part, \.used.gateway)),
                String(format: "%.0f", perMillion(part, \.used.database)),
                String(format: "%.0f", perMillion(part, \.generator)))
        }
        table.write()
        Console.write("the gateway's memory was at most \(memoryBytesMax >> 20) MiB")
    }

    var json: JSONValue {
        func number(_ value: Double) -> JSONValue { JSONNumber(value).map(JSONValue.number) ?? .null }
        var members = [
            JSONMember("devices", .number(.whole(Int64(devices)))),
            JSONMember("connections", .number(.whole(Int64(connections)))),
            JSONMember("rounds", .number(.whole(Int64(rounds.count)))),
        ]
        for part in Part.allCases {
            let name = part.rawValue
            members.append(JSONMember(name + "_per_second", number(rate(part))))
            if part != .empty { members.append(JSONMember(name + "_ratio", number(ratio(part)))) }
            members.append(JSONMember(name + "_gateway_cpu_s_per_million", number(perMillion(part, \.used.gateway))))
            members.append(JSONMember(name + "_database_cpu_s_per_million", number(perMillion(part, \.used.database))))
            members.append(JSONMember(name + "_generator_cpu_s_per_million", number(perMillion(part, \.generator))))
        }
        members.append(JSONMember("memory_bytes_max", .number(.whole(memoryBytesMax))))
        return .object(JSONObject(members))
    }
}
