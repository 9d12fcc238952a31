import Basis
import Model

/// Whether a limit defers a member, as the lease's transaction found it.
package enum MemberDeferral: Equatable, Sendable {
    /// No limit defers it.
    case none
    /// The device's local time is within the app's quiet hours, which end at `until`.
    /// `isCounted`: an earlier lease was free to send, incremented the badge and counted the push.
    case quietHours(until: WallInstant, isCounted: Bool)
    /// The member's user has received as many messages on this day as the app allows.
    case dailyCap
}

// Deferred members end or leave when the lease begins: a device in quiet hours at that moment must not get the push.
extension ParcelRun {
    /// Returns true if a limit deferred the member, which then has its terminal state or its remainder.
    ///
    /// The wait costs no budget and is no attempt. A cross-environment member goes back to the origin route: the
    /// sibling's answer is not worth so long a wait. A member that the badge mark leaves out was never sent to,
    /// whatever became of the parcel's owners.
    /// - Parameter route: where the member goes on after its quiet hours.
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
