import Basis
import Calendar
import CommandLine
import Foundation
import JSON

/// Single pushes on an idle system, beside a broadcast at half of its full rate, and beside one at full speed. All go
/// to the same app, route and sink.
struct LatencyUnderLoad {
    /// The load beside which the single pushes are sent.
    enum Load: String, CaseIterable {
        case nobody = "idle"
        case half = "beside half a broadcast"
        case full = "beside a broadcast"

        var member: String {
            switch self {
            case .nobody: "idle"
            case .half: "half"
            case .full: "full"
            }
        }
    }

    let world: BenchWorld
    let devices: Int
    let pushes: Int
    /// The three loads alternate in rounds, so that other work of the machine affects all three equally.
    let rounds: Int
    /// Single pushes at the start of each round, which are not counted.
    private static let warmUpCount = 5
    private static let pause: Duration = .milliseconds(25)
    private static let pollEvery: Duration = .milliseconds(5)
    private static let timeout: Duration = .seconds(600)
    private static let device = "phone-1"

    func measure() async throws -> LatencyUnderLoadFigures {
        let fixture = BroadcastFixture(world: world, devices: devices)
        try await fixture.fill()
        // The first one opens connections and prepares statements.
        _ = try await fixture.broadcast()
        let rate = Double(devices) / (try await fixture.broadcast().time / .seconds(1))
        var figures = LatencyUnderLoadFigures(devices: devices, broadcastRate: rate)
        for round in 0..<rounds {
            let count = pushes * (round + 1) / rounds - pushes * round / rounds
            for load in Load.allCases {
                figures.add(load, try await singles(count, beside: load, rate: rate, round: round))
            }
        }
        figures.memoryBytesMax = world.memoryBytesMax
        return figures
    }

    /// Sends single pushes beside a load. Returns after the broadcasts that it started have ended.
    private func singles(
        _ count: Int, beside load: Load, rate: Double, round: Int
    ) async throws -> LatencyUnderLoadFigures.Round {
        var progress = Progress("\(load.rawValue), round \(round + 1) of \(rounds)")
        var taken: [Duration] = []
        var broadcast: String?
        var (number, broadcasts) = (0, 0)
        let before = try world.used()
        while taken.count < count {
            if load != .nobody {
                if let running = broadcast, try await account(running).shown("state") == "finished" { broadcast = nil }
                if broadcast == nil {
                    broadcast = try await start(load == .half ? rate / 2 : nil)
                    broadcasts += 1
                }
            }
            let start = Self.now
            let one = try await single(number, from: start)
            number += 1
            // A push that began beside a broadcast counts even if it outlived the broadcast: it may have been the
            // slowest.
            var wasAlone = false
            if let broadcast { wasAlone = try await hasEnded(broadcast, before: start) }
            if number > Self.warmUpCount, !wasAlone { taken.append(one) }
            progress.show(Int64(taken.count), of: Int64(count), "one at a time")
            try await Task.sleep(for: Self.pause)
        }
        progress.end()
        if let broadcast { try await finish(broadcast) }
        return LatencyUnderLoadFigures.Round(
            taken: taken, used: try world.used() - before, pushes: number + broadcasts * devices)
    }

    /// - Parameter rate: pushes a second; nil: without a limit.
    private func start(_ rate: Double?) async throws -> String {
        var message: [JSONMember] = [
            JSONMember("audience", ["all": true]), JSONMember("badge", "increment"),
            JSONMember("notification", ["title": "Carillon", "body": "Twelve o'clock in the garden"]),
        ]
        if let rate {
            message.append(JSONMember("options", ["rate_per_second": .number(.whole(Int64(max(1, rate))))]))
        }
        return try await world.client.send(
            "POST", BenchWorld.app + "/messages", .object(JSONObject(message)), as: .message
        ).shown("id")
    }

    /// The time from the request until the answer was settled in PostgreSQL.
    private func single(_ number: Int, from start: WallInstant) async throws -> Duration {
        let message = try await world.client.send(
            "POST", BenchWorld.app + "/messages",
            [
                "audience": ["installations": .array([.string(Self.device)])],
                "notification": ["title": "Noon", "body": "Twelve o'clock"],
                "data": ["number": .string(String(number))],
            ], as: .message)
        return try await finish(message.shown("id")) - start
    }

    private static var now: WallInstant {
        WallInstant(microseconds: Int64(Date().timeIntervalSince1970 * 1_000_000))
    }

