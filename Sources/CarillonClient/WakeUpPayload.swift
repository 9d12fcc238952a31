/// The members of a payload that the library reads, all of them strings. Values nest as JSON inside these strings.
struct WakeUpPayload {
    /// The members by the names that they have in the payload.
    private enum Member: String, CaseIterable {
        /// The payload's format; absent in the first one.
        case format = "v"
        case type = "t"
        case app
        case path = "sp"
        /// Whether the push has the data or is too small for it.
        case status = "s"
        /// The new value, as JSON.
        case value = "d"
        case added, changed, removed
        case reason = "r"
    }

    /// The second format has the members of the first one, and numbers its pushes in `n`.
    private static let secondFormat = "2"

    private let members: [Member: String]

    init?(_ payload: [String: String]) { self.init { payload[$0] } }

    init?(userInfo: [AnyHashable: Any]) { self.init { userInfo[$0] } }

    /// nil if one of the members is not a string: the gateway writes strings alone.
    private init?(_ value: (_ name: String) -> Any?) {
        var members: [Member: String] = [:]
        for member in Member.allCases {
            guard let found = value(member.rawValue) else { continue }
            guard let text = found as? String else { return nil }
            members[member] = text
        }
        self.members = members
    }

    var hasKnownFormat: Bool { members[.format].map { $0 == Self.secondFormat } ?? true }

    /// nil if the name is missing or empty.
    var app: String? { members[.app].flatMap { $0.isEmpty ? nil : $0 } }

    /// nil if the path is missing or does not begin with a slash.
    var path: String? { members[.path].flatMap { $0.utf8.first == UInt8(ascii: "/") ? $0 : nil } }
}

extension WakeUpPayload {
    private enum EventType: String {
        case noData, value, childEvent, revoke
    }

    private enum Status: String {
        /// The data is complete.
        case ok = "OK"
        /// The children's values are left out. Only in `childEvent`.
        case onlyKeys = "OnlyKeys"
        /// All data is left out.
        case tooBig = "TooBig"
    }

    /// nil if the type is unknown, or a member that the type needs is missing or malformed.
    var event: WakeUpEvent? {
        switch members[.type].flatMap(EventType.init(bytesOf:)) {
        case .noData: .valueChange(.hidden)
        case .value: valueChange.map { .valueChange($0) }
        case .childEvent: childrenUpdate.map { .childrenUpdate($0) }
        case .revoke: members[.reason].map { .revocation(reason: RevocationReason(code: $0)) }
        case nil: nil
        }
    }

    private var status: Status? { members[.status].flatMap(Status.init(bytesOf:)) }

    private var valueChange: WakeUpEvent.ValueChange? {
        switch status {
        case .ok: json(.value).map { .value($0) }
        case .tooBig: .tooBig
        case .onlyKeys, nil: nil
        }
    }

    private var childrenUpdate: WakeUpEvent.ChildrenUpdate? {
        switch status {
        case .ok: childValues.map { .full($0) }
        case .onlyKeys: childValues.flatMap(Self.keys).map { .onlyKeys($0) }
        // The three members are absent or empty, and the app reads again in either case.
        case .tooBig: .tooBig
        case nil: nil
        }
    }

    /// nil if one of the three members is missing or malformed.
    private var childValues: WakeUpEvent.ChildValues? {
        guard let added = json(.added)?.object, let changed = json(.changed)?.object, let removed = removedKeys else {
            return nil
        }
        return .init(additions: added, changes: changed, removals: removed)
    }

    /// nil if one of the values is not `true`, which `OnlyKeys` writes for each key.
    private static func keys(_ children: WakeUpEvent.ChildValues) -> WakeUpEvent.ChildKeys? {
        for object in [children.additions, children.changes] {
            guard object.allSatisfy({ $0.value.bool == true }) else { return nil }
        }
        return .init(additions: children.additions.names, changes: children.changes.names, removals: children.removals)
    }

    private func json(_ member: Member) -> JSON? { members[member].flatMap { try? JSON(parsing: $0) } }

    /// nil if the member is missing, or is not an array of strings.
    private var removedKeys: [String]? {
        guard let elements = json(.removed)?.array else { return nil }
        let keys = elements.compactMap(\.string)
        return keys.count == elements.count ? keys : nil
    }
}
