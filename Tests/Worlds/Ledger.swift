import Basis
import Model
import QueueRules

/// The world's own record of each commit and each open stream. It is independent of the store's counts, and only
/// checkers read it.
package struct Ledger: Sendable {
    /// Every (message, registration) ever frozen into a parcel, in that order.
    package private(set) var pairs: [PushPair] = []
    /// The status of each pair. Never iterated.
    private var status: [PushPair: PairStatus] = [:]
    private var badges: [RegistrationID: Int32] = [:]
    private var raised: Set<PushPair> = []
    /// The pairs whose increments each badge still has: they came after it was last set.
    private var added: [RegistrationID: Set<PushPair>] = [:]
    private var takenBack: Set<PushPair> = []
    private var lapsed: Set<LeaseName> = []
    /// The true time until which the store reserved the parcel for a lease. Never iterated.
    private var promises: [LeaseName: SimulatedTime] = [:]
    package private(set) var lapses: [PushPair: Int] = [:]
    /// Registrations that were retired, removed, replaced or moved: not "alive all along".
    package private(set) var disturbed: Set<RegistrationID> = []
    private(set) var owners = OwnerRecord()
    /// Pushes that no provider saw, because it has no form for them.
    package private(set) var refusedHere: Set<PushPair> = []
    package private(set) var leases = 0
    /// The knowledge of each lease about the other environment. Never iterated.
    private var offers: [LeaseName: EnvironmentOffer] = [:]
    /// Tokens, by generation, for which both environments were asked.
    private var compared: Set<TokenName> = []
    private var samples: [(route: RouteID, sample: AnswerSample, at: WallInstant)] = []
    private var finds: [(route: RouteID, at: WallInstant)] = []
    /// Tokens that were found in the other environment but stayed on their route, because too many were found.
    package private(set) var held: Set<RegistrationID> = []

    /// The messages counted for each user on each day, and the pairs already counted.
    private var days: [UserDay: Set<MessageID>] = [:]
    private var spent: Set<PushPair> = []
    /// The pairs that a lease was free to send. Never iterated.
    private var freed: Set<PushPair> = []

    /// Counts a push that a lease is free to send. Only the first call for a pair counts.
    ///
    /// - Returns: how many messages count for the user on that day now.
    mutating func spend(_ pair: PushPair, _ day: UserDay) -> Int {
        if spent.insert(pair).inserted { days[day, default: []].insert(pair.message) }
        return days[day]?.count ?? 0
    }

    /// Records that a lease is free to send the push.
    mutating func free(_ pair: PushPair) { freed.insert(pair) }

    func wasFree(_ pair: PushPair) -> Bool { freed.contains(pair) }

    func messages(_ day: UserDay) -> Set<MessageID> { days[day] ?? [] }

    package struct PairStatus: Sendable {
        /// nil: the push is still owed.
        package var terminalStatus: TerminalStatus?
        package var isEnded: Bool { terminalStatus != nil }
    }

    /// The pair's status; nil where the pair was never frozen.
    package subscript(_ pair: PushPair) -> PairStatus? { status[pair] }

    package mutating func freeze(_ pair: PushPair) -> String? {
        guard status[pair] == nil else { return "a registration is in two slices of one message" }
        status[pair] = PairStatus()
        pairs.append(pair)
        return nil
    }

    package mutating func end(_ pair: PushPair, _ terminalStatus: TerminalStatus) -> String? {
        guard let known = status[pair] else { return "a push ended that was never planned" }
        guard !known.isEnded else { return "a push ended twice" }
        status[pair]?.terminalStatus = terminalStatus
        return nil
    }

    package mutating func noteLease() -> Int {
        leases += 1
        return leases
    }

    mutating func promise(_ lease: LeaseName, until: SimulatedTime) {
        promises[lease] = max(promises[lease] ?? .zero, until)
    }

    func promisedUntil(_ lease: LeaseName) -> SimulatedTime { promises[lease] ?? .zero }

    package mutating func noteLapse(_ lease: LeaseName, _ pairs: [PushPair]) {
        lapsed.insert(lease)
        for pair in pairs { lapses[pair, default: 0] += 1 }
    }

    package mutating func record(_ sample: AnswerSample, on route: RouteID, at wall: WallInstant) {
        samples.append((route, sample, wall))
    }

    package func sample(on route: RouteID, within window: ClosedRange<WallInstant>) -> AnswerSample {
        samples.reduce(into: AnswerSample()) { sum, sample in
            guard sample.route == route, window.contains(sample.at) else { return }
            sum.answered += sample.sample.answered
            sum.suspected += sample.sample.suspected
        }
    }

    package mutating func find(on route: RouteID, at wall: WallInstant) { finds.append((route, wall)) }

    package func found(on route: RouteID, within window: ClosedRange<WallInstant>) -> Int {
        finds.count { $0.route == route && window.contains($0.at) }
    }

    package mutating func deferral(_ registration: RegistrationID) { held.insert(registration) }

    package var lapsedLeases: Int { lapsed.count }

    package func hasLapsed(_ lease: LeaseName) -> Bool { lapsed.contains(lease) }

    package mutating func disturb(_ registration: RegistrationID) { disturbed.insert(registration) }

    mutating func changeHands(
        _ registration: RegistrationID, to owner: OwnerRecord.Owner, at time: SimulatedTime
    ) {
        disturb(registration)
        owners.note(owner, of: registration, at: time)
    }

    mutating func noteRegistered(_ row: RegistrationRow, at time: SimulatedTime) {
        owners.noteRegistered(row, at: time)
    }

    package mutating func offer(_ parcel: LeasedParcel) {
        var offer = EnvironmentOffer(isThere: parcel.otherEnvironment != nil)
        for member in parcel.members where member.status == .present {
            let name = TokenName(registration: member.registration, generation: member.generation)
            offer.generations[member.registration] = member.generation
            if compared.contains(name) { offer.compared.insert(name) }
        }
        offers[LeaseName(parcel: parcel.id, epoch: parcel.epoch)] = offer
    }

    package func offer(_ lease: LeaseName) -> EnvironmentOffer? { offers[lease] }

    package mutating func compare(_ token: TokenName) { compared.insert(token) }

    package mutating func refuseHere(_ pair: PushPair) { refusedHere.insert(pair) }

    package mutating func setBadge(_ badge: Int32, of registration: RegistrationID) {
        badges[registration] = badge
        added[registration] = []
    }

    package func badge(of registration: RegistrationID) -> Int32 { badges[registration, default: 0] }

    /// Applies the message's badge change to the registration, the first time only.
    package mutating func raiseBadge(_ pair: PushPair, _ change: BadgeChange) {
        guard raised.insert(pair).inserted else { return }
        switch change {
        case .none: break
        case .increment:
            badges[pair.registration, default: 0] += 1
            added[pair.registration, default: []].insert(pair)
        case .value(let badge): setBadge(badge, of: pair.registration)
        }
    }

    /// Takes an increment back once. A device that was deleted before the lease never had it.
    mutating func takeBack(_ pair: PushPair) -> String? {
        guard takenBack.insert(pair).inserted else { return "an increment was taken back twice" }
        switch status[pair]?.terminalStatus?.state {
        case nil, .accepted: return "an increment was taken back although its push did not fail"
        case .gaveUp where status[pair]?.terminalStatus?.reason != TerminalReason.retriesExhausted:
            return "an increment was taken back although its push may have been shown"
        default: break
        }
        guard added[pair.registration, default: []].remove(pair) != nil else { return nil }
        badges[pair.registration, default: 0] -= 1
        return nil
    }
}

struct UserDay: Hashable, Sendable {
    let app: AppID
    let who: String
    let day: Int64
}

/// One token of a registration. Findings about one generation don't apply to the next.
package struct TokenName: Hashable, Sendable {
    package let registration: RegistrationID
    package let generation: TokenGeneration
}

/// A lease's knowledge about the other environment.
package struct EnvironmentOffer: Sendable {
    /// Whether the app has a credential for it.
    package let isThere: Bool
    package var generations: [RegistrationID: TokenGeneration] = [:]
    /// The tokens for which both environments had been asked by then.
    package var compared: Set<TokenName> = []
}

/// A promise that did not hold.
package struct Violation: Error, Equatable, Sendable, CustomStringConvertible {
    package let promise: String
    package let sentence: String
    package var description: String { "\(promise): \(sentence)" }
}
