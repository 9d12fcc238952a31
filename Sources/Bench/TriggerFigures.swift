import CommandLine
import Foundation
import JSON

/// The results of several rounds of `carillon-bench triggers`; medians are shown.
struct TriggerFigures {
    /// The numbers of triggers that are armed on the item, in turn.
    static let armed = [1_000, 10_000, 100_000]

    /// Updates one after the other, with the pushes that they caused.
    struct Run: Sendable {
        let times: [Duration]
        /// The gateway's processor time and PostgreSQL's, until the last push was settled.
        let used: Duration

        static func + (one: Self, other: Self) -> Self {
            Self(times: one.times + other.times, used: one.used + other.used)
        }

        /// The time of an update, in milliseconds.
        var median: Double { Percentiles(times).value(at: 0.5) / .milliseconds(1) }
        /// The processor time of an update, in milliseconds.
        var processor: Double { used / .milliseconds(1) / Double(times.count) }
    }

    /// Updates that fire no trigger, and updates that fire some.
    struct Updates: Sendable {
        let others: Run
        let firing: Run

        static func + (one: Self, other: Self) -> Self {
            Self(others: one.others + other.others, firing: one.firing + other.firing)
        }
    }

    private let devices: Int
    private let lines: Int
    /// The runs of all rounds together, by the number of armed triggers.
    private var updates: [Int: Updates] = [:]
    private var streams: [(streamed: BenchRun, raw: BenchRun)] = []
    private var fanOuts: [(followed: Duration, broadcast: Duration)] = []
    var memoryBytesMax: Int64 = 0

    init(devices: Int, lines: Int) { (self.devices, self.lines) = (devices, lines) }

    mutating func add(_ new: Updates, armed: Int) { updates[armed] = updates[armed].map { $0 + new } ?? new }
    mutating func add(streamed: BenchRun, raw: BenchRun) { streams.append((streamed, raw)) }
    mutating func add(followed: Duration, broadcast: Duration) { fanOuts.append((followed, broadcast)) }

    /// The figures of one number of armed triggers, with the ratios to those of the smallest number.
    private struct Level {
        let armed: Int
        let run: Run
        let timeRatio: Double
        let processorRatio: Double
    }

    private func levels(_ part: (Updates) -> Run) -> [Level] {
        guard let first = updates[Self.armed[0]].map(part) else { return [] }
        return Self.armed.compactMap { armed in
            updates[armed].map(part).map { run in
                Level(
                    armed: armed, run: run, timeRatio: run.median / first.median,
                    processorRatio: run.processor / first.processor)
            }
        }
    }

    private var parts: [(name: String, title: String, levels: [Level])] {
        [
            ("other", "none", levels(\.others)),
            ("firing", String(TriggerFixture.firedTogether), levels(\.firing)),
        ]
    }

    private func perSecond(_ run: BenchRun) -> Double { Double(lines) / (run.time / .seconds(1)) }
    /// Seconds for a million updates, that is microseconds an update.
    private func perMillion(_ time: Duration) -> Double { time / .seconds(1) * 1_000_000 / Double(lines) }
    private var streamed: Double { streams.map { perSecond($0.streamed) }.median }
    private var raw: Double { streams.map { perSecond($0.raw) }.median }
    private var streamRatio: Double { streams.map { $0.raw.time / $0.streamed.time }.median }

    private func pushes(_ time: Duration) -> Double { Double(devices) / (time / .seconds(1)) }
    private var followed: Double { fanOuts.map { pushes($0.followed) }.median }
    private var broadcast: Double { fanOuts.map { pushes($0.broadcast) }.median }
    private var followerRatio: Double { fanOuts.map { $0.broadcast / $0.followed }.median }

    func write() {
        func text(_ value: Double, _ format: String = "%.2f") -> String { String(format: format, value) }
        Console.write("updates of an item, one after the other; processor time with the pushes that they cause")
        let first = Self.armed[0]
        var table = TextTable("FIRED", "OF ARMED", "P50 MS", "OF \(first)'S", "CPU MS", "OF \(first)'S")
        for part in parts {
            for level in part.levels {
                table.add(
                    part.title, String(level.armed), text(level.run.median), text(level.timeRatio),
                    text(level.run.processor), text(level.processorRatio))
            }
        }
        table.write()
        Console.write("a stream of \(lines) updates of \(TickerLine.items) items")
        var rates = TextTable("", "UPDATES/S", "CPU S PER MILLION: GATEWAY", "POSTGRESQL")
        func whole(_ runs: [BenchRun], _ value: (BenchRun) -> Double) -> String {
            text(runs.map(value).median, "%.0f")
        }
        let (streamedRuns, rawRuns) = (streams.map(\.streamed), streams.map(\.raw))
        rates.add(
            "stream", whole(streamedRuns, perSecond), whole(streamedRuns) { perMillion($0.used.gateway) },
            whole(streamedRuns) { perMillion($0.used.database) })
        rates.add("raw SQL", whole(rawRuns, perSecond), "", whole(rawRuns) { perMillion($0.used.database) })
        rates.write()
        Console.write(text(streamRatio) + " of raw SQL's rate")
        Console.write(
            "followers: \(text(followed, "%.0f")) pushes a second, \(text(followerRatio)) of a broadcast's "
                + text(broadcast, "%.0f"))
        Console.write("memory: the gateway had at most \(memoryBytesMax >> 20) MiB")
    }

    var json: JSONValue {
        func number(_ value: Double) -> JSONValue { JSONNumber(value).map(JSONValue.number) ?? .null }
        var members = [
            JSONMember("devices", .number(.whole(Int64(devices)))), JSONMember("lines", .number(.whole(Int64(lines)))),
            JSONMember("rounds", .number(.whole(Int64(streams.count)))),
        ]
        for part in parts {
            for level in part.levels {
                let name = "\(part.name)_\(level.armed)_"
                members += [
                    JSONMember(name + "p50_ms", number(level.run.median)),
                    JSONMember(name + "p50_ratio", number(level.timeRatio)),
                    JSONMember(name + "cpu_ms", number(level.run.processor)),
                    JSONMember(name + "cpu_ratio", number(level.processorRatio)),
                ]
            }
        }
        members += [
            JSONMember("streamed_per_second", number(streamed)), JSONMember("raw_per_second", number(raw)),
            JSONMember("stream_ratio", number(streamRatio)), JSONMember("followed_per_second", number(followed)),
            JSONMember("broadcast_per_second", number(broadcast)), JSONMember("follower_ratio", number(followerRatio)),
            JSONMember("memory_bytes_max", .number(.whole(memoryBytesMax))),
        ]
        return .object(JSONObject(members))
    }
}
