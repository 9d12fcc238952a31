import Model
import Postgres

/// A lease's readings of its members, except their badges.
struct MemberReadings: Sendable {
    struct Asked: Sendable {
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
    /// The members that were tried in both environments, with their token generation. It may differ from the row's,
    /// which was read a moment before.
    let compared: [Int64: Int32]  // lookup only

    /// - Parameter ids: rising.
    static func queries(of ids: [Int64], on route: RouteID, _ asked: Asked) -> [Query] {
        let keys = MemberKeys(ids)
        var parameters = Parameters()
        parameters.int64(route.value)
        var queries = [(asked.locales ? MemberSQL.rowsWithLocales : MemberSQL.rows).query(keys, parameters)]
        if asked.compared { queries.append(MemberSQL.compared.query(keys)) }
        if !asked.inline.isEmpty { queries.append(Query(MemberSQL.inline) { $0.int64Array(asked.inline) }) }
        return queries
    }

    /// - Parameter answers: the answers to `queries`.
    init(answers: ArraySlice<ResultSet>, to asked: Asked) throws(PostgresError) {
        var answers = answers
        rows = answers.removeFirst()
        var compared: [Int64: Int32] = [:]  // lookup only
        if asked.compared {
            let answer = answers.removeFirst()
            for row in 0..<answer.rowCount { compared[try answer.int64(row, 0)] = try answer.int32(row, 1) }
        }
        self.compared = compared
        inline = asked.inline.isEmpty ? nil : answers.removeFirst()
    }
}
