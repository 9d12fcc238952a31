import Basis

/// The place of a node in an app's data tree: the keys from the root down.
///
/// Its text begins with a slash: `/contacts/bob`. The root is `/`.
package struct NodePath: Hashable, Comparable, Sendable {
    /// The longest path, in bytes of its text.
    ///
    /// Source: the described service, "Subscription path length limit".
    package static let bytesMax = 2_048
    private static let slash = UInt8(ascii: "/")

    package let text: String

    package static let root = NodePath(stored: "/")

    /// - Parameter keys: percent-decoded.
    package init(_ keys: [String]) throws(NodeFault) {
        for key in keys { try NodeKey.check(key) }
        text = "/" + keys.joined(separator: "/")
        guard text.utf8.count <= Self.bytesMax else { throw .pathTooLong }
    }

    /// Takes a path from the database.
    package init(stored text: String) { self.text = text }

    package var isRoot: Bool { text.utf8.count == 1 }
    package var keys: [String] { text.utf8.split(separator: Self.slash).map { String(Substring($0)) } }
    /// The number of keys; the root's depth is 0.
    package var depth: Int { isRoot ? 0 : text.utf8.reduce(0) { $0 + ($1 == Self.slash ? 1 : 0) } }

    /// The text with which every path below begins, and no other: `/contacts/`.
    package var prefix: String { isRoot ? text : text + "/" }
    /// The text behind those of all paths below, in the order of bytes: 0 follows the slash.
    package var end: String { isRoot ? "0" : text + "0" }
    /// The node's own name; empty for the root.
    package var lastKey: String {
        guard let slash = text.utf8.lastIndex(of: Self.slash) else { return text }
        return String(Substring(text.utf8[text.utf8.index(after: slash)...]))
    }
    package var parent: NodePath? {
        guard !isRoot, let slash = text.utf8.lastIndex(of: Self.slash) else { return nil }
        return slash == text.startIndex ? .root : NodePath(stored: String(Substring(text.utf8[..<slash])))
    }

    package func child(_ key: String) throws(NodeFault) -> NodePath {
        try NodeKey.check(key)
        let child = NodePath(stored: prefix + key)
        guard child.text.utf8.count <= Self.bytesMax else { throw .pathTooLong }
        return child
    }

    /// The nodes from a depth down to this one.
    ///
    /// Only these are made: a write of many leaves below a deep node would copy its path for each leaf and depth.
    package func nodes(fromDepth first: Int) -> [NodePath] {
        if isRoot { return first == 0 ? [self] : [] }
        var nodes: [NodePath] = first == 0 ? [.root] : []
        var depth = 0
        let bytes = text.utf8
        for index in bytes.indices.dropFirst() where bytes[index] == Self.slash {
            depth += 1
            if depth >= first { nodes.append(NodePath(stored: String(Substring(bytes[..<index])))) }
        }
        return depth + 1 >= first ? nodes + [self] : nodes
    }

    /// Whether the other path is this one, or below it.
    package func contains(_ other: NodePath) -> Bool { self == other || other.text.utf8.starts(with: prefix.utf8) }

    /// The depth of the deepest node that is at or above both paths.
    package func sharedDepth(with other: NodePath) -> Int {
        zip(keys, other.keys).prefix { $0.hasSameBytes(as: $1) }.count
    }

    package static func == (left: NodePath, right: NodePath) -> Bool { left.text.hasSameBytes(as: right.text) }

    /// A node comes before those below it, and these before all others: a slash counts as the smallest byte.
    package static func < (left: NodePath, right: NodePath) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8) { one, other in
            one != other && other != slash && (one == slash || one < other)
        }
    }
}

/// The name of a node below its parent.
package enum NodeKey {
    /// The longest key, in bytes of UTF-8.
    package static let bytesMax = 768

    /// A key holds no slash and no control character, and begins neither with a point nor with a dollar: those names
    /// belong to the service and to read rules. Keys are compared by bytes.
    static func check(_ key: String) throws(NodeFault) {
        let bytes = key.utf8
        guard let first = bytes.first else { throw .keyEmpty }
        guard bytes.count <= bytesMax else { throw .keyTooLong }
        guard first != UInt8(ascii: "."), first != UInt8(ascii: "$") else { throw .keyReserved }
        guard !bytes.contains(UInt8(ascii: "/")) else { throw .keyHasSlash }
        guard !key.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw .keyHasControlCharacter
        }
    }
}

/// The reason why a path or a value can't be in a data tree.
package enum NodeFault: Error, Equatable, Sendable {
    case keyEmpty
    case keyTooLong
    /// The key begins with a point or a dollar.
    case keyReserved
    case keyHasSlash
    case keyHasControlCharacter
    case pathTooLong
    case valueTooLong
    /// The write has too many leaves, or touches too many nodes.
    case subtreeTooLarge
}
