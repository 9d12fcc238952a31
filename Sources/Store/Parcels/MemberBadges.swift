import Postgres

/// The badges of members, read by rising id.
struct MemberBadges: Sendable {
    /// The badge of each member that is a registration.
    private var known: [Int64: Int32]?  // lookup only
    private var walk: MemberWalk?

    /// The message has no badges.
    static let none = MemberBadges()

    private init() {}

    init(_ known: [Int64: Int32]) { self.known = known }

    /// - Parameter rows: ids and badges, by rising id.
    init(_ rows: ResultSet) throws(PostgresError) { walk = try MemberWalk(rows) }

    /// Returns the badge of a registration whose row was read after its badge. A missing badge is damage, not a deleted
    /// device.
    mutating func badge(of id: Int64) throws(PostgresError) -> Int32 {
        if let known {
            guard let badge = known[id] else { throw Self.missing }
            return badge
        }
        guard walk != nil else { return 0 }
        guard try walk?.find(id) == true, let badge = try walk?.row.int32() else { throw Self.missing }
        return badge
    }

    private static let missing = PostgresError.unexpectedShape(statement: "member_badges", column: 0)
}
