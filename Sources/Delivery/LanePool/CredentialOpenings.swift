import Basis
import Credentials
import Model

/// The credentials being opened off the actor that answers for the routes, and those that failed to open.
///
/// An opening can't be stopped. One that takes too long makes its credential unusable until it ends, and is not begun a
/// second time.
package struct CredentialOpenings: Sendable {
    /// A sealed key opens in less than a millisecond. An opening that takes longer than this is logged.
    package static var deadline: Duration { .seconds(10) }
    /// The pause before a credential that did not open is tried again: an overload passes.
    package static var pause: Duration { .seconds(10) }
    /// The limit of concurrent openings: fewer than may wait for the threads that open sealed keys.
    package static var atOnceMax: Int { 512 }
    /// The number of failures remembered. A forgotten one is merely tried again.
    private static var failuresMax: Int { 4_096 }

    /// The next step for a route whose credential is not open.
    package enum Step: Equatable, Sendable {
        /// The caller opens it now, and then reports `ended`.
        case open
        /// It is being opened, or too many others are.
        case wait
        /// It can't be used for now. `isNew`: the fault was not logged yet.
        case unusable(CredentialFault, isNew: Bool)
    }

    private struct Opening {
        let since: MonotonicInstant
        var isReportedSlow = false
    }

    private var openings: [CredentialID: Opening] = [:]
    private var failures: [CredentialID: (fault: CredentialFault, at: MonotonicInstant)] = [:]

    package init() {}

    package mutating func next(for credential: CredentialID, now: MonotonicInstant) -> Step {
        if let opening = openings[credential] {
            guard now - opening.since >= Self.deadline else { return .wait }
            openings[credential]?.isReportedSlow = true
            return .unusable(.openingTooSlow(deadline: Self.deadline), isNew: !opening.isReportedSlow)
        }
        if let failure = failures[credential], now - failure.at < Self.pause {
            return .unusable(failure.fault, isNew: false)
        }
        guard openings.count < Self.atOnceMax else { return .wait }
        openings[credential] = Opening(since: now)
        return .open
    }

    /// - Parameter fault: nil: the credential is open.
    package mutating func ended(_ credential: CredentialID, _ fault: CredentialFault?, now: MonotonicInstant) {
        openings[credential] = nil
        if failures.count >= Self.failuresMax { failures = [:] }
        failures[credential] = fault.map { ($0, now) }
    }
}
