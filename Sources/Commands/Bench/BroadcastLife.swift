import Foundation
import JSON

/// A broadcast that is limited, paused or cancelled while it runs, with two gateway processes, each push of which is
/// counted by the sink.
struct BroadcastLife {
    let garden: BroadcastGarden
    /// Pushes a second; nil: as fast as it goes.
    let rate: Int?
    let wish: BroadcastWish
    private static let look: Duration = .milliseconds(100)
    /// A share of a rate is leased for longer than this.
    private static let lookForSenders: Duration = .milliseconds(5)
    /// A pause of an hour included.
    private static let patience: Duration = .seconds(7_200)
    private static let gateways = 2
    private static let clock = ContinuousClock()

    private var world: BenchWorld { garden.world }

    func measure(_ reference: ReferenceSender) async throws -> BroadcastLifeReport {
        let second = try await world.addGateway()
        // Opens connections and prepares statements.
        _ = try await garden.broadcast()
        let before = try world.used(beside: second)
        let start = Self.clock.now
        let life = try await RegistryDatabase.within(world) { database in try await perform(database) }
        let took = BenchRun(time: Self.clock.now - start, used: try world.used(beside: second) - before)
        let memory = max(world.memoryBytesMax, ProcessUsage(of: second.process)?.memoryBytesMax ?? 0)
        return BroadcastLifeReport(
            life: life,
            cost: BroadcastCost(
                pushes: life.received, took: took, reference: try reference.run(beside: garden.devices),
                memoryBytesMax: memory))
    }

    private func perform(_ database: RegistryDatabase) async throws -> BroadcastLifeFigures {
        let options = rate.map { [JSONMember("rate_per_second", .number(.whole(Int64($0))))] } ?? []
        let before = try await world.standIns.requests()
        let start = Self.clock.now
        let id = try await world.client.send(
            "POST", BenchWorld.app + "/messages", garden.message(options: options), as: .message
        ).shown("id")
        // No push came before it was asked for.
        var samples = [BroadcastLifeFigures.Sample(at: start, pushes: 0)]
        var senders: Set<String> = []
        var hasWished = false
        var whilePaused: Int64?
        let limit = Self.clock.now + Self.patience
        while Self.clock.now < limit {
            let pushes = try await world.standIns.requests() - before
            samples.append(BroadcastLifeFigures.Sample(at: Self.clock.now, pushes: pushes))
            if !hasWished, pushes >= garden.devices / 2 {
                hasWished = true
                whilePaused = try await carryOut(id)
            }
            let account = try await world.client.get(BenchWorld.app + "/messages/" + id, as: .message)
            if account.isOver, let outcomes = account.object?["outcomes"] {
                return BroadcastLifeFigures(
                    wish: wish, devices: garden.devices, accepted: outcomes.count("accepted"),
                    cancelled: outcomes.count("cancelled"), received: try await world.standIns.requests() - before,
                    whilePaused: whilePaused, gateways: Self.gateways, gatewaysSending: senders.count, samples: samples)
            }
            try await rest(lookingFor: &senders, database)
        }
        throw CommandFault(.failed, "the broadcast has not finished in two hours")
    }

    /// Until the next look at the sink, and meanwhile at whose pushes are out, as long as one was not seen with any.
    private func rest(lookingFor senders: inout Set<String>, _ database: RegistryDatabase) async throws {
        let end = Self.clock.now + Self.look
        while senders.count < Self.gateways, Self.clock.now < end {
            senders.formUnion(try await database.senders())
            try await Task.sleep(for: Self.lookForSenders)
        }
        try await Task.sleep(until: end, clock: Self.clock)
    }

    /// How many pushes came while it was paused, from a second after that was said; nil: it never was.
    private func carryOut(_ id: String) async throws -> Int64? {
        let path = BenchWorld.app + "/messages/" + id
        switch wish {
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

    /// False: the message was over by then.
    private func ask(_ wish: String, of path: String) async throws -> Bool {
        do {
            try await world.client.send("POST", path + "/" + wish, nil, as: .message)
            return true
        } catch {
            guard try await world.client.get(path, as: .message).isOver else { throw error }
            return false
        }
    }
}

/// What is asked of a broadcast that two gateways send.
package enum BroadcastWish: Equatable, Sendable {
    /// To hold so many pushes a second.
    case rate(Int)
    /// To stand still from its middle on, for so long.
    case pause(Duration)
    /// To end in its middle.
    case cancel
}

/// What became of one, and what it took.
struct BroadcastLifeReport {
    let life: BroadcastLifeFigures
    let cost: BroadcastCost

    func say() {
        life.say()
        cost.say()
    }

    var json: JSONValue { .object(JSONObject(life.members + cost.members)) }
}
