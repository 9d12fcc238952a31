import JSON
import Model

/// The flat strings that a wake-up carries to the app.
///
/// Source: the described service, "Receive and parse a wake-up message". A value that is JSON is a string too, because
/// FCM's data map has strings alone.
package struct WakeUpPayload: Equatable, Sendable {
    /// The longest payload, as compact JSON in bytes of UTF-8.
    ///
    /// Source: "If the length is 4064 bytes-long or more", under "Data payload size limit".
    package static let bytesMax = 4_063

    package private(set) var members: [JSONMember]

    fileprivate init(_ members: [(String, String)]) { self.members = members.map { JSONMember($0.0, .string($0.1)) } }

    package var bytes: [UInt8] { JSONValue.object(JSONObject(members)).bytes }

    package var data: [DataMember] { members.map { DataMember(name: $0.name, json: JSONText($0.value)) } }
}

/// The subscription that a payload is for: the app's name and the path, as they stand in each payload.
package struct WakeUpAddress: Equatable, Sendable {
    package let app: String
    package let path: NodePath

    package init(app: String, path: NodePath) { (self.app, self.path) = (app, path) }

    fileprivate var members: [(String, String)] { [("app", app), ("sp", path.text)] }
}

/// The data of a watched node, as far as a payload could hold it.
package enum NodeData: Equatable, Sendable {
    /// The node's compact JSON; `null` where nothing is.
    case json([UInt8])
    /// There is more than any payload holds.
    case tooBig

    /// More leaves than this fit no payload: each has at least six bytes.
    package static let leavesMax = 700

    /// - Parameter leaves: the leaf at the path, or those below it, in any order. An empty value is one that was too long
    ///   to be read.
    package init(_ leaves: [NodeLeaf], at path: NodePath) {
        guard leaves.count < Self.leavesMax, !leaves.contains(where: \.value.isEmpty) else {
            self = .tooBig
            return
        }
        let ordered = leaves.sorted { $0.path.text.utf8.lexicographicallyPrecedes($1.path.text.utf8) }
        self = .json(NodeText.compose(ordered, at: path))
    }
}

/// The children of a node that changed since an earlier wake-up, each in one of the three groups.
package struct ChildChanges: Equatable, Sendable {
    package struct Child: Equatable, Sendable {
        package let key: String
        package let data: NodeData
    }

    package private(set) var added: [Child] = []
    package private(set) var changed: [Child] = []
    package private(set) var removed: [String] = []

    package init() {}

    package var isEmpty: Bool { added.isEmpty && changed.isEmpty && removed.isEmpty }

    /// A child that came and went is among the removed ones: an app may read at any time, and would keep the child.
    ///
    /// - Parameters:
    ///   - existed: whether the child had data before its first change.
    ///   - data: the child's data now; nil: it has none.
    package mutating func note(_ key: String, existed: Bool, now data: NodeData?) {
        switch (existed, data) {
        case (true, let data?): changed.append(Child(key: key, data: data))
        case (false, let data?): added.append(Child(key: key, data: data))
        case (_, nil): removed.append(key)
        }
    }

    fileprivate var isKnown: Bool { (added + changed).allSatisfy { $0.data != .tooBig } }
}

/// Chooses the most that fits: all data, keys alone, or the news that something changed.
package enum WakeUpShaping {
    /// - Parameter fits: whether the provider takes the payload.
    package typealias Fits = (WakeUpPayload) -> Bool

    package static func noData(_ address: WakeUpAddress) -> WakeUpPayload {
        WakeUpPayload([("t", "noData")] + address.members)
    }

    package static func value(_ data: NodeData, of address: WakeUpAddress, fits: Fits) -> WakeUpPayload {
        if case .json(let json) = data {
            let whole = WakeUpPayload(
                [("s", "OK"), ("t", "value")] + address.members + [("d", String(decoding: json, as: UTF8.self))])
            if isSmall(whole, fits) { return whole }
        }
        return WakeUpPayload([("s", "TooBig"), ("t", "value")] + address.members)
    }

    /// - Parameter changes: nil: which children changed is not known.
    package static func childEvent(_ changes: ChildChanges?, of address: WakeUpAddress, fits: Fits) -> WakeUpPayload {
        if let changes {
            if changes.isKnown {
                let whole = payload("OK", changes, address) { $0 }
                if isSmall(whole, fits) { return whole }
            }
            let keys = payload("OnlyKeys", changes, address) { _ in .json(Array("true".utf8)) }
            if isSmall(keys, fits) { return keys }
        }
        return payload("TooBig", ChildChanges(), address) { $0 }
    }

    /// Whether payloads without data fit. A path may be too long for that, if many of its characters are escaped.
    package static func canAddress(_ address: WakeUpAddress) -> Bool {
        childEvent(nil, of: address) { _ in true }.bytes.count <= WakeUpPayload.bytesMax
    }

    private static func isSmall(_ payload: WakeUpPayload, _ fits: Fits) -> Bool {
        payload.bytes.count <= WakeUpPayload.bytesMax && fits(payload)
    }

    private static func payload(
        _ status: String, _ changes: ChildChanges, _ address: WakeUpAddress, _ data: (NodeData) -> NodeData
    ) -> WakeUpPayload {
        func object(_ children: [ChildChanges.Child]) -> String {
            let bytes = JSONWriter.body { writer in
                for child in children {
                    if case .json(let json) = data(child.data) { writer.member(child.key, raw: json) }
                }
            }
            return String(decoding: bytes, as: UTF8.self)
        }
        let removed = JSONValue.array(changes.removed.map { .string($0) }).bytes
        return WakeUpPayload(
            [("s", status), ("t", "childEvent")] + address.members + [
                ("added", object(changes.added)), ("removed", String(decoding: removed, as: UTF8.self)),
                ("changed", object(changes.changed)),
            ])
    }
}

/// The reason for which a subscription was revoked.
///
/// Source: the described service, "Revocation causes are". The numbers are stored in the database.
package enum RevocationReason: Int16, Sendable, NamedCase {
    case permissionDenied = 1
    case namespaceDoesNotExist = 2
    case disabled = 3
    case expired = 4
    case tooBig = 5

    package var name: String {
        switch self {
        case .permissionDenied: "permission_denied"
        case .namespaceDoesNotExist: "namespace_does_not_exist"
        case .disabled: "disabled"
        case .expired: "expired"
        case .tooBig: "too_big"
        }
    }
}

extension WakeUpShaping {
    package static func revocation(_ reason: RevocationReason, of address: WakeUpAddress) -> WakeUpPayload {
        WakeUpPayload([("t", "revoke"), ("r", reason.name)] + address.members)
    }
}
