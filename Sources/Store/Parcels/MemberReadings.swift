import Model
import Postgres

/// A lease's readings of its members, except their badges.
struct MemberReadings: Sendable {
    struct Asked: Sendable {
        /// The message is for named users.
        var users = false
        /// The message has texts in several languages.
        var locales = false
        /// A token could be tried in the other environment.
        var compared = false
        /// Members that may be inline targets. Rising.
        var inline: [Int64] = []
    }

    /// The members that are registrations, by rising id.
    let rows: ResultSet
    /// The inline targets by rising id; nil: there are none.
    let inline: ResultSet?
    /// Each row has the member's user, in front of its token.
    let haveUsers: Bool
    /// The members that were tried in both environments, with their token generation. It may differ from the row's,
    /// which was read a moment before.
    let compared: [Int64: Int32]  // lookup only

    /// - Parameter ids: rising.
    static func queries(of ids: [Int64], on route: RouteID, _ asked: Asked) -> [Query] {
        let keys = MemberKeys(ids)
        var parameters = Parameters()
        parameters.int64("route", route.value)
        var queries = [MemberSQL.rows(users: asked.users, locales: asked.locales).query(keys, parameters)]
        if asked.compared { queries.append(MemberSQL.compared.query(keys)) }
        if !asked.inline.isEmpty { queries.append(Query(MemberSQL.inline) { $0.int64Array("members", asked.inline) }) }
        return queries
    }

    /// - Parameter answers: the answers to `queries`.
    init(answers: ArraySlice<ResultSet>, to asked: Asked) throws(PostgresError) {
        var answers = answers
        rows = answers.removeFirst()
        haveUsers = asked.users
        compared = asked.compared ? try answers.removeFirst().numbersByID : [:]
        inline = asked.inline.isEmpty ? nil : answers.removeFirst()
    }
}

/// A walk over rows by rising id, which is their first column.
struct MemberWalk: Sendable {
    /// The row that was found, behind its id.
    var row: Row
    private var next = 0
    private let count: Int

    /// - Parameter first: the walk starts at this id or the next higher one; nil: at the first row.
    init(_ rows: ResultSet, from first: Int64? = nil) throws(PostgresError) {
        (row, count) = (rows.row(0), rows.rowCount)
        guard let first else { return }
        var end = count
        while next < end {
            let middle = (next + end) / 2
            row.move(to: middle)
            if try row.int64() < first { next = middle + 1 } else { end = middle }
        }
    }

    /// Goes on to the row of an id, higher than those before; returns whether there is one.
    mutating func find(_ id: Int64) throws(PostgresError) -> Bool {
        while next < count {
            row.move(to: next)
            let found = try row.int64()
            if found > id { return false }
            next += 1
            if found == id { return true }
        }
        return false
    }
}

extension ResultSet {
    /// Rows of an id and a number: badges or generations.
    var numbersByID: [Int64: Int32] {
        get throws(PostgresError) {
            var numbers: [Int64: Int32] = [:]  // lookup only
            for place in 0..<rowCount {
                var row = self.row(place)
                let id = try row.int64()
                numbers[id] = try row.int32()
            }
            return numbers
        }
    }
}

extension [Int64] {
    /// The numbers in rising order, each once.
    package var rising: [Int64] {
        var distinct: [Int64] = []
        for number in sorted() where distinct.last != number { distinct.append(number) }
        return distinct
    }
}