    private func hasEnded(_ message: String, before instant: WallInstant) async throws -> Bool {
        let account = try await account(message)
        guard account.shown("state") == "finished" else { return false }
        return account.object?["finished_at"]?.string.flatMap { RFC3339.parse($0) }.map { $0 < instant } ?? false
    }

    private func account(_ message: String) async throws -> JSONValue {
        try await world.client.get(BenchWorld.app + "/messages/" + message, as: .message)
    }

    @discardableResult
    private func finish(_ message: String) async throws -> WallInstant {
        let clock = ContinuousClock()
        let limit = clock.now + Self.timeout
        while clock.now < limit {
            try await Task.sleep(for: Self.pollEvery)
            let account = try await account(message)
            guard account.shown("state") == "finished" else { continue }
            guard let end = account.object?["finished_at"]?.string.flatMap({ RFC3339.parse($0) }) else { break }
            return end
        }
        throw CommandFault(.failed, "message \(message) has not finished in ten minutes")
    }
}

/// The measurements for each load.
struct LatencyUnderLoadFigures {
    struct Round {
        let taken: [Duration]
        let used: BenchUsage
        /// All pushes sent meanwhile, those of the broadcasts included.
        let pushes: Int

        static func + (one: Self, other: Self) -> Self {
            Self(taken: one.taken + other.taken, used: one.used + other.used, pushes: one.pushes + other.pushes)
        }

        /// Seconds for a million pushes.
        func perMillion(_ time: Duration) -> Double { time / .seconds(1) * 1_000_000 / Double(pushes) }
    }

    let devices: Int
    let broadcastRate: Double
    var memoryBytesMax: Int64 = 0
    private var rounds: [LatencyUnderLoad.Load: Round] = [:]

    init(devices: Int, broadcastRate: Double) {
        self.devices = devices
        self.broadcastRate = broadcastRate
    }

    mutating func add(_ load: LatencyUnderLoad.Load, _ round: Round) {
        rounds[load] = rounds[load].map { $0 + round } ?? round
    }

    /// In the order of the loads.
    private var taken: [(load: LatencyUnderLoad.Load, round: Round, figures: Percentiles)] {
        LatencyUnderLoad.Load.allCases.compactMap { load in
            rounds[load].map { (load, $0, Percentiles($0.taken)) }
        }
    }

    /// The p99 relative to the idle system's.
    private func ratio(_ figures: Percentiles) -> Double {
        rounds[.nobody].map { figures.value(at: 0.99) / Percentiles($0.taken).value(at: 0.99) } ?? 0
    }

    func write() {
        Console.write(
            "one push at a time, from the request to its settled answer, in milliseconds; the broadcast goes to \(devices) "
                + "devices, alone at \(String(format: "%.0f", broadcastRate)) pushes a second")
        var table = TextTable(
            "", "PUSHES", "P50", "P90", "P99", "MAX", "P99 OF IDLE", "CPU S PER MILLION: GATEWAY", "POSTGRESQL")
        for (load, round, figures) in taken {
            let shown = figures.all.map { String(format: "%.2f", $0.value) }
            table.add(
                load.rawValue, String(figures.count), shown[0], shown[1], shown[2], shown[3],
                String(format: "%.2f", ratio(figures)), String(format: "%.1f", round.perMillion(round.used.gateway)),
                String(format: "%.1f", round.perMillion(round.used.database)))
        }
        table.write()
        Console.write("the gateway's memory was at most \(memoryBytesMax >> 20) MiB")
    }

    var json: JSONValue {
        func number(_ value: Double) -> JSONValue { JSONNumber(value).map(JSONValue.number) ?? .null }
        var members = [
            JSONMember("devices", .number(.whole(Int64(devices)))),
            JSONMember("broadcast_per_second", number(broadcastRate)),
            JSONMember("memory_bytes_max", .number(.whole(memoryBytesMax))),
        ]
        for (load, round, figures) in taken {
            var own = [JSONMember("pushes", .number(.whole(Int64(figures.count))))]
            own += figures.all.map { JSONMember($0.name + "_ms", number($0.value)) }
            own.append(JSONMember("p99_ratio", number(ratio(figures))))
            own.append(JSONMember("gateway_cpu_s_per_million", number(round.perMillion(round.used.gateway))))
            own.append(JSONMember("database_cpu_s_per_million", number(round.perMillion(round.used.database))))
            members.append(JSONMember(load.member, .object(JSONObject(own))))
        }
        return .object(JSONObject(members))
    }
}
