import Model
import QueueRules

/// One round of a process's upkeep: a series of transactions. The process may end between any two of them. The rows
/// then show the remaining work to the next process.
package struct UpkeepRound: Equatable, Sendable {
    package let upkeep: Upkeep
    /// The steps ahead; the first is the next transaction.
    private var steps: [UpkeepStep]
    /// Rows that this process has moved so far.
    package private(set) var moved = 0
    /// The number of times in a row that the current step was full.
    package private(set) var passes = 0

    /// A step that is full more often than this comes to no end.
    static let batchesMax = 2_000

    package init(_ upkeep: Upkeep) {
        self.upkeep = upkeep
        steps =
            switch upkeep {
            case .rescue: [.rescue]
            case .confirm: [.confirm]
            case .fallDue: [.fallDue]
            case .stops: [.checkControls(after: nil)]
            }
    }

    /// nil: the round is over.
    package var step: UpkeepStep? { steps.first }

    package mutating func advance(_ reply: UpkeepReply) {
        guard let step else { return }
        if StoreStep(step) != .forget { moved += reply.count }
        guard !reply.isFull else {
            passes += 1
            return
        }
        passes = 0
        steps.replaceSubrange(0..<1, with: reply.found)
    }
}

/// The kinds of upkeep. A process runs one round of each at a time.
package enum Upkeep: CaseIterable, Sendable {
    case rescue, confirm, fallDue
    /// Carries out pauses, cancellations and rates on the parcels of their messages.
    case stops
}

/// One transaction of a round.
package enum UpkeepStep: Hashable, Sendable {
    case rescue, confirm, fallDue
    /// Reads messages after this one for which there is something to carry out. It writes nothing.
    case checkControls(after: MessageID?)
    case putOnHold(MessageID)
    case end(MessageID)
    case release(MessageID)
    case liftRates(MessageID)
    /// Removes the stops and rates of messages that are over.
    case forgetStops, forgetRates
}

package struct UpkeepReply: Sendable {
    /// Rows that were written.
    package var count = 0
    /// Whether there may be more: the same step runs again.
    package var isFull = false
    /// The steps that it found to do.
    package var found: [UpkeepStep] = []
    /// The parcels that it ended, as they were before.
    package var settled: [(settlement: Settlement, before: ParcelRow)] = []
}

/// The most rows that one transaction takes. The defaults are Store's; worlds, which are too small for these, set lower
/// ones.
package struct UpkeepLimits: Equatable, Sendable {
    package var messagesMax: Int
    package var movedMax: Int
    package var endedMax: Int
    package var fallenMax: Int
    package var rescuedMax: Int
    package var judgedMax: Int

    package init(
        messagesMax: Int = 256, movedMax: Int = 1_000, endedMax: Int = 20, fallenMax: Int = 500,
        rescuedMax: Int = 1_000, judgedMax: Int = 5_000
    ) {
        self.messagesMax = messagesMax
        self.movedMax = movedMax
        self.endedMax = endedMax
        self.fallenMax = fallenMax
        self.rescuedMax = rescuedMax
        self.judgedMax = judgedMax
    }
}
