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
    /// When each parcel is sent; nil: at once.
    private(set) var dueAt: [WallInstant?] = []
    private(set) var memberLists: [[UInt8]] = []
    private(set) var counts: [Int32] = []
    /// Members on the app's clock because the database does not know their time zone.
    var unknownZoneMembers = 0

    private struct Group: Hashable {
        let route: Int64
        let sentAt: WallInstant?
    }

    /// - Parameter instants: when each member's push leaves; nil: at once. Members with one instant share parcels,
    ///   whatever their time zone.
    init(_ found: FoundMembers, sentAt instants: [WallInstant]? = nil, parcelMembersMax: Int) {
        precondition(instants == nil || instants?.count == found.ids.count)
        self.found = found
        var groups: [Group: [Int64]] = [:]
        for (place, id) in found.ids.enumerated() {
            groups[Group(route: found.routes[place], sentAt: instants?[place]), default: []].append(id)
        }
        let order = groups.sorted {
            ($0.key.route, $0.key.sentAt?.microseconds ?? 0) < ($1.key.route, $1.key.sentAt?.microseconds ?? 0)
        }
        for (group, ids) in order {
            for start in stride(from: 0, to: ids.count, by: parcelMembersMax) {
                let members = Array(ids[start..<min(start + parcelMembersMax, ids.count)])
                routes.append(group.route)
                dueAt.append(group.sentAt)
                memberLists.append(MemberList.encode(members))
                counts.append(Int32(members.count))
            }
        }
    }

    var members: Int { found.ids.count }

    /// The slice ends neither pushes nor their message, so its commit need not wait for the disk.
    var isUnhurried: Bool { members > 0 && found.early.isEmpty }
}
