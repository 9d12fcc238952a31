import CommandLine
import Foundation
import JSON

/// The results of a broadcast that was limited, paused or cancelled.
package struct BroadcastControlFigures {
    /// The sink's count at one moment.
    package struct Sample {
        package let at: ContinuousClock.Instant
        package let pushes: Int64

        package init(at: ContinuousClock.Instant, pushes: Int64) {
            self.at = at
            self.pushes = pushes
        }
    }

    let control: BroadcastControl
    let devices: Int
    let accepted: Int64
    let cancelled: Int64
    /// The sink's count.
    let received: Int64
    /// Pushes that came from one second after the pause was requested; nil: there was no pause.
    let whilePaused: Int64?
    let gateways: Int
    /// The gateways that were seen to have pushes of the broadcast out.
    let gatewaysSending: Int
    /// In the order of time.
    let samples: [Sample]
    /// A rate that is further off counts as missed.
    private static let rateErrorMax = 0.05

    package init(
        control: BroadcastControl, devices: Int, accepted: Int64, cancelled: Int64, received: Int64,
        whilePaused: Int64?,
        gateways: Int, gatewaysSending: Int, samples: [Sample]
    ) {
        self.control = control
        self.devices = devices
        self.accepted = accepted
        self.cancelled = cancelled
        self.received = received
        self.whilePaused = whilePaused
        self.gateways = gateways
        self.gatewaysSending = gatewaysSending
        self.samples = samples
    }

    /// Whether there was something left to pause or to cancel.
    package var wasInTime: Bool {
        switch control {
        case .rate: true
        case .pause: whilePaused != nil
        case .cancel: cancelled > 0
        }
    }

    package var faults: [BroadcastFault] {
        var found: [BroadcastFault] = wasInTime ? [] : [.tooSoon]
        if missing != 0 { found.append(.unaccounted(missing)) }
        if excess != 0 { found.append(.sinkDisagrees(excess: excess)) }
        if let whilePaused, whilePaused > 0 { found.append(.sentWhilePaused(whilePaused)) }
        if case .rate(let rate) = control {
            if abs(mean / Double(rate) - 1) > Self.rateErrorMax {
                found.append(.rateMissed(share: mean / Double(rate)))
            }
            let exceedsRate = exceedsRate(beyond: Double(rate))
            if exceedsRate > 0 { found.append(.rateExceeded(exceedsRate)) }
        }
        if wasInTime, gatewaysSending < gateways { found.append(.gatewayIdle(sending: gatewaysSending)) }
        return found
    }

    private var missing: Int64 { Int64(devices) - accepted - cancelled }
    /// The pushes that were sent less those that were accepted. Above 0, pushes were sent twice; below 0, some were
    /// lost.
    private var excess: Int64 { received - accepted }

    /// Pushes in each whole second from the third until nine tenths are out. Between two samples they are spread
    /// evenly.
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

    /// The largest excess over the rate at any moment, a second's worth allowed. The mean could hide such a burst.
    private func exceedsRate(beyond rate: Double) -> Int64 {
        guard let start = samples.first?.at else { return 0 }
        return samples.map { sample in
            let allowed = rate * (1 + Self.rateErrorMax) * ((sample.at - start) / .seconds(1) + 1)
            return sample.pushes - Int64(allowed)
        }.max() ?? 0
    }

    private var mean: Double { seconds.isEmpty ? 0 : seconds.reduce(0, +) / Double(seconds.count) }

    func write() {
        Console.write(
            "\(devices) devices, \(gateways) gateways: \(accepted) accepted, \(cancelled) cancelled; the sink received "
                + "\(received); \(gatewaysSending) gateways were seen to send")
        switch control {
        case .rate(let rate):
            func share(_ value: Double) -> String { String(format: "%.3f", value / Double(rate)) }
            Console.write(
                "of the rate of \(rate) a second: \(share(mean)) in the mean of \(seconds.count) seconds, "
                    + "\(share(seconds.min() ?? 0)) in the slowest, \(share(seconds.max() ?? 0)) in the fastest")
        case .pause:
            if let whilePaused { Console.write("while it was paused, from its second second: \(whilePaused)") }
        case .cancel: break
        }
        Console.write(
            "accounted for: \(missing == 0 ? "every push" : "NOT every push"); the sink received \(excess) more than were "
                + "accepted")
    }

    var members: [JSONMember] {
        func number(_ value: Double) -> JSONValue { JSONNumber(value).map(JSONValue.number) ?? .null }
        let counts = [
            ("devices", Int64(devices)), ("accepted", accepted), ("cancelled", cancelled), ("received", received),
            ("gateways_sending", Int64(gatewaysSending)),
        ]
        return counts.map { JSONMember($0.0, .number(.whole($0.1))) } + [
            JSONMember("while_paused", whilePaused.map { .number(.whole($0)) } ?? .null),
            JSONMember("was_in_time", .bool(wasInTime)), JSONMember("per_second_mean", number(mean)),
            JSONMember("per_second_min", number(seconds.min() ?? 0)),
            JSONMember("per_second_max", number(seconds.max() ?? 0)),
            JSONMember("adds_up", .bool(missing == 0 && excess == 0)),
            JSONMember("faults", .array(faults.map { .string($0.code) })),
        ]
    }
}
