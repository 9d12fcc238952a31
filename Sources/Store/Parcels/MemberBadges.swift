import Postgres

/// The badges of members, asked for by rising id.
struct MemberBadges {
    private let rows: ResultSet?
    private let known: [Int64: Int32]?
    private var next = 0

    /// - Parameter rows: ids and badges, by rising id; nil: the message has none.
    init(_ rows: ResultSet?) {
        self.rows = rows
        known = nil
    }

    /// - Parameter known: of each member that is a registration.
    init(_ known: [Int64: Int32]) {
        rows = nil
        self.known = known
    }

    /// Of a registration that was there after its badge was read: one without is no device that has gone, but damage.
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
    /// Goes on to the row of an id among rows by rising id; whether there is one.
    func walk(_ row: inout Int, to id: Int64) throws(PostgresError) -> Bool {
        while row < rowCount {
            let found = try int64(row, 0)
            if found >= id { return found == id }
            row += 1
        }
        return false
    }

    /// The first row from an id on, of rows by rising id.
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
