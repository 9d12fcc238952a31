import DeliveryRules
import Postgres
import PushModel

/// What one look at an audience found.
struct FoundMembers: Sendable {
    /// Rising, with the route of each beside it.
    private(set) var ids: [Int64] = []
    private(set) var routes: [Int64] = []
    /// Those that end before anything is sent, ordered by state and reason, each with a count.
    private(set) var endings: [EndingCount] = []
    let plannedThrough: Int64
    let isLast: Bool

    /// An id range of which everything fits.
    init(live rows: ResultSet, idsMax: Int, horizon: Int64) throws(PostgresError) {
        ids = try rows.int64Column(0)
        routes = try rows.int64Column(1)
        isLast = ids.count < idsMax
        plannedThrough = ids.last ?? horizon
    }

    /// An id range of which some fit.
    init(looked rows: ResultSet, idsMax: Int, horizon: Int64) throws(PostgresError) {
        isLast = rows.rowCount < idsMax
        plannedThrough = try rows.int64Column(0).max() ?? horizon
        var members: [(id: Int64, route: Int64)] = []
        for row in 0..<rows.rowCount where try rows.bool(row, 2) {
            members.append((try rows.int64(row, 0), try rows.int64(row, 1)))
        }
        take(members)
    }

    /// One row for each named installation.
    init(named rows: ResultSet, plannedThrough: Int64, isLast: Bool) throws(PostgresError) {
        self.plannedThrough = plannedThrough
        self.isLast = isLast
        var live: [(id: Int64, route: Int64)] = []
        var unknown: Int64 = 0
        var retired: Int64 = 0
        for row in 0..<rows.rowCount {
            guard let id = try rows.int64OrNil(row, 0) else {
                unknown += 1
                continue
            }
            guard try rows.bool(row, 3) else { continue }
            if try rows.int16(row, 2) == RegistrationState.retired.rawValue {
                retired += 1
            } else {
                live.append((id, try rows.int64(row, 1)))
            }
        }
        take(live)
        end(unknown, Ending(.rejected, EndingReason.unknownDevice))
        end(retired, Ending(.unregistered, EndingReason.retired))
    }

    /// One row for each token, in no order.
    init(inline rows: ResultSet) throws(PostgresError) {
        plannedThrough = Int64(rows.rowCount)
        isLast = true
        var members: [(id: Int64, route: Int64)] = []
        for row in 0..<rows.rowCount { members.append((try rows.int64(row, 0), try rows.int64(row, 1))) }
        take(members)
    }

    private mutating func take(_ members: [(id: Int64, route: Int64)]) {
        let rising = members.sorted { $0.id < $1.id }
        ids = rising.map(\.id)
        routes = rising.map(\.route)
    }

    /// - Precondition: after those that it comes after.
    mutating func end(_ count: Int64, _ ending: Ending) {
        if count > 0 { endings.append(EndingCount(ending: ending, count: Int(count))) }
    }

    func ended(_ state: TerminalState) -> Int64 {
        endings.reduce(0) { $0 + ($1.ending.state == state ? Int64($1.count) : 0) }
    }
}
