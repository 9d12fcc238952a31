import Foundation
import JSON

/// A broadcast that is limited, paused or cancelled while it runs, with two gateway processes, each push of which is
/// counted by the sink.
struct BroadcastLife {
    enum Wish {
        /// Pushes a second.
        case rate(Int)
        case pause(Duration)
        case cancel
    }

    let world: BenchWorld
    let garden: BroadcastGarden
    private static let look: Duration = .milliseconds(100)
    private static let patience: Duration = .seconds(3_600)
    private static let clock = ContinuousClock()

    /// What the sink had counted when.
    struct Sample {
        let at: ContinuousClock.Instant
        let pushes: Int64
    }

    func perform(_ wish: Wish) async throws -> BroadcastLifeFigures {
        var options: [JSONMember] = []
        if case .rate(let rate) = wish { options.append(JSONMember("rate_per_second", .number(.whole(Int64(rate))))) }
        let before = try await world.standIns.requests()
        let message: JSONValue = [
            "audience": ["all": true], "badge": "increment", "notification": ["title": "Carillon", "body": "Noon"],
            "options": .object(JSONObject(options)),
        ]
        let id = try await world.client.send("POST", BenchWorld.app + "/messages", message, as: .message).shown("id")
        var samples: [Sample] = []
        var hasWished = false
        var stoppedAt: Int64?
        let limit = Self.clock.now + Self.patience
        while Self.clock.now < limit {
            samples.append(Sample(at: Self.clock.now, pushes: try await world.standIns.requests() - before))
            if !hasWished, let last = samples.last, last.pushes >= garden.devices / 2 {
                hasWished = true
                stoppedAt = try await carryOut(wish, id, before)
            }
            let account = try await world.client.get(BenchWorld.app + "/messages/" + id, as: .message)
            if account.isOver, let outcomes = account.object?["outcomes"] {
                let received = try await world.standIns.requests() - before
                return BroadcastLifeFigures(
                    devices: garden.devices, accepted: outcomes.count("accepted"),
                    cancelled: outcomes.count("cancelled"), received: received, whilePaused: stoppedAt,
                    samples: samples)
            }
            try await Task.sleep(for: Self.look)
        }
        throw CommandFault(.failed, "the broadcast has not finished in an hour")
    }

    /// How many pushes came while it was paused, from a second after that was said; nil: it never was.
    private func carryOut(_ wish: Wish, _ id: String, _ before: Int64) async throws -> Int64? {
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

/// What became of one.
struct BroadcastLifeFigures {
    let devices: Int
    let accepted: Int64
    let cancelled: Int64
    /// By the sink's count.
    let received: Int64
    let whilePaused: Int64?
    let samples: [BroadcastLife.Sample]
    /// Of the larger one of the two gateways.
    var memoryBytesMax: Int64 = 0

    /// What was sent less what was accepted: more than nought was sent twice, less was lost.
    private var excess: Int64 { received - accepted }
    var addsUp: Bool { accepted + cancelled == Int64(devices) && excess == 0 }

    /// Pushes in each whole second from the third, until nine tenths are out; between two samples they are spread evenly.
    private var seconds: [Double] {
        let busy = samples.filter { $0.pushes > 0 && $0.pushes < Int64(devices) * 9 / 10 }
        guard let first = busy.first, let last = busy.last else { return [] }
        func count(at instant: ContinuousClock.Instant) -> Double {
            guard let next = busy.firstIndex(where: { $0.at >= instant }), next > 0 else {
                return Double(first.pushes)
            }
            let (one, other) = (busy[next - 1], busy[next])
            let share = (instant - one.at) / (other.at - one.at)
            return Double(one.pushes) + share * Double(other.pushes - one.pushes)
        }
        var found: [Double] = []
        var at = first.at + .seconds(2)
        while at + .seconds(1) <= last.at {
            found.append(count(at: at + .seconds(1)) - count(at: at))
            at += .seconds(1)
        }
        return found
    }

    private var mean: Double { seconds.isEmpty ? 0 : seconds.reduce(0, +) / Double(seconds.count) }

    func say(_ wish: BroadcastLife.Wish) {
        Console.say(
            "\(devices) devices, two gateways: \(accepted) accepted, \(cancelled) cancelled; the sink received \(received)"
        )
        switch wish {
        case .rate(let rate):
            func share(_ value: Double) -> String { String(format: "%.3f", value / Double(rate)) }
            Console.say(
                "of the rate of \(rate) a second: \(share(mean)) in the mean of \(seconds.count) seconds, "
                    + "\(share(seconds.min() ?? 0)) in the slowest, \(share(seconds.max() ?? 0)) in the fastest")
        case .pause:
            Console.say(
                whilePaused.map { "while it was paused, from its second second: \($0)" }
                    ?? "it was over before it could be paused: take more devices")
        case .cancel:
            if cancelled == 0 { Console.say("it was over before it could be cancelled: take more devices") }
        }
        Console.say(
            "accounted for: \(accepted + cancelled == Int64(devices) ? "every push" : "NOT every push"); "
                + "the sink received \(excess) more than were accepted; a gateway's memory was at most "
                + "\(memoryBytesMax >> 20) MiB")
    }

    var json: JSONValue {
        func number(_ value: Double) -> JSONValue { JSONNumber(value).map(JSONValue.number) ?? .null }
        return [
            "devices": .number(.whole(Int64(devices))), "accepted": .number(.whole(accepted)),
            "cancelled": .number(.whole(cancelled)), "received": .number(.whole(received)),
            "while_paused": whilePaused.map { .number(.whole($0)) } ?? .null,
            "per_second_mean": number(mean), "per_second_min": number(seconds.min() ?? 0),
            "per_second_max": number(seconds.max() ?? 0), "adds_up": .bool(addsUp),
            "memory_bytes_max": .number(.whole(memoryBytesMax)),
        ]
    }
}
