import Basis
import Model

/// The time limits for trying a token in the sibling environment.
package enum EnvironmentRule {
    /// A longer wait for a lane that can't send is not worth it: the origin route's answer is known, and a message
    /// should end.
    package static let timeout: Duration = .seconds(300)
    /// Deadlines fall on whole minutes, so that remainders gather.
    private static let gathering: Duration = .seconds(60)

    static func deadline(from now: WallInstant) -> WallInstant {
        let minute = gathering.components.seconds
        return WallInstant(secondsSince1970: (now.secondsSince1970 / minute + 1) * minute) + timeout
    }
}

// A token that the provider doesn't know may have been registered in the wrong environment. The sibling environment is
// tried once per generation of the token: providers close connections soonest over these rejections.
extension ParcelRun {
    /// Returns true if the member goes on in the sibling environment. The rejection here is no verdict yet and counts
    /// in no sample.
    mutating func triesSibling(_ rejection: Rejection, _ position: Int, _ now: MonotonicInstant) -> Bool {
        let member = parcel.members[position]
        guard parcel.origin == nil, let other = parcel.otherEnvironment, member.mayBeInSibling else { return false }
        let refusal = OriginRejection(
            route: parcel.route, generation: member.generation, reason: rejection.reason,
            asOf: parcel.leasedAt, until: EnvironmentRule.deadline(from: wall(at: now)))
        goOn(
            position, route: other, dueAfter: .zero, attempt: nextAttempt, lapses: 0, spent: parcel.retrySpent,
            answerLost: mayHaveBeenShown(position), cause: .otherEnvironment, origin: refusal)
        return true
    }

    /// The sibling environment rejected the token too. Its reason is ignored: it can't know more about a token that is
    /// not its own.
    mutating func recordRefusedInBoth(_ origin: OriginRejection, _ position: Int) {
        endAsOriginRejected(origin, .suspectedInBoth(reason: origin.reason), position, isTried: true)
    }

    /// The sibling environment could not be tried in time: the environments are not compared.
    /// - Parameter isLost: the sibling may have accepted the push after all.
    mutating func giveUpInSibling(_ origin: OriginRejection, _ position: Int, isTried: Bool, isLost: Bool) {
        if isLost { return end(position, TerminalStatus(.gaveUp, TerminalReason.answerLost), isTried: isTried) }
        endAsOriginRejected(origin, .suspected(reason: origin.reason), position, isTried: isTried)
    }

    /// The origin route's suspicion arises here, and counts in its sample. It dates from that route's rejection: a
    /// device that registered since was never rejected.
    private mutating func endAsOriginRejected(
        _ origin: OriginRejection, _ verdict: TokenVerdict, _ position: Int, isTried: Bool
    ) {
        note(position, isSuspicion: true)
        let isBlame = if case .suspectedInBoth = verdict { true } else { false }
        judge(position, verdict, asOf: origin.asOf, isBlame: isBlame)
        end(position, TerminalStatus(.rejected, origin.reason), isTried: isTried)
    }
}

extension RejectionFault {
    var isAboutToken: Bool {
        switch self {
        case .tokenUnregistered, .tokenSuspect, .tokenElsewhere, .tokenUnknownHere: true
        case .message, .credential, .ours: false
        }
    }

    /// Whether it makes the token suspected, where no other environment is left to try.
    var isSuspicion: Bool { isAboutToken && self != .tokenUnregistered }
}
