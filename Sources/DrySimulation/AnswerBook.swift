import DeliveryRules
import PushModel

/// What was heard of each push under each lease, and what its lease found: what endings are held against.
///
/// Written by the bookkeeper where a process hears an answer, and read by the checkers alone. Looked up, never walked.
struct AnswerBook: Sendable {
    private var words: [LeaseName: [RegistrationID: HeardWords]] = [:]
    private var findings: [LeaseName: [RegistrationID: MemberFinding]] = [:]
    /// Pushes of which an answer was lost.
    private var lost: Set<PushPair> = []
    /// Pushes of which the transport said two things at once.
    private var contradicted: Set<PushPair> = []

    func heard(_ lease: LeaseName, _ member: RegistrationID) -> HeardWords { words[lease]?[member] ?? HeardWords() }

    func finding(_ lease: LeaseName, _ member: RegistrationID) -> MemberFinding {
        findings[lease]?[member] ?? MemberFinding()
    }

    func mayBeLost(_ pair: PushPair) -> Bool { lost.contains(pair) }

    func isContradicted(_ pair: PushPair) -> Bool { contradicted.contains(pair) }

    /// What a lease found: who is gone, and who is held back.
    mutating func begin(_ parcel: LeasedParcel) {
        for (place, member) in parcel.members.enumerated() {
            let hold = parcel.holds.isEmpty ? MemberHold.none : parcel.holds[place]
            guard hold != .none || member.standing.isEnd else { continue }
            findings[LeaseName(parcel: parcel.id, epoch: parcel.epoch), default: [:]][member.registration] =
                MemberFinding(standing: member.standing, hold: hold)
        }
    }

    mutating func hear(_ answer: ProviderAnswer, _ push: WirePush, clockError: Duration) {
        words[push.lease, default: [:]][push.registration, default: HeardWords()].answer = answer
        words[push.lease]?[push.registration]?.clockError = clockError
    }

    mutating func hearFault(_ push: WirePush, isSent: Bool) {
        words[push.lease, default: [:]][push.registration, default: HeardWords()].isFault = true
        if isSent { lost.insert(PushPair(message: push.message, registration: push.registration)) }
    }

    /// Another word before the first one was passed on: either may count.
    mutating func contradict(_ lease: LeaseName, _ pair: PushPair, _ outcome: Outcome) {
        contradicted.insert(pair)
        if outcome == .accepted {
            words[lease, default: [:]][pair.registration, default: HeardWords()].isAcceptedToo = true
        }
        if case .unknown = outcome { lost.insert(pair) }
    }
}

/// Of one push under one lease.
struct HeardWords: Sendable {
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
        return read <= .zero ? answer.word.floor : max(.seconds(1), read - .seconds(1))
    }

    var saysAccepted: Bool { answer?.word.isAccepted ?? false || isAcceptedToo }
    var isTried: Bool { answer != nil || isFault }
}

extension MemberStanding {
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
    var standing = MemberStanding.present
    var hold = MemberHold.none
}
