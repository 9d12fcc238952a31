import Foundation

/// A way in which a measured broadcast failed its check.
package enum BroadcastFault: Equatable, Sendable {
    /// The account leaves out so many pushes; below 0, it has so many too many.
    case unaccounted(Int64)
    /// The sink received so many pushes more than were accepted. Above 0, pushes were sent twice; below 0, some were
    /// lost.
    case sinkDisagrees(excess: Int64)
    /// So many pushes came during the pause, from the second after it was requested.
    case sentWhilePaused(Int64)
    /// The mean of whole seconds missed the rate. The share is the mean divided by the rate that was asked for.
    case rateMissed(share: Double)
    /// At the worst moment, so many pushes were beyond what the rate allows until then, a second's worth let by.
    case rateExceeded(Int64)
    /// So many gateways had pushes out; the rest had none.
    case gatewayIdle(sending: Int)
    /// The broadcast was over before it could be paused or cancelled.
    case tooSoon
    /// A gateway's peak memory exceeded the limit. With several gateways, the largest counts.
    case muchMemory(bytes: Int64)
    /// The first push of a round came this late.
    case lateStart(Duration)
    /// A device was left out, or one was reached that was not meant.
    case wrongDevices(accepted: Int64, meant: Int64)

    package static let memoryBytesMax: Int64 = 150_000_000
    package static let startMax: Duration = .seconds(1)

    /// The faults of a broadcast that was measured in rounds.
    package static func found(memoryBytesMax: Int64, first: Duration) -> [BroadcastFault] {
        var found: [BroadcastFault] = []
        if memoryBytesMax > Self.memoryBytesMax { found.append(.muchMemory(bytes: memoryBytesMax)) }
        if first > startMax { found.append(.lateStart(first)) }
        return found
    }

    /// A stable code, for scripts.
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
