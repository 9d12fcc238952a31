import Postgres

/// The badges of members, read by rising id.
struct MemberBadges: Sendable {
    /// The badge of each member that is a registration.
    private var known: [Int64: Int32]?  // lookup only
    private var walk: MemberWalk?
    /// The highest number of a set before this lease's increments, once all badges are read.
    private(set) var lastSet: Int64 = 0

    /// The message has no badges.
    static let none = MemberBadges()

    private init() {}

    init(_ known: [Int64: Int32], lastSet: Int64) { (self.known, self.lastSet) = (known, lastSet) }

    /// - Parameter rows: ids, badges and the numbers of their last sets, by rising id.
    init(_ rows: ResultSet) throws(PostgresError) { walk = try MemberWalk(rows) }

    /// Returns the badge of a registration whose row was read after its badge. A missing badge is damage, not a deleted
    /// device.
    mutating func badge(of id: Int64) throws(PostgresError) -> Int32 {
        if let known {
            guard let badge = known[id] else { throw Self.missing }
            return badge
        }
        guard walk != nil else { return 0 }
        guard try walk?.find(id) == true, let badge = try walk?.row.int32(), let set = try walk?.row.int64() else {
            throw Self.missing
        }
        lastSet = max(lastSet, set)
        return badge
    }

    private static let missing = PostgresError.unexpectedShape(statement: "member_badges", column: 0)
}
