import Foundation

/// What a broadcast that was measured did not keep of what it had to.
package enum BroadcastFault: Equatable, Sendable {
    /// How many pushes the account leaves out; below nought, how many it has too many.
    case unaccounted(Int64)
    /// What the sink received less what was accepted: more than nought was sent twice, less was lost.
    case sinkDisagrees(excess: Int64)
    /// How many came while it was paused, from the second after that was said.
    case sentWhilePaused(Int64)
    /// The mean of whole seconds, as a share of what was asked for.
    case rateMissed(share: Double)
    /// How many pushes were more than the rate allows until then, a second's worth let by, when that was most.
    case rateExceeded(Int64)
    /// So many of the gateways had pushes out, and there were more.
    case gatewayIdle(sending: Int)
    /// It was over before it could be paused or cancelled.
    case tooSoon
    /// Of the gateway that had most.
    case muchMemory(bytes: Int64)
    /// The first push of a round came so late.
    case lateStart(Duration)
    /// Somebody was left out, or reached who was not meant.
    case wrongDevices(accepted: Int64, meant: Int64)

    package static let memoryBytesMax: Int64 = 150_000_000
    package static let startMax: Duration = .seconds(1)

    /// Of a broadcast that was measured by rounds.
    package static func found(memoryBytesMax: Int64, first: Duration) -> [BroadcastFault] {
        var found: [BroadcastFault] = []
        if memoryBytesMax > Self.memoryBytesMax { found.append(.muchMemory(bytes: memoryBytesMax)) }
        if first > startMax { found.append(.lateStart(first)) }
        return found
    }

    /// A word that stays, for scripts.
    package var code: String {
        switch self {
        case .unaccounted: "unaccounted"
        case .sinkDisagrees: "sink_disagrees"
        case .sentWhilePaused: "sent_while_paused"
        case .rateMissed(let share): share > 1 ? "rate_exceeded" : "rate_missed"
        case .rateExceeded: "rate_rushed"
        case .gatewayIdle: "gateway_idle"
        case .tooSoon: "too_soon"
        case .muchMemory: "much_memory"
        case .lateStart: "late_start"
        case .wrongDevices: "wrong_devices"
        }
    }

    package var sentence: String {
        switch self {
        case .unaccounted(let count): "the account does not add up: \(count) of its pushes are missing"
        case .sinkDisagrees(let excess):
            "the account and the sink don't agree: it received \(excess) more than were accepted"
        case .sentWhilePaused(let count): "\(count) pushes came while it was paused"
        case .rateMissed(let share):
            "the rate was not kept: the mean second had \(String(format: "%.3f", share)) of it"
        case .rateExceeded(let count): "\(count) pushes came before the rate allows them"
        case .gatewayIdle(let sending):
            "\(sending == 1 ? "only one" : "none") of the gateways was seen to send anything: take more devices"
        case .tooSoon: "it was over before it could be paused or cancelled: take more devices, or a --rate"
        case .muchMemory(let bytes):
            "the gateway had \(bytes / 1_000_000) MB of memory, and \(Self.memoryBytesMax / 1_000_000) are promised"
        case .lateStart(let time):
            "the first push of a round came after \(time / .milliseconds(1)) ms, and a second is promised"
        case .wrongDevices(let accepted, let meant): "\(meant) devices were meant, and \(accepted) accepted"
        }
    }
}
