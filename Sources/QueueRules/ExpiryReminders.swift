import Basis
import Model

/// Decides when the log tells that a credential will expire.
///
/// From thirty days before, a line comes once a day, and one at once when the next stage begins.
package struct ExpiryReminders: Sendable {
    package enum Stage: Equatable, Sendable {
        /// At most thirty days are left. → week
        case month
        /// At most seven days are left. → day
        case week
        /// At most one day is left. → expired
        case day
        /// The provider refuses the credential.
        case expired
    }

    private struct Reminder {
        let stage: Stage
        let at: WallInstant
    }

    private static let day: Duration = .seconds(86_400)
    private var reminders: [CredentialID: Reminder] = [:]  // lookup only

    package init() {}

    /// nil: more than thirty days are left.
    package static func stage(notAfter: WallInstant, now: WallInstant) -> Stage? {
        switch notAfter - now {
        case ...Duration.zero: .expired
        case ...day: .day
        case ...(day * 7): .week
        case ...(day * 30): .month
        default: nil
        }
    }

    /// Returns the stage to log now; nil: nothing is to be said, or it was said less than a day ago.
    package mutating func due(_ credential: CredentialID, notAfter: WallInstant, now: WallInstant) -> Stage? {
        guard let stage = Self.stage(notAfter: notAfter, now: now) else { return nil }
        if let last = reminders[credential], last.stage == stage, now - last.at < Self.day { return nil }
        reminders[credential] = Reminder(stage: stage, at: now)
        return stage
    }
}
