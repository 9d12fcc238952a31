import Postgres

/// The badges of members, read by rising id.
struct MemberBadges {
    private let rows: ResultSet?
    private let known: [Int64: Int32]?
    private var next = 0

    /// - Parameter rows: ids and badges, by rising id; nil: the message has none.
    init(_ rows: ResultSet?) {
        self.rows = rows
        known = nil
    }

    /// - Parameter known: the badge of each member that is a registration.
    init(_ known: [Int64: Int32]) {
        rows = nil
        self.known = known
    }

    /// Returns the badge of a registration whose row was read after its badge. A missing badge is damage, not a deleted
    /// device.
    mutating func badge(of id: Int64) throws(PostgresError) -> Int32 {
        if let known {
            guard let badge = known[id] else { throw Self.missing }
            return badge
        }
        guard let rows else { return 0 }
        while try rows.int64(next, 0) < id { next += 1 }
        guard try rows.int64(next, 0) == id else { throw Self.missing }
        return try rows.int32(next, 1)
    }

    private static let missing = PostgresError.unexpectedShape(statement: "member_badges", column: 0)
}

extension ResultSet {
    /// Advances to the row of an id, among rows by rising id; returns whether there is one.
    func walk(_ row: inout Int, to id: Int64) throws(PostgresError) -> Bool {
        while row < rowCount {
            let found = try int64(row, 0)
            if found >= id { return found == id }
            row += 1
        }
        return false
    }

    /// Returns the first row with this id or a higher one, among rows by rising id.
    func firstRow(of id: Int64?) throws(PostgresError) -> Int {
        guard let id else { return 0 }
        var (low, high) = (0, rowCount)
        while low < high {
            let middle = (low + high) / 2
            if try int64(middle, 0) < id { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
