import Model
import QueueRules

/// A settle that records a terminal state that did not happen, and still adds up. It tests the checkers.
package struct PlantedLie: Sendable {
    package let from: TerminalState
    package let terminalStatus: TerminalStatus

    package init(_ from: TerminalState, as terminalStatus: TerminalStatus) {
        self.from = from
        self.terminalStatus = terminalStatus
    }

    func falsified(_ settlement: Settlement) -> Settlement {
        Settlement(
            parcel: settlement.parcel, message: settlement.message, route: settlement.route, epoch: settlement.epoch,
            settles: settlement.settles,
            terminalCounts: settlement.terminalCounts.map {
                TerminalCount(terminalStatus: falsified($0.terminalStatus), count: $0.count)
            },
            settledBits: settlement.settledBits, remainders: settlement.remainders,
            pendingAfter: settlement.pendingAfter, sample: settlement.sample,
            history: settlement.history.map { entry in
                guard case .ended(let terminalStatus) = entry.event else { return entry }
                return HistoryEntry(.ended(falsified(terminalStatus)), attempts: entry.attempts, members: entry.members)
            }, complaint: settlement.complaint)
    }

    private func falsified(_ terminalStatus: TerminalStatus) -> TerminalStatus {
        terminalStatus.state == from ? self.terminalStatus : terminalStatus
    }
}
