import Basis
import Model

/// How the other environment is asked about a token that its own does not know.
package enum EnvironmentRule {
    /// Waiting for a lane that can't send is not worth more: home's word is known, and a message should end.
    package static let timeout: Duration = .seconds(300)
    /// Patience ends with a minute, so that remainders gather.
    private static let gathering: Duration = .seconds(60)

    static func deadline(from now: WallInstant) -> WallInstant {
        let minute = gathering.components.seconds
        return WallInstant(secondsSince1970: (now.secondsSince1970 / minute + 1) * minute) + timeout
    }
}

// A token that the provider doesn't know may simply have been registered in the wrong environment. It is tried in the
// other one, once for each generation of the token: these refusals are what a connection is closed for soonest.
extension ParcelRun {
    /// True where the member goes on in the other environment. What home said is no verdict yet and counts in no sample.
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

    /// The other environment doesn't take the token either. Whatever its word: of a token that isn't its own it can't
    /// know more than that.
    mutating func recordRefusedInBoth(_ origin: OriginRejection, _ position: Int) {
        endAsOriginRejected(origin, .suspectedInBoth(reason: origin.reason), position, isTried: true)
    }

    /// The other environment could not be asked in time: the environments are not compared.
    ///
    /// - Parameter isLost: it may have taken the push after all.
    mutating func giveUpInSibling(_ origin: OriginRejection, _ position: Int, isTried: Bool, isLost: Bool) {
        if isLost { return end(position, TerminalStatus(.gaveUp, TerminalReason.answerLost), isTried: isTried) }
        endAsOriginRejected(origin, .suspected(reason: origin.reason), position, isTried: isTried)
    }

    /// The doubt about home arises here, and so does its place in home's sample. But it is home's word of then: who has
    /// registered since was never refused.
    private mutating func endAsOriginRejected(
        _ origin: OriginRejection, _ verdict: TokenVerdict, _ position: Int, isTried: Bool
    ) {
        sample.answered += 1
        sample.suspected += 1
        judge(position, verdict, asOf: origin.asOf)
        end(position, TerminalStatus(.rejected, origin.reason), isTried: isTried)
    }
}

extension RejectionFault {
    /// It says something about the token.
    var isAboutToken: Bool {
        switch self {
        case .tokenUnregistered, .tokenSuspect, .tokenUnknownHere: true
        case .message, .credential, .ours: false
        }
    }
}
