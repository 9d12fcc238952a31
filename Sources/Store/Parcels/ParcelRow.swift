import Basis
import Model
import Postgres
import QueueRules

/// A parcel's row as its claim left it: `ParcelSQL.columns`.
struct ParcelRow: Sendable {
    let id: ParcelID
    let message: MessageID
    let app: AppID
    let epoch: Int32
    let settles: Int32
    let attempt: Int16
    let lapses: Int16
    let retrySpent: Duration
    let answerLost: Bool
    let expiresAt: WallInstant
    let leasedAt: WallInstant
    let memberCount: Int
    /// `MemberList` of all members.
    let members: [UInt8]
    /// A bit for each settled member. Empty: none is settled.
    let settledBits: [UInt8]
    let badgeChange: Int16
    let badgeValue: Int32
    /// No earlier lease was free to send any of it.
    let isUnmarked: Bool
    /// The message has texts in several languages.
    let asksLocale: Bool
    /// Some of its members are inline targets.
    let hasInline: Bool
    /// A token that is unknown on its origin route could be tried on this sibling route.
    let otherEnvironment: RouteID?
    let origin: OriginRejection?
    /// The state that the claim gave it; nil: a newer version's.
    let state: ParcelState?
    /// nil: no limit applies.
    let limits: AppLimits?
    /// A bit for each member that the badge mark leaves out; nil: it covers all.
    let uncountedBits: [UInt8]?
    /// The number of the last set of a badge before its increments; nil: no settle stored it.
    let badgeSet: Int64?
    /// The rate of its message; nil: it has none.
    let ratePerSecond: Int32?
    let urgency: MessageUrgency
    /// Its members must meet conditions of their message's audience at every lease.
    let hasConditions: Bool

    init(_ row: inout Row) throws(PostgresError) {
        id = ParcelID(try row.int64())
        message = MessageID(try row.uuid())
        app = AppID(try row.int64())
        (epoch, settles, attempt, lapses) = (try row.int32(), try row.int32(), try row.int16(), try row.int16())
        retrySpent = .microseconds(try row.int64())
        answerLost = try row.bool()
        (expiresAt, leasedAt) = (try row.instant(), try row.instant())
        memberCount = Int(try row.int32())
        (members, settledBits) = (try row.bytes(), try row.bytesOrNil() ?? [])
        (badgeChange, badgeValue) = (try row.int16(), try row.int32())
        (isUnmarked, asksLocale, hasInline) = (try row.bool(), try row.bool(), try row.bool())
        otherEnvironment = try row.int64OrNil().map(RouteID.init)
        origin = try OriginRejection(&row)
        state = ParcelState(rawValue: try row.int16())
        limits = try row.int16OrNil().map(AppLimits.init)
        uncountedBits = try row.bytesOrNil()
        badgeSet = try row.int64OrNil()
        ratePerSecond = try row.int32OrNil()
        urgency = MessageUrgency(rawValue: try row.int16()) ?? .bulk
        hasConditions = try row.bool()
    }

    var isExpired: Bool { expiresAt <= leasedAt }
    var hasBadges: Bool { badgeChange != BadgeChange.none.column }
}

extension OriginRejection {
    /// Returns nil if the claimed parcel is not a cross-environment parcel.
    fileprivate init?(_ row: inout Row) throws(PostgresError) {
        guard let route = try row.int64OrNil() else {
            row.skip(4)
            return nil
        }
        let (generation, reason) = (TokenGeneration(try row.int32()), try row.text())
        let until = try row.instant()
        self.init(route: RouteID(route), generation: generation, reason: reason, asOf: try row.instant(), until: until)
    }
}
