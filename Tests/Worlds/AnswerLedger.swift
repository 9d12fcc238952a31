import Basis
import Model
import QueueRules

/// What was heard of each push under each lease, and what its lease found: what endings are held against.
///
/// Written by the bookkeeper where a process hears an answer, and read by the checkers alone. Looked up, never walked.
struct AnswerLedger: Sendable {
    private var byLease: [LeaseName: [RegistrationID: ReceivedAnswers]] = [:]
    private var findings: [LeaseName: [RegistrationID: MemberFinding]] = [:]
    /// Pushes of which an answer was lost.
    private var lost: Set<PushPair> = []
    /// Pushes of which the transport said two things at once.
    private var contradicted: Set<PushPair> = []

    func answers(_ lease: LeaseName, _ member: RegistrationID) -> ReceivedAnswers {
        byLease[lease]?[member] ?? ReceivedAnswers()
    }

    func finding(_ lease: LeaseName, _ member: RegistrationID) -> MemberFinding {
        findings[lease]?[member] ?? MemberFinding()
    }

    func mayBeLost(_ pair: PushPair) -> Bool { lost.contains(pair) }

    func isContradicted(_ pair: PushPair) -> Bool { contradicted.contains(pair) }

    /// What a lease found: who is gone, and who is held back.
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

    /// Another word before the first one was passed on: either may count.
    mutating func contradict(_ lease: LeaseName, _ pair: PushPair, _ outcome: Outcome) {
        contradicted.insert(pair)
        if outcome == .accepted {
            byLease[lease, default: [:]][pair.registration, default: ReceivedAnswers()].isAcceptedToo = true
        }
        if case .unknown = outcome { lost.insert(pair) }
    }
}

/// Of one push under one lease.
struct ReceivedAnswers: Sendable {
    var answer: ProviderAnswer?
    /// Its stream ended without one.
    var isFault = false
    var isAcceptedToo = false
    /// How far the clock of the gateway that heard it was ahead.
    var clockError = Duration.zero

    /// What the provider asked for, as the gateway could read it. A date is read by a clock that may be wrong; one that
    /// has passed by that clock says nothing, and the documentation's pause stands.
    func pauseAsked(_ answer: ProviderAnswer) -> Duration? {
        guard answer.retryAt != nil, let retryAfter = answer.retryAfter else { return answer.pauseAsked }
        let read = .seconds(retryAfter) - clockError
        return read <= .zero ? answer.kind.floor : max(.seconds(1), read - .seconds(1))
    }

    var reportsAccepted: Bool { answer?.kind.isAccepted ?? false || isAcceptedToo }
    var isTried: Bool { answer != nil || isFault }
}

extension MemberStatus {
    /// The push ends with the lease.
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
