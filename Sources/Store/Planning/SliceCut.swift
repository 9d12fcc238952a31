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

    /// - Parameters:
    ///   - instants: when each member's push leaves; nil: at once. Members with one instant share parcels, whatever
    ///     their time zone.
    ///   - ownValueBytes: the size of each member's own value; nil: there are none.
    init(
        _ found: FoundMembers, sentAt instants: [WallInstant]? = nil, ownValueBytes: [Int]? = nil, parcelMembersMax: Int
    ) {
        precondition(instants == nil || instants?.count == found.ids.count)
        precondition(ownValueBytes == nil || ownValueBytes?.count == found.ids.count)
        self.found = found
        var groups: [Group: [Int]] = [:]
        for index in found.ids.indices {
            groups[Group(route: found.routes[index], sentAt: instants?[index]), default: []].append(index)
        }
        let order = groups.sorted {
            ($0.key.route, $0.key.sentAt?.microseconds ?? 0) < ($1.key.route, $1.key.sentAt?.microseconds ?? 0)
        }
        for (group, indices) in order {
            for part in Self.parts(of: indices, ownValueBytes, membersMax: parcelMembersMax) {
                routes.append(group.route)
                dueAt.append(group.sentAt)
                memberLists.append(MemberList.encode(part.map { found.ids[$0] }))
                counts.append(Int32(part.count))
            }
        }
    }

    /// Divides members, by their indices, into parts that are each within the limits of one parcel.
    private static func parts(of indices: [Int], _ ownValueBytes: [Int]?, membersMax: Int) -> [ArraySlice<Int>] {
        var parts: [ArraySlice<Int>] = []
        var (start, bytes) = (0, 0)
        for (place, index) in indices.enumerated() {
            let own = ownValueBytes?[index] ?? 0
            if place - start == membersMax || bytes + own > OwnValueLimits.bytesPerParcelMax {
                parts.append(indices[start..<place])
                (start, bytes) = (place, 0)
            }
            bytes += own
        }
        if start < indices.count { parts.append(indices[start...]) }
        return parts
    }

    var members: Int { found.ids.count }

    /// The slice ends neither pushes nor their message, so its commit need not wait for the disk.
    var isUnhurried: Bool { members > 0 && found.early.isEmpty }
}
