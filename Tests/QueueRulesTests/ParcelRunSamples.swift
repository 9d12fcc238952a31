import Basis
import Model
import QueueRules

/// Sample parcels as a lease returns them, with usual values for all that a test does not set.
enum ParcelRunSamples {
    static let route = RouteID(7)
    static let otherRoute = RouteID(8)
    static let leasedAt = WallInstant(secondsSince1970: 1_800_000_000)
    static let start = MonotonicInstant(nanoseconds: 5_000_000_000)

    static func parcel(
        _ statuses: [MemberStatus] = [.present, .present, .present], id: Int64 = 1, epoch: Int32 = 1,
        settles: Int32 = 0, attempt: Int16 = 0, lapses: Int16 = 0, retrySpent: Duration = .zero,
        answerLost: Bool = false, expiresAfter: Duration = .seconds(86_400), suspected: [Int] = [],
        settledBefore: Int = 0, route: RouteID = route, app: AppID = AppID(1), origin: OriginRejection? = nil,
        otherEnvironment: RouteID? = nil, compared: [Int] = [], unsampled: [Int] = [], unproven: [Int] = [],
        ratePerSecond: Int32? = nil, urgency: MessageUrgency = .bulk
    ) -> LeasedParcel {
        let members = statuses.enumerated().map { place, status in
            LeasedMember(
                index: Int32(settledBefore + place), registration: RegistrationID(Int64(101 + place)),
                status: status, generation: TokenGeneration(3), badge: 5, tokenStart: Int32(place * 4),
                tokenCount: 4, isSuspected: suspected.contains(place), mayBeInSibling: !compared.contains(place),
                isSampled: !unsampled.contains(place), isUnproven: unproven.contains(place))
        }
        var bits = [UInt8](repeating: 0, count: settledBefore == 0 ? 0 : (settledBefore + statuses.count + 7) / 8)
        for index in 0..<settledBefore { bits[index >> 3] |= 1 << UInt8(index & 7) }
        return LeasedParcel(
            id: ParcelID(id), message: MessageID(UniversalID(high: 1, low: 2)), app: app, route: route, epoch: epoch,
            settles: settles, attempt: attempt, lapses: lapses, retrySpent: retrySpent, answerLost: answerLost,
            origin: origin, otherEnvironment: otherEnvironment, ratePerSecond: ratePerSecond, urgency: urgency,
            expiresAt: leasedAt + expiresAfter, leasedAt: leasedAt, memberCount: settledBefore + statuses.count,
            members: members, tokens: [UInt8](repeating: 0xAB, count: statuses.count * 4), settledBits: bits)
    }

    static func run(
        _ parcel: LeasedParcel = parcel(), policy: RetryPolicy = RetryPolicy(), isRepeatable: Bool = true
    ) -> ParcelRun {
        ParcelRun(parcel: parcel, leasedAt: start, policy: policy, isRepeatable: isRepeatable)
    }

    static func rejection(_ fault: RejectionFault, _ reason: String, since: WallInstant? = nil) -> Outcome {
        .rejected(Rejection(fault: fault, reason: reason, invalidSince: since))
    }
}

extension ParcelRun {
    /// Returns what the next settle would write.
    mutating func settlement() -> Settlement? { takeSettlement()?.settlement }

    mutating func record(_ outcome: Outcome, for position: Int) {
        record(outcome, for: position, now: ParcelRunSamples.start)
    }
}
