import Basis
import Model

/// What keeps a member from its push, as the lease's transaction found it.
package enum MemberDeferral: Equatable, Sendable {
    /// Nothing does.
    case none
    /// Its device's clock shows one of the app's quiet hours; they are over at `until`.
    ///
    /// `isCounted`: an earlier lease was free to send, raised its badge and counted its push.
    case quietHours(until: WallInstant, isCounted: Bool)
    /// Its user has had as many messages on this day as the app allows.
    case dailyCap
}

// Held members end or leave as the lease begins: nobody may be sent to who was asleep when it was decided.
extension ParcelRun {
    /// True where the member was kept from its push, and has its ending or its remainder.
    ///
    /// Waiting costs no budget and is no attempt. Who is away from home goes back there: what the other environment
    /// would say is not waited for so long. Of whom the mark does not speak was never sent to, whatever became of the
    /// parcel's owners.
    ///
    /// - Parameter route: where it goes on after its quiet hours.
    mutating func deferByLimits(_ position: Int, goingOn route: RouteID) -> Bool {
        switch deferral(of: position) {
        case .none: return false
        case .dailyCap: end(position, TerminalStatus(.suppressed, TerminalReason.dailyCap))
        case .quietHours(let until, let isCounted):
            let isLost = isCounted && mayHaveBeenShown(position)
            if until >= parcel.expiresAt {
                let terminalStatus = TerminalStatus(.suppressed, TerminalReason.quietHours)
                end(position, isLost ? TerminalStatus(.gaveUp, TerminalReason.answerLost) : terminalStatus)
            } else {
                goOn(
                    position, route: route, dueAfter: .zero, dueAt: until, attempt: parcel.attempt,
                    lapses: isCounted ? lapsesGoingOn : 0, spent: parcel.retrySpent, answerLost: isLost,
                    cause: .quietHours, origin: nil, isCounted: isCounted)
            }
        }
        return true
    }

    private func deferral(of position: Int) -> MemberDeferral {
        parcel.deferrals.indices.contains(position) ? parcel.deferrals[position] : .none
    }
}
