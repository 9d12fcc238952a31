import CommandLine
import Foundation
import JSON

/// A broadcast to those of all devices that match a filter, a tag or a local hour. The sink counts each push.
struct BroadcastReach {
    let fixture: BroadcastFixture
    let audience: BroadcastAudience
    private static let place = "Europe/Berlin"
    /// After this time, pushes that still wait for their device's hour are cancelled.
    private static let timeoutAfterHour: Duration = .seconds(600)
    private static let pollEvery: Duration = .milliseconds(20)
    private static let timeout: Duration = .seconds(3_600)
    private static let clock = ContinuousClock()

    private var world: BenchWorld { fixture.world }

    func measure(_ reference: ReferenceSender) async throws -> BroadcastReachReport {
        let meant = meant
        try await fixture.warmUp()
        let before = try world.used()
        let start = Self.clock.now
        let reach = try await perform(from: start, meant: meant)
        let took = BenchRun(time: Self.clock.now - start, used: try world.used() - before)
        let cost = BroadcastCost(
            pushes: reach.received, took: took, reference: try reference.run(beside: fixture.devices),
            memoryBytesMax: world.memoryBytesMax)
        return BroadcastReachReport(reach: reach, cost: cost)
    }

    /// The number of devices that the broadcast is meant for; nil: only the filter decides.
    private var meant: Int64? {
        let numbers = 1..<fixture.devices + 1
        return switch audience {
        case .filter: nil
        case .tag(let tag): Int64(numbers.count { BenchDevice(number: $0).tags.contains(tag) })
        case .localHour: Int64(numbers.count { BenchDevice(number: $0).timeZone == Self.place })
        }
    }

    private func message(at hour: Date) throws(CommandFault) -> JSONValue {
        switch audience {
        case .filter(let filter): return fixture.message(to: ["filter": .string(filter)])
        case .tag(let tag): return fixture.message(to: ["tags": ["any": .array([.string(tag)])]])
        case .localHour:
            guard let zone = TimeZone(identifier: Self.place) else {
                throw CommandFault(.failed, "this machine does not know the time zone \(Self.place)")
            }
            let text = DateFormatter()
            text.locale = Locale(identifier: "en_US_POSIX")
            text.timeZone = zone
            text.dateFormat = "yyyy-MM-dd'T'HH:mm:ss"
            return fixture.message(options: [
                JSONMember("send_at", .string(text.string(from: hour))), JSONMember("device_local_time", true),
            ])
        }
    }

    private func perform(
        from start: ContinuousClock.Instant, meant: Int64?
    ) async throws -> BroadcastReachFigures {
        let before = try await world.standIns.requests()
        let hour = hour
        let id = try await world.client.send("POST", BenchWorld.app + "/messages", try message(at: hour), as: .message)
            .shown("id")
        let path = BenchWorld.app + "/messages/" + id
        var first: Duration?
        // nil: there is nothing to cancel, or it was cancelled already.
        var cancelAt: ContinuousClock.Instant? = lead.map { start + $0 + Self.timeoutAfterHour }
        while Self.clock.now - start < Self.timeout {
            if first == nil, try await world.standIns.requests() > before { first = Self.clock.now - start }
            let account = try await world.client.get(path, as: .message)
            let outcomes = account.object?["outcomes"]
            if account.isOver, let outcomes {
                return BroadcastReachFigures(
                    audience: account.count("audience"), accepted: outcomes.count("accepted"),
                    suppressed: outcomes.count("suppressed"), cancelled: outcomes.count("cancelled"),
                    received: try await world.standIns.requests() - before, meant: meant, first: first, lead: lead,
                    time: Self.clock.now - start)
            }
            if let instant = cancelAt, outcomes?.count("accepted") == meant || Self.clock.now > instant {
                cancelAt = nil
                try await world.client.send("POST", path + "/cancel", nil, as: .message)
            }
            try await Task.sleep(for: Self.pollEvery)
        }
        throw CommandFault(.failed, "the broadcast has not finished in an hour")
    }

