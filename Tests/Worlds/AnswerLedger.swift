import Basis
import Model
import QueueRules

/// The answers received for each push under each lease, and what the lease found about its members. Checkers compare
/// terminal states with it.
///
/// The world writes it when a process receives an answer; only checkers read it. It is never iterated.
struct AnswerLedger: Sendable {
    private var byLease: [LeaseName: [RegistrationID: ReceivedAnswers]] = [:]
    private var findings: [LeaseName: [RegistrationID: MemberFinding]] = [:]
    /// Pushes whose answer was lost at least once.
    private var lost: Set<PushPair> = []
    /// Pushes for which the transport reported two outcomes at once.
    private var contradicted: Set<PushPair> = []

    func answers(_ lease: LeaseName, _ member: RegistrationID) -> ReceivedAnswers {
        byLease[lease]?[member] ?? ReceivedAnswers()
    }

    func finding(_ lease: LeaseName, _ member: RegistrationID) -> MemberFinding {
        findings[lease]?[member] ?? MemberFinding()
    }

    func mayBeLost(_ pair: PushPair) -> Bool { lost.contains(pair) }

    func isContradicted(_ pair: PushPair) -> Bool { contradicted.contains(pair) }

    /// Records what a lease found: members that are gone, and members deferred by limits.
    mutating func begin(_ parcel: LeasedParcel) {
        for (place, member) in parcel.members.enumerated() {
            let deferral = parcel.deferrals.isEmpty ? MemberDeferral.none : parcel.deferrals[place]
            guard deferral != .none || member.status.isEnd else { continue }
            findings[LeaseName(parcel: parcel.id, epoch: parcel.epoch), default: [:]][member.registration] =
                MemberFinding(status: member.status, deferral: deferral)
        }
    }

    mutating func record(_ answer: ProviderAnswer, _ push: WirePush, clockError: Duration) {
        byLease[push.lease, default: [:]][push.registration, default: ReceivedAnswers()].answer = answer
        byLease[push.lease]?[push.registration]?.clockError = clockError
    }

    mutating func recordFault(_ push: WirePush, isSent: Bool) {
        byLease[push.lease, default: [:]][push.registration, default: ReceivedAnswers()].isFault = true
        if isSent { lost.insert(PushPair(message: push.message, registration: push.registration)) }
    }

    /// Records a second outcome that came before the first was passed on. Either may count.
    mutating func contradict(_ lease: LeaseName, _ pair: PushPair, _ outcome: Outcome) {
        contradicted.insert(pair)
        if outcome == .accepted {
            byLease[lease, default: [:]][pair.registration, default: ReceivedAnswers()].isAcceptedToo = true
        }
        if case .unknown = outcome { lost.insert(pair) }
    }
}

/// The answers to one push under one lease.
struct ReceivedAnswers: Sendable {
    var answer: ProviderAnswer?
    /// Whether its stream ended without an answer.
    var isFault = false
    var isAcceptedToo = false
    /// The time by which the receiving gateway's clock was ahead.
    var clockError = Duration.zero

    /// The pause that the provider asked for, as the gateway could read it. The gateway compares a date with its own
    /// clock, which may be wrong. A date in that clock's past means nothing, and the documented pause applies.
    func pauseAsked(_ answer: ProviderAnswer) -> Duration? {
        guard answer.retryAt != nil, let retryAfter = answer.retryAfter else { return answer.pauseAsked }
        let read = .seconds(retryAfter) - clockError
        return read <= .zero ? answer.kind.floor : max(.seconds(1), read - .seconds(1))
    }

    var reportsAccepted: Bool { answer?.kind.isAccepted ?? false || isAcceptedToo }
    var isTried: Bool { answer != nil || isFault }
}

extension MemberStatus {
    /// Whether the push ends with the lease.
    fileprivate var isEnd: Bool {
        switch self {
        case .deleted, .retired, .excluded: true
        case .present, .moved: false
        }
    }

    var isExcluded: Bool { if case .excluded = self { true } else { false } }
}

struct MemberFinding: Sendable {
    var status = MemberStatus.present
    var deferral = MemberDeferral.none
}
