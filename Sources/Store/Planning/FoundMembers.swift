import Model
import Postgres
import QueueRules

/// The members that one query of an audience found.
struct FoundMembers: Sendable {
    /// Rising; `routes` has the route of each.
    private(set) var ids: [Int64] = []
    private(set) var routes: [Int64] = []
    /// Members that end before anything is sent, ordered by state, reason and route.
    private(set) var early: [EarlyTermination] = []
    let plannedThrough: Int64
    let isLast: Bool

    /// Reads an id range in which all registrations fit.
    init(live rows: ResultSet, idsMax: Int, horizon: Int64) throws(PostgresError) {
        ids = try rows.int64Column(0)
        routes = try rows.int64Column(1)
        isLast = ids.count < idsMax
        plannedThrough = ids.last ?? horizon
    }

    /// Reads an id range in which some registrations fit.
    init(examined rows: ResultSet, idsMax: Int, horizon: Int64) throws(PostgresError) {
        isLast = rows.rowCount < idsMax
        plannedThrough = try rows.int64Column(0).max() ?? horizon
        var members: [(id: Int64, route: Int64)] = []
        for row in 0..<rows.rowCount where try rows.bool(row, 2) {
            members.append((try rows.int64(row, 0), try rows.int64(row, 1)))
        }
        take(members)
    }

    /// Reads the registrations of named users.
    init(_ slice: UserScan.Slice, horizon: Int64) {
        isLast = slice.isLast
        plannedThrough = slice.through ?? horizon
        ids = slice.ids
        routes = slice.routes
    }

    /// Reads one row for each named installation.
    ///
    /// - Parameters:
    ///   - own: the rows of the message.
    ///   - providers: the providers that the message goes to; empty: all.
    ///   - before: how many of the message's names come before these.
    init(
        named rows: ResultSet, _ own: Range<Int>, _ providers: [Int16], before: Int, plannedThrough: Int64,
        isLast: Bool
    ) throws(PostgresError) {
        self.plannedThrough = plannedThrough
        self.isLast = isLast
        var live: [(id: Int64, route: Int64)] = []
        for row in own {
            guard let id = try rows.int64OrNil(row, 1) else {
                let reason =
                    rows.isNull(row, 5) ? TerminalReason.unknownDevice : TerminalReason.noRegistrationOfKind
                end(nameAt: Int64(before) + (try rows.int64(row, 0)), TerminalStatus(.rejected, reason))
                continue
            }
            let provider = try rows.int16(row, 4)
            guard providers.isEmpty || providers.contains(provider) else { continue }
            let route = try rows.int64(row, 2)
            if try rows.int16(row, 3) == RegistrationState.retired.rawValue {
                end(id, on: route, TerminalStatus(.unregistered, TerminalReason.retired))
            } else {
                live.append((id, route))
            }
        }
        take(live)
    }

    /// Ends named users without a live registration, one for each row.
    mutating func end(users rows: ResultSet) throws(PostgresError) {
        for row in 0..<rows.rowCount {
            if let id = try rows.int64OrNil(row, 1) {
                end(id, on: try rows.int64(row, 2), TerminalStatus(.unregistered, TerminalReason.retired))
            } else {
                let reason = rows.isNull(row, 3) ? TerminalReason.unknownUser : TerminalReason.noRegistrationOfKind
                end(nameAt: try rows.int64(row, 0), TerminalStatus(.rejected, reason))
            }
        }
    }

    /// Reads one row for each token, in no order.
    init(inline rows: ResultSet) throws(PostgresError) {
        plannedThrough = Int64(rows.rowCount)
        isLast = true
        var members: [(id: Int64, route: Int64)] = []
        for row in 0..<rows.rowCount { members.append((try rows.int64(row, 0), try rows.int64(row, 1))) }
        take(members)
    }

    /// The members that a message's tokens lead to, in any order. Two tokens never lead to one registration.
    init(tokens members: [(id: Int64, route: Int64)]) {
        plannedThrough = Int64(members.count)
        isLast = true
        take(members)
    }

    private mutating func take(_ members: [(id: Int64, route: Int64)]) {
        let rising = members.sorted { $0.id < $1.id }
        ids = rising.map(\.id)
        routes = rising.map(\.route)
    }

    /// Ends the members that fit, after those that ended before, and removes them from `ids`. They are grouped by
    /// route, with a bounded size.
    mutating func end(_ terminalStatus: TerminalStatus, groupsOf membersMax: Int, where fits: (Int64) -> Bool) {
        let all = zip(ids, routes)
        let gone = all.filter { fits($0.0) }
        let left = all.filter { !fits($0.0) }
        ids = left.map(\.0)
        routes = left.map(\.1)
        for (route, members) in Dictionary(grouping: gone, by: \.1).sorted(by: { $0.key < $1.key }) {
            for start in stride(from: 0, to: members.count, by: membersMax) {
                let group = members[start..<min(start + membersMax, members.count)]
                early.append(EarlyTermination(terminalStatus: terminalStatus, route: route, members: group.map(\.0)))
            }
        }
    }

    private mutating func end(nameAt place: Int64, _ terminalStatus: TerminalStatus) {
        add(place, to: EarlyTermination(terminalStatus: terminalStatus, route: nil, members: []))
    }

    private mutating func end(_ registration: Int64, on route: Int64, _ terminalStatus: TerminalStatus) {
        add(registration, to: EarlyTermination(terminalStatus: terminalStatus, route: route, members: []))
    }

    /// Adds a member to its group. There are only a handful: an app has few routes, and there are few reasons.
    private mutating func add(_ member: Int64, to group: EarlyTermination) {
        let known = early.firstIndex { $0.terminalStatus == group.terminalStatus && $0.route == group.route }
        if known == nil {
            early.append(group)
            early.sort { $0.isBefore($1) }
        }
        let place = known ?? early.firstIndex { $0.terminalStatus == group.terminalStatus && $0.route == group.route }
        if let place { early[place].members.append(member) }
    }

    /// Counts by state and reason, each pair once.
    var terminalCounts: [TerminalCount] {
        var counts: [TerminalCount] = []
        for group in early {
            if let last = counts.indices.last, counts[last].terminalStatus == group.terminalStatus {
                counts[last].count += group.members.count
            } else {
                counts.append(TerminalCount(terminalStatus: group.terminalStatus, count: group.members.count))
            }
        }
        return counts
    }

    func ended(_ state: TerminalState) -> Int64 {
        early.reduce(0) { $0 + ($1.terminalStatus.state == state ? Int64($1.members.count) : 0) }
    }
}

/// Members that end while the audience is cut.
struct EarlyTermination: Equatable, Sendable {
    let terminalStatus: TerminalStatus
    /// nil: the members have no registration.
    let route: Int64?
    /// Registrations, or, without a route, places among the names in the message's audience, from 1.
    var members: [Int64]

    func isBefore(_ other: EarlyTermination) -> Bool {
        if terminalStatus.state != other.terminalStatus.state {
            return terminalStatus.state.rawValue < other.terminalStatus.state.rawValue
        }
        if terminalStatus.reason != other.terminalStatus.reason {
            return terminalStatus.reason < other.terminalStatus.reason
        }
        return (route ?? 0) < (other.route ?? 0)
    }
}
