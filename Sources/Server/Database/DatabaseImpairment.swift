import Basis
import Postgres

/// Whether the database can do its work, judged from statements that failed and from probes.
///
/// A full disk still takes a row that fits into a page which is there, and a failing disk reads what is cached. So no
/// single success ends a condition.
package struct DatabaseImpairment: Sendable {
    package enum Change: Equatable, Sendable {
        case began(DatabaseCondition)
        case ended(DatabaseCondition, after: Duration)
    }

    private enum State {
        /// No statement fails for a lasting reason. → impaired
        case sound
        /// Statements fail. → sound, when a probe passes and none failed for `quietMin`
        case impaired(DatabaseCondition, since: MonotonicInstant, failedAt: MonotonicInstant)
    }

    /// A working gateway writes several times in this time.
    package static let quietMin: Duration = .seconds(10)

    private var state = State.sound

    package init() {}

    package var condition: DatabaseCondition? {
        if case .impaired(let condition, _, _) = state { condition } else { nil }
    }

    /// A statement failed, or a probe found the condition.
    package mutating func failed(_ condition: DatabaseCondition, now: MonotonicInstant) -> Change? {
        if case .impaired(let known, let since, let failedAt) = state {
            if known == condition {
                state = .impaired(known, since: since, failedAt: now)
                return nil
            }
            // Two conditions that alternate are reported as the first one.
            if now - failedAt < Self.quietMin { return nil }
        }
        state = .impaired(condition, since: now, failedAt: now)
        return .began(condition)
    }

    /// A probe found nothing wrong.
    package mutating func passed(now: MonotonicInstant) -> Change? {
        guard case .impaired(let condition, let since, let failedAt) = state, now - failedAt >= Self.quietMin else {
            return nil
        }
        state = .sound
        return .ended(condition, after: now - since)
    }
}