    /// The time until the broadcast's hour in `place`; nil: it is sent at once.
    private var lead: Duration? {
        if case .localHour(let lead) = audience { lead } else { nil }
    }

    /// The hour in whole seconds, rounded down, so that it may be up to a second early.
    private var hour: Date {
        let seconds = lead.map { $0 / .seconds(1) } ?? 0
        return Date(timeIntervalSince1970: (Date().timeIntervalSince1970 + seconds).rounded(.down))
    }
}

/// The audience of a measured broadcast.
enum BroadcastAudience {
    /// Devices that match this filter.
    case filter(String)
    /// Devices with this tag.
    case tag(String)
    /// All devices, at an hour of each device's own clock. The hour is this far ahead in one place.
    case localHour(Duration)
}

/// The results of one broadcast, and what it cost.
struct BroadcastReachReport {
    let reach: BroadcastReachFigures
    let cost: BroadcastCost

    func write() {
        reach.write()
        cost.write()
    }

    var json: JSONValue { .object(JSONObject(reach.members + cost.members)) }
}

/// The number of devices that a broadcast reached, and the time it took.
package struct BroadcastReachFigures {
    /// The devices that were found.
    let audience: Int64
    let accepted: Int64
    /// Devices whose clock had passed the hour.
    let suppressed: Int64
    let cancelled: Int64
    /// The sink's count.
    let received: Int64
    /// The number that must be reached; nil: only the gateway knows.
    let meant: Int64?
    /// The time from the request to the first push at the sink, or a little longer; nil: there was none.
    let first: Duration?
    /// The longest time from the request to the hour; nil: the broadcast was sent at once.
    let lead: Duration?
    /// The time until the last push was settled.
    let time: Duration

    package init(
        audience: Int64, accepted: Int64, suppressed: Int64, cancelled: Int64, received: Int64, meant: Int64?,
        first: Duration?, lead: Duration?, time: Duration
    ) {
        self.audience = audience
        self.accepted = accepted
        self.suppressed = suppressed
        self.cancelled = cancelled
        self.received = received
        self.meant = meant
        self.first = first
        self.lead = lead
        self.time = time
    }

    package var faults: [BroadcastFault] {
        var found: [BroadcastFault] = []
        if missing != 0 { found.append(.unaccounted(missing)) }
        if excess != 0 { found.append(.sinkDisagrees(excess: excess)) }
        if let meant, meant != accepted { found.append(.wrongDevices(accepted: accepted, meant: meant)) }
        return found
    }

    private var missing: Int64 { audience - accepted - suppressed - cancelled }
    private var excess: Int64 { received - accepted }

    func write() {
        func seconds(_ time: Duration) -> String { String(format: "%.2f", time / .seconds(1)) }
        Console.write(
            "\(audience) devices found: \(accepted) accepted, \(suppressed) suppressed, \(cancelled) cancelled; the sink "
                + "received \(received)")
        let ahead = lead.map { ", the hour was \(seconds($0)) s ahead at most" } ?? ""
        Console.write(
            (first.map { "the first push came after \(seconds($0)) s" + ahead } ?? "there was no push")
                + "; it was over after \(seconds(time)) s")
    }

    var members: [JSONMember] {
        func number(_ value: Double) -> JSONValue { JSONNumber(value).map(JSONValue.number) ?? .null }
        let counts = [
            ("audience", audience), ("accepted", accepted), ("suppressed", suppressed), ("cancelled", cancelled),
            ("received", received),
        ]
        return counts.map { JSONMember($0.0, .number(.whole($0.1))) } + [
            JSONMember("first_push_ms", first.map { number($0 / .milliseconds(1)) } ?? .null),
            JSONMember("finished_ms", number(time / .milliseconds(1))),
            JSONMember("adds_up", .bool(missing == 0 && excess == 0)),
            JSONMember("faults", .array(faults.map { .string($0.code) })),
        ]
    }
}
