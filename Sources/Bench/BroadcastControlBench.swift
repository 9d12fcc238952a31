import CommandLine
import Foundation
import JSON

/// A broadcast that is limited, paused or cancelled while it runs, with two gateway processes. The sink counts each
/// push.
struct BroadcastControlBench {
    let fixture: BroadcastFixture
    /// Pushes a second; nil: without a limit.
    let rate: Int?
    let control: BroadcastControl
    private static let pollEvery: Duration = .milliseconds(100)
    /// A quantum of a rate is leased for longer than this.
    private static let findSenders: Duration = .milliseconds(5)
    /// Includes a pause of an hour.
    private static let timeout: Duration = .seconds(7_200)
    private static let gateways = 2
    private static let clock = ContinuousClock()

    private var world: BenchWorld { fixture.world }

    func measure(_ reference: ReferenceSender) async throws -> BroadcastControlReport {
        let second = try await world.addGateway()
        // Opens connections and prepares statements.
        _ = try await fixture.broadcast()
        let before = try world.used(beside: second)
        let start = Self.clock.now
        let control = try await RegistryDatabase.within(world) { database in try await perform(database) }
        let took = BenchRun(time: Self.clock.now - start, used: try world.used(beside: second) - before)
        let memory = max(world.memoryBytesMax, ProcessUsage(of: second.process)?.memoryBytesMax ?? 0)
        return BroadcastControlReport(
            control: control,
            cost: BroadcastCost(
                pushes: control.received, took: took, reference: try reference.run(beside: fixture.devices),
                memoryBytesMax: memory))
    }

    private func perform(_ database: RegistryDatabase) async throws -> BroadcastControlFigures {
        let options = rate.map { [JSONMember("rate_per_second", .number(.whole(Int64($0))))] } ?? []
        let before = try await world.standIns.requests()
        let start = Self.clock.now
        let id = try await world.client.send(
            "POST", BenchWorld.app + "/messages", fixture.message(options: options), as: .message
        ).shown("id")
        // No push came before the request.
        var samples = [BroadcastControlFigures.Sample(at: start, pushes: 0)]
        var senders: Set<String> = []
        var hasAsked = false
        var whilePaused: Int64?
        let limit = Self.clock.now + Self.timeout
        while Self.clock.now < limit {
            let pushes = try await world.standIns.requests() - before
            samples.append(BroadcastControlFigures.Sample(at: Self.clock.now, pushes: pushes))
            if !hasAsked, pushes >= fixture.devices / 2 {
                hasAsked = true
                whilePaused = try await carryOut(id)
            }
            let account = try await world.client.get(BenchWorld.app + "/messages/" + id, as: .message)
            if account.isOver, let outcomes = account.object?["outcomes"] {
                return BroadcastControlFigures(
                    control: control, devices: fixture.devices, accepted: outcomes.count("accepted"),
                    cancelled: outcomes.count("cancelled"), received: try await world.standIns.requests() - before,
                    whilePaused: whilePaused, gateways: Self.gateways, gatewaysSending: senders.count, samples: samples)
            }
            try await remaining(findingIn: &senders, database)
        }
        throw CommandFault(.failed, "the broadcast has not finished in two hours")
    }

    /// Waits until the next query of the sink. Meanwhile it looks for gateways that have pushes out, until all of them
    /// were seen.
    private func remaining(findingIn senders: inout Set<String>, _ database: RegistryDatabase) async throws {
        let end = Self.clock.now + Self.pollEvery
        while senders.count < Self.gateways, Self.clock.now < end {
            senders.formUnion(try await database.senders())
            try await Task.sleep(for: Self.findSenders)
        }
        try await Task.sleep(until: end, clock: Self.clock)
    }

    /// The pushes that came during the pause, counted from one second after it was requested; nil: there was no pause.
    private func carryOut(_ id: String) async throws -> Int64? {
        let path = BenchWorld.app + "/messages/" + id
        switch control {
        case .rate: return nil
        case .cancel:
            _ = try await ask("cancel", of: path)
            return nil
        case .pause(let length):
            guard try await ask("pause", of: path) else { return nil }
            try await Task.sleep(for: .seconds(1))
            let first = try await world.standIns.requests()
            try await Task.sleep(for: length - .seconds(1))
            let last = try await world.standIns.requests()
            _ = try await ask("resume", of: path)
            return last - first
        }
    }

    /// - Returns: false if the message was over by then.
    private func ask(_ control: String, of path: String) async throws -> Bool {
        do {
            try await world.client.send("POST", path + "/" + control, nil, as: .message)
            return true
        } catch {
            guard try await world.client.get(path, as: .message).isOver else { throw error }
            return false
        }
    }
}

/// The request for a broadcast that two gateways send.
package enum BroadcastControl: Equatable, Sendable {
    /// The broadcast keeps this many pushes a second.
    case rate(Int)
    /// The broadcast is paused in its middle for this long.
    case pause(Duration)
    /// The broadcast is cancelled in its middle.
    case cancel
}

/// The results of a controlled broadcast, and what it cost.
struct BroadcastControlReport {
    let control: BroadcastControlFigures
    let cost: BroadcastCost

    func write() {
        control.write()
        cost.write()
    }

    var json: JSONValue { .object(JSONObject(control.members + cost.members)) }
}
