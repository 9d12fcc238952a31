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
    /// So many of the gateways had pushes out, and there were more.
    case gatewayIdle(sending: Int)
    /// Somebody was left out, or reached who was not meant.
    case wrongDevices(accepted: Int64, meant: Int64)

    /// A word that stays, for scripts.
    package var code: String {
        switch self {
        case .unaccounted: "unaccounted"
        case .sinkDisagrees: "sink_disagrees"
        case .sentWhilePaused: "sent_while_paused"
        case .rateMissed(let share): share > 1 ? "rate_exceeded" : "rate_missed"
        case .gatewayIdle: "gateway_idle"
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
        case .gatewayIdle(let sending):
            "\(sending == 1 ? "only one" : "none") of the gateways was seen to send anything: take more devices"
        case .wrongDevices(let accepted, let meant): "\(meant) devices were meant, and \(accepted) accepted"
        }
    }
}
