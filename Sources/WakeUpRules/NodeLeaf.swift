import Basis
import JSON
import Model

/// A value in a data tree: a string, a number, a boolean, or an array as a whole.
///
/// The tree holds leaves alone. An object is the leaves below its path; `{}` and null are the absence of leaves.
package struct NodeLeaf: Equatable, Sendable {
    /// The longest value, in bytes of its text.
    package static let valueBytesMax = 65_536

    package let path: NodePath
    /// The value as compact JSON: strings in their shortest form, numbers as they were written.
    package let value: String

    package init(path: NodePath, value: String) { (self.path, self.value) = (path, value) }

    /// The leaf's part of the weight of each node above it, in bytes.
    package var weight: Int { path.text.utf8.count + value.utf8.count }
}

/// The leaves of a value at a path.
package enum NodeLeaves {
    /// The most leaves that one write may add or remove.
    package static let countMax = 10_000

    /// Returns the value's leaves, in the order of the value's members.
    package static func of(_ value: JSONValue, at path: NodePath) throws(NodeFault) -> [NodeLeaf] {
        var leaves: [NodeLeaf] = []
        try collect(value, at: path, into: &leaves)
        return leaves
    }

    /// Recurses: the reader of the value has bounded its depth.
    private static func collect(
        _ value: JSONValue, at path: NodePath, into leaves: inout [NodeLeaf]
    ) throws(NodeFault) {
        switch value {
        case .null: return
        case .object(let object):
            for member in object.members { try collect(member.value, at: path.child(member.name), into: &leaves) }
        case .bool, .number, .string, .array:
            let bytes = value.bytes
            guard bytes.count <= NodeLeaf.valueBytesMax else { throw .valueTooLong }
            guard leaves.count < countMax else { throw .subtreeTooLarge }
            leaves.append(NodeLeaf(path: path, value: String(decoding: bytes, as: UTF8.self)))
        }
    }
}

/// The JSON text of a node, put together from its leaves.
package enum NodeText {
    private static let null = Array("null".utf8)

    /// Returns the node's compact JSON, in bytes of UTF-8; `null` where nothing is.
    ///
    /// - Parameter leaves: the leaf at the path, or all leaves below it, in the order of the bytes of their paths. That
    ///   order keeps the leaves of each child together.
    package static func compose(_ leaves: [NodeLeaf], at path: NodePath) -> [UInt8] {
        guard let first = leaves.first else { return null }
        if first.path == path { return Array(first.value.utf8) }
        let depth = path.depth
        var writer = JSONWriter(capacity: leaves.reduce(2) { $0 + $1.value.utf8.count + 16 })
        writer.beginObject()
        /// The keys of the objects that are open, below the node.
        var open: [String] = []
        for leaf in leaves {
            let keys = leaf.path.keys.dropFirst(depth)
            let objects = keys.dropLast()
            let shared = zip(open, objects).prefix { $0.hasSameBytes(as: $1) }.count
            for _ in shared..<open.count { writer.endObject() }
            open.removeSubrange(shared...)
            for key in objects.dropFirst(shared) {
                writer.name(key)
                writer.beginObject()
                open.append(key)
            }
            writer.member(keys[keys.endIndex - 1], raw: Array(leaf.value.utf8))
        }
        for _ in open { writer.endObject() }
        writer.endObject()
        return writer.bytes
    }
}
