import Basis
import Encodings
import Model
import Postgres
import QueueRules

/// A slice as parcels: each of one route, with its frozen members.
struct SliceCut: Sendable {
    let found: FoundMembers
    /// One entry for each parcel, ordered by route, by when it is sent, and by id.
    private(set) var routes: [Int64] = []
    /// Empty: all parcels leave at once.
    private(set) var sentAt: [WallInstant] = []
    private(set) var memberLists: [[UInt8]] = []
    private(set) var counts: [Int32] = []

    init(_ found: FoundMembers, parcelMembersMax: Int) {
        self.found = found
        var byRoute: [Int64: [Int64]] = [:]
        for (id, route) in zip(found.ids, found.routes) { byRoute[route, default: []].append(id) }
        for route in byRoute.keys.sorted() {
            guard let ids = byRoute[route] else { continue }
            cut(ids, on: route, parcelMembersMax)
        }
    }

    /// - Parameter sentAt: when each member's push leaves. Members with one instant share parcels, whatever their time
    ///   zone.
    init(_ found: FoundMembers, sentAt instants: [WallInstant], parcelMembersMax: Int) {
        precondition(instants.count == found.ids.count)
        self.found = found
        var groups: [Group: [Int64]] = [:]
        for (place, id) in found.ids.enumerated() {
            groups[Group(route: found.routes[place], sentAt: instants[place]), default: []].append(id)
        }
        for group in groups.keys.sorted() {
            guard let ids = groups[group] else { continue }
            cut(ids, on: group.route, parcelMembersMax)
            sentAt += Array(repeating: group.sentAt, count: routes.count - sentAt.count)
        }
    }

    private struct Group: Hashable, Comparable {
        let route: Int64
        let sentAt: WallInstant

        static func < (left: Group, right: Group) -> Bool { (left.route, left.sentAt) < (right.route, right.sentAt) }
    }

    private mutating func cut(_ ids: [Int64], on route: Int64, _ parcelMembersMax: Int) {
        for start in stride(from: 0, to: ids.count, by: parcelMembersMax) {
            let members = Array(ids[start..<min(start + parcelMembersMax, ids.count)])
            routes.append(route)
            memberLists.append(MemberList.encode(members))
            counts.append(Int32(members.count))
        }
    }

    var members: Int { found.ids.count }

    /// When each parcel is sent; nil: at once.
    var dueAt: [WallInstant?] { sentAt.isEmpty ? routes.map { _ in nil } : sentAt }

    /// The slice ends neither pushes nor their message, so its commit need not wait for the disk.
    var isUnhurried: Bool { members > 0 && found.early.isEmpty }
}

extension Query {
    /// - Parameter terminalCounts: ordered by state and reason, each once.
    static func addReasons(_ terminalCounts: [TerminalCount], to message: MessageID) -> Query {
        Query(PlanSQL.reasons) {
            $0.uuid(message.value)
            $0.int16Array(terminalCounts.map(\.terminalStatus.state.rawValue))
            $0.textArray(terminalCounts.map(\.terminalStatus.reason))
            $0.int64Array(terminalCounts.map { Int64($0.count) })
        }
    }
}
