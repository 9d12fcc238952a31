import DeliveryRules
import PushModel

/// A settle that says something else than what happened, and adds up: for tests of the checkers.
package struct PlantedLie: Sendable {
    package let from: TerminalState
    package let ending: Ending

    package init(_ from: TerminalState, as ending: Ending) {
        self.from = from
        self.ending = ending
    }

    func told(_ settlement: Settlement) -> Settlement {
        Settlement(
            parcel: settlement.parcel, message: settlement.message, epoch: settlement.epoch,
            settles: settlement.settles,
            endings: settlement.endings.map { EndingCount(ending: told($0.ending), count: $0.count) },
            settledBits: settlement.settledBits, remainders: settlement.remainders,
            pendingAfter: settlement.pendingAfter, sample: settlement.sample,
            history: settlement.history.map { entry in
                guard case .ended(let ending) = entry.event else { return entry }
                return HistoryEntry(.ended(told(ending)), attempts: entry.attempts, members: entry.members)
            })
    }

    private func told(_ ending: Ending) -> Ending { ending.state == from ? self.ending : ending }
}
