import DeliveryRules
import Encodings
import Postgres
import PushModel

/// What one read of the audience found.
struct FoundMembers: Sendable {
    /// Rising, with the route of each beside it.
    private(set) var ids: [Int64] = []
    private(set) var routes: [Int64] = []
    /// Named, but nobody's: rejected (`unknown_device`).
    private(set) var unknown: Int64 = 0
    /// Named, and retired: unregistered (`retired`).
    private(set) var retired: Int64 = 0
    let plannedThrough: Int64
    let isLast: Bool

    /// An id range of every live registration.
    init(live rows: ResultSet, idsMax: Int, horizon: Int64) throws(PostgresError) {
        ids = try rows.int64Column(0)
        routes = try rows.int64Column(1)
        isLast = ids.count < idsMax
        plannedThrough = ids.last ?? horizon
    }

    /// One row for each named installation.
    init(named rows: ResultSet, plannedThrough: Int64, isLast: Bool) throws(PostgresError) {
        self.plannedThrough = plannedThrough
        self.isLast = isLast
        var live: [(id: Int64, route: Int64)] = []
        for row in 0..<rows.rowCount {
            guard let id = try rows.int64OrNil(row, 0) else {
                unknown += 1
                continue
            }
            if try rows.int16(row, 2) == RegistrationState.retired.rawValue {
                retired += 1
            } else {
                live.append((id, try rows.int64(row, 1)))
            }
        }
        live.sort { $0.id < $1.id }
        ids = live.map(\.id)
        routes = live.map(\.route)
    }

    /// Those that end before anything is sent, ordered by state and reason.
    var endings: [EndingCount] {
        var endings: [EndingCount] = []
        if unknown > 0 { endings.append(EndingCount(ending: Ending(.rejected, "unknown_device"), count: Int(unknown))) }
        if retired > 0 { endings.append(EndingCount(ending: Ending(.unregistered, "retired"), count: Int(retired))) }
        return endings
    }
}

/// A slice as parcels: each of one route, with its frozen members.
struct SliceCut: Sendable {
    let found: FoundMembers
    /// One entry a parcel, by route, then by id.
    private(set) var routes: [Int64] = []
    private(set) var memberLists: [[UInt8]] = []
    private(set) var counts: [Int32] = []

    init(_ found: FoundMembers, parcelMembersMax: Int) {
        self.found = found
        var byRoute: [Int64: [Int64]] = [:]
        for (id, route) in zip(found.ids, found.routes) { byRoute[route, default: []].append(id) }
        for route in byRoute.keys.sorted() {
            guard let ids = byRoute[route] else { continue }
            for start in stride(from: 0, to: ids.count, by: parcelMembersMax) {
                let members = Array(ids[start..<min(start + parcelMembersMax, ids.count)])
                routes.append(route)
                memberLists.append(MemberList.encode(members))
                counts.append(Int32(members.count))
            }
        }
    }

    var members: Int { found.ids.count }
}

extension Query {
    /// - Parameter endings: ordered by state and reason, each once.
    static func addReasons(_ endings: [EndingCount], to message: MessageID) -> Query {
        Query(PlanSQL.reasons) {
            $0.uuid(message.value)
            $0.int16Array(endings.map(\.ending.state.rawValue))
            $0.textArray(endings.map(\.ending.reason))
            $0.int64Array(endings.map { Int64($0.count) })
        }
    }
}
