import Model
import QueueRules

/// One round of what a process sees to beside its engine: transactions, one after the other, between any two of which it
/// may end. What is left then is nobody's in particular: the rows say it to whoever comes next.
package struct UpkeepRound: Equatable, Sendable {
    package let upkeep: Upkeep
    /// What is ahead; the first of them is the next transaction.
    private var steps: [UpkeepStep]
    /// Rows that were moved so far, by this process.
    package private(set) var moved = 0
    /// How often the step that comes next was full.
    package private(set) var passes = 0

    /// Whoever is not done by then moves nothing.
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

    /// nil: it is over.
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

/// What has rounds. A process has one of each at a time.
package enum Upkeep: CaseIterable, Sendable {
    case rescue, confirm, fallDue
    /// What was said of messages is carried out on their parcels.
    case stops
}

/// One transaction.
package enum UpkeepStep: Hashable, Sendable {
    case rescue, confirm, fallDue
    /// Only read: messages behind that one of which there is something to carry out.
    case checkControls(after: MessageID?)
    case putOnHold(MessageID)
    case end(MessageID)
    case release(MessageID)
    case liftRates(MessageID)
    /// Stops, and rates, of messages that are over.
    case forgetStops, forgetRates
}

package struct UpkeepReply: Sendable {
    /// Rows that were written.
    package var count = 0
    /// There may be more: the same step comes again.
    package var isFull = false
    /// What the step found to do.
    package var found: [UpkeepStep] = []
    /// What it ended, with the parcels as they were before.
    package var settled: [(settlement: Settlement, before: ParcelRow)] = []
}

/// Rows that one transaction takes: room Store's numbers, but for worlds, which are too small for those.
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
