import Model
import Postgres
import QueueRules

/// A member of an audience, and its route.
package struct Member: Sendable {
    /// The id of the registration.
    package let id: Int64
    /// The id of its route.
    package let route: Int64

    package init(id: Int64, route: Int64) { (self.id, self.route) = (id, route) }
}

extension Member {
    init(_ row: inout Row) throws(PostgresError) { (id, route) = (try row.int64(), try row.int64()) }
}

/// A name that was looked up.
struct NameRow: Sendable {
    /// The place among the names that were looked up for the message, from 1.
    let place: Int64
    /// The registration that was found; nil: none.
    let member: Member?
    let isOfOtherKind: Bool

    init(_ row: inout Row) throws(PostgresError) {
        place = try row.int64()
        let (id, route) = (try row.int64OrNil(), try row.int64OrNil())
        member = id.flatMap { id in route.map { Member(id: id, route: $0) } }
        isOfOtherKind = try row.boolOrNil() ?? false
    }
}

/// A row of `AudienceSQL.named`.
struct InstallationRow: Sendable {
    let name: NameRow
    let isRetired: Bool
    let provider: Int16?

    init(_ row: inout Row) throws(PostgresError) {
        name = try NameRow(&row)
        isRetired = try row.int16OrNil() == RegistrationState.retired.rawValue
        provider = try row.int16OrNil()
    }
}

/// The members that one query of an audience found.
struct FoundMembers: Sendable {
    /// Rising; `routes` has the route of each.
    private(set) var ids: [Int64] = []
    private(set) var routes: [Int64] = []
    /// Members that end before anything is sent, ordered by state, reason and route.
    private(set) var early: [EarlyTermination] = []
    let plannedThrough: Int64
    let isLast: Bool

    /// - Parameter members: in any order.
    init(_ members: [Member], through plannedThrough: Int64, isLast: Bool) {
        (self.plannedThrough, self.isLast) = (plannedThrough, isLast)
        take(members)
    }

    /// The registrations of named users, and users without a live one, which end.
    init(_ slice: UserScan.Slice, horizon: Int64, ending users: [NameRow]) {
        (isLast, plannedThrough, ids, routes) = (slice.isLast, slice.through ?? horizon, slice.ids, slice.routes)
        for user in users { end(user, unknown: TerminalReason.unknownUser) }
    }

    /// The registrations of named installations.
    ///
    /// - Parameters:
    ///   - providers: the providers that the message goes to; empty: all.
    ///   - before: how many of the message's names come before these.
    init(
        _ rows: ArraySlice<InstallationRow>, of providers: [Int16], before: Int, through plannedThrough: Int,
        isLast: Bool
    ) {
        (self.plannedThrough, self.isLast) = (Int64(plannedThrough), isLast)
        let wanted = rows.filter { row in
            providers.isEmpty || row.name.member == nil || providers.contains(row.provider ?? 0)
        }
        for row in wanted where row.isRetired || row.name.member == nil {
            end(row.name, before: before, unknown: TerminalReason.unknownDevice)
        }
        take(wanted.filter { !$0.isRetired }.compactMap(\.name.member))
    }

    /// The members that a message's tokens lead to, in any order. Two tokens never lead to one registration.
    init(tokens members: [Member]) { self.init(members, through: Int64(members.count), isLast: true) }

    private mutating func take(_ members: [Member]) {
        let rising = members.sorted { $0.id < $1.id }
        (ids, routes) = (rising.map(\.id), rising.map(\.route))
    }

    /// Ends the members that fit, after those that ended before, and removes them from `ids`. They are grouped by
    /// route, with a bounded size.
    mutating func end(_ terminalStatus: TerminalStatus, groupsOf membersMax: Int, where fits: (Int64) -> Bool) {
        let all = zip(ids, routes)
        let gone = all.filter { fits($0.0) }
        let left = all.filter { !fits($0.0) }
        (ids, routes) = (left.map(\.0), left.map(\.1))
        for (route, members) in Dictionary(grouping: gone, by: \.1).sorted(by: { $0.key < $1.key }) {
            for start in stride(from: 0, to: members.count, by: membersMax) {
                let group = members[start..<min(start + membersMax, members.count)]
                early.append(EarlyTermination(terminalStatus: terminalStatus, route: route, members: group.map(\.0)))
            }
        }
    }

    /// Ends a name without a live registration. There are only a handful of groups: an app has few routes, and there are
    /// few reasons.
    private mutating func end(_ name: NameRow, before: Int = 0, unknown: String) {
        var status = TerminalStatus(.unregistered, TerminalReason.retired)
        if name.member == nil {
            status = TerminalStatus(.rejected, name.isOfOtherKind ? TerminalReason.noRegistrationOfKind : unknown)
        }
        let ended = name.member?.id ?? Int64(before) + name.place
        let known = early.firstIndex { $0.terminalStatus == status && $0.route == name.member?.route }
        if let known {
            early[known].members.append(ended)
        } else {
            early.append(EarlyTermination(terminalStatus: status, route: name.member?.route, members: [ended]))
            early.sort { $0.isBefore($1) }
        }
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
        (terminalStatus.state.rawValue, terminalStatus.reason, route ?? 0)
            < (other.terminalStatus.state.rawValue, other.terminalStatus.reason, other.route ?? 0)
    }
}
