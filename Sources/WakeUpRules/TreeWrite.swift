import JSON

/// One write to a data tree: the subtrees that it replaces.
package struct TreeWrite: Equatable, Sendable {
    /// A subtree, and all leaves that it has from now on.
    package struct Replacement: Equatable, Sendable {
        package let path: NodePath
        /// By rising path; none: the subtree is removed.
        package let leaves: [NodeLeaf]

        fileprivate init(removing path: NodePath) { (self.path, leaves) = (path, []) }

        fileprivate init(_ value: JSONValue, at path: NodePath) throws(NodeFault) {
            self.path = path
            leaves = try NodeLeaves.of(value, at: path).sorted { $0.path < $1.path }
        }
    }

    /// By rising path; none is below another one.
    package let replacements: [Replacement]
    /// The number of leaves that it writes, and of subtrees that it removes.
    package let size: Int

    /// The nodes that it removes with all that is below.
    package var removals: [NodePath] { replacements.filter(\.leaves.isEmpty).map(\.path) }

    /// The same write without its removals; nil: it has nothing else.
    package var withoutRemovals: TreeWrite? {
        let others = replacements.filter { !$0.leaves.isEmpty }
        return others.isEmpty ? nil : try? TreeWrite(others)
    }

    private init(_ replacements: [Replacement]) throws(NodeFault) {
        (self.replacements, size) = (replacements, replacements.reduce(0) { $0 + max(1, $1.leaves.count) })
        guard size <= NodeLeaves.countMax else { throw .subtreeTooLarge }
    }

    /// Replaces the node at the path; null and `{}` remove it.
    package static func put(_ value: JSONValue, at path: NodePath) throws(NodeFault) -> TreeWrite {
        try TreeWrite([Replacement(value, at: path)])
    }

    /// Removes nodes, none of which is below another one.
    package static func remove(_ paths: [NodePath]) throws(NodeFault) -> TreeWrite {
        try TreeWrite(paths.sorted().map(Replacement.init(removing:)))
    }

    /// Replaces the child of each member's name; null removes it. The other children stay.
    package static func patch(_ members: JSONObject, at path: NodePath) throws(NodeFault) -> TreeWrite {
        var replacements: [Replacement] = []
        for member in members.members {
            replacements.append(try Replacement(member.value, at: path.child(member.name)))
        }
        return try TreeWrite(replacements.sorted { $0.path < $1.path })
    }
}

/// Several writes, one after the other, as one: the subtrees that they replace, and the leaves of these.
package struct MergedWrites: Sendable {
    /// A subtree that is replaced.
    package struct Target: Equatable, Sendable {
        package let path: NodePath
        /// One of the writes had leaves for it. A value above it is gone since then, even if no leaf is left.
        package fileprivate(set) var displacesValue: Bool
    }

    /// By rising path. None is below another one.
    package private(set) var targets: [Target] = []
    /// By rising path.
    package private(set) var leaves: [NodeLeaf] = []

    package init(_ writes: [TreeWrite]) {
        for write in writes {
            for replacement in write.replacements { add(replacement) }
        }
    }

    private mutating func add(_ replacement: TreeWrite.Replacement) {
        let path = replacement.path
        let place = targets.partitioningIndex { path < $0.path }
        if place > 0, targets[place - 1].path.contains(path) {
            if !replacement.leaves.isEmpty { targets[place - 1].displacesValue = true }
        } else {
            let below = place..<targets[place...].partitioningIndex { !path.contains($0.path) }
            let displaces = !replacement.leaves.isEmpty || targets[below].contains(where: \.displacesValue)
            targets.replaceSubrange(below, with: [Target(path: path, displacesValue: displaces)])
        }
        var start = leaves.partitioningIndex { !($0.path < path) }
        let end = leaves[start...].partitioningIndex { !path.contains($0.path) }
        // A value gives way to the object that is written below it. No other leaf lies between the two.
        if !replacement.leaves.isEmpty, start > 0, leaves[start - 1].path.contains(path) { start -= 1 }
        leaves.replaceSubrange(start..<end, with: replacement.leaves)
    }
}

extension RandomAccessCollection {
    /// Returns the first index whose element belongs to the second part. All elements of the first part stand before.
    func partitioningIndex(where belongsToSecond: (Element) -> Bool) -> Index {
        var (start, count) = (startIndex, count)
        while count > 0 {
            let half = count / 2
            let middle = index(start, offsetBy: half)
            if belongsToSecond(self[middle]) {
                count = half
            } else {
                start = index(after: middle)
                count -= half + 1
            }
        }
        return start
    }
}
