/// A leaf as the database holds it, as far as a comparison needs it.
package struct StoredLeaf: Equatable, Sendable {
    package let path: NodePath
    package let valueBytes: Int
    /// A hash of the value, or the value itself: the caller's own form.
    package let fingerprint: [UInt8]

    package init(path: NodePath, valueBytes: Int, fingerprint: [UInt8]) {
        (self.path, self.valueBytes, self.fingerprint) = (path, valueBytes, fingerprint)
    }

    var weight: Int { path.text.utf8.count + valueBytes }
}

/// The tree around a subtree that is replaced, before the write.
package struct SubtreeSurroundings: Equatable, Sendable {
    /// The value at a node above the subtree. It is removed if leaves are written into the subtree. There is at most one,
    /// because nothing lies below a value.
    package let value: StoredLeaf?
    /// The leaves next to the subtree in the order of bytes, at most three. The bytes of `/a-` lie between those of `/a`
    /// and of `/a/b`, so the subtree of `/a` has two parts.
    ///
    /// No other leaf has more of its path in common with the subtree. So these and the value tell which nodes above had
    /// data outside the subtree, and no other leaf is read for that.
    package let neighbours: [NodePath]

    package init(value: StoredLeaf?, neighbours: [NodePath]) { (self.value, self.neighbours) = (value, neighbours) }

    /// The depth of the deepest node above the subtree that had data outside it; nil: there was none.
    fileprivate func dataDepth(above path: NodePath) -> Int? {
        (neighbours.map { path.sharedDepth(with: $0) } + [value].compactMap { $0?.path.depth }).max()
    }
}

extension MergedWrites {
    /// The nodes above the subtrees that are replaced. Successive targets share most of these, and each stands here once.
    package var nodesAbove: [NodePath] {
        var above: [NodePath] = []
        var last: NodePath?
        for target in targets.map(\.path) {
            let shared = last.map { min(target.sharedDepth(with: $0) + 1, $0.depth) } ?? 0
            above += target.nodes(fromDepth: shared).dropLast()
            last = target
        }
        return above
    }

    /// Returns the surroundings of each target, in their order.
    ///
    /// - Parameters:
    ///   - values: those that stand at one of `nodesAbove`.
    ///   - neighbours: the leaves next to each target, with its index.
    package func surroundings(
        values: [StoredLeaf], neighbours: [(target: Int, path: NodePath)]
    ) -> [SubtreeSurroundings] {
        var beside: [[NodePath]] = Array(repeating: [], count: targets.count)
        for (target, path) in neighbours { beside[target].append(path) }
        return zip(targets, beside).map { target, beside in
            SubtreeSurroundings(value: values.first { $0.path.contains(target.path) }, neighbours: beside)
        }
    }
}

/// The exact effect of writes on a tree: the leaves that change, and each node at or above one of these.
package struct TreeDifference: Equatable, Sendable {
    /// A node whose data has changed, and how.
    package struct ChangedNode: Equatable, Sendable {
        package let path: NodePath
        /// Whether data was at or below the node before.
        package let existed: Bool
        /// The changes of its weight.
        package let bytesAdded: Int
        package let leavesAdded: Int
        /// The number of its children whose data has changed.
        package let children: Int

        package init(path: NodePath, existed: Bool, bytesAdded: Int, leavesAdded: Int, children: Int) {
            (self.path, self.existed, self.children) = (path, existed, children)
            (self.bytesAdded, self.leavesAdded) = (bytesAdded, leavesAdded)
        }
    }

    /// The most bytes that the paths of changed nodes may have together: a deep path has many nodes above it.
    package static let pathBytesMax = 8 << 20

    package private(set) var removed: [NodePath] = []
    package private(set) var written: [NodeLeaf] = []
    /// Children before their parents.
    package private(set) var nodes: [ChangedNode] = []

    package var isEmpty: Bool { removed.isEmpty && written.isEmpty }

    /// - Parameters:
    ///   - old: the leaves of the replaced subtrees, in any order.
    ///   - surroundings: one for each target of the writes, in their order.
    ///   - fingerprint: makes the form in which `StoredLeaf` holds a value.
    package init(
        _ writes: MergedWrites, old: [StoredLeaf], _ surroundings: [SubtreeSurroundings],
        fingerprint: (String) -> [UInt8]
    ) throws(NodeFault) {
        precondition(surroundings.count == writes.targets.count)
        var walk = Walk()
        var old = old.sorted { $0.path < $1.path }[...]
        var new = writes.leaves[...]
        for (target, around) in zip(writes.targets, surroundings) {
            let path = target.path
            walk.enter(path, dataDepth: around.dataDepth(above: path))
            let ownNew = new.prefix { path.contains($0.path) }
            new = new.dropFirst(ownNew.count)
            let ownOld = old.prefix { path.contains($0.path) }
            old = old.dropFirst(ownOld.count)
            if !ownOld.isEmpty { walk.noteData() }
            if let value = around.value, target.displacesValue, walk.noteValueAbove(value) {
                removed.append(value.path)
            }
            compare(ownOld, ownNew, &walk, fingerprint)
        }
        nodes = walk.end()
        guard nodes.reduce(0, { $0 + $1.path.text.utf8.count }) <= Self.pathBytesMax else { throw .subtreeTooLarge }
    }

    private mutating func compare(
        _ old: ArraySlice<StoredLeaf>, _ new: ArraySlice<NodeLeaf>, _ walk: inout Walk,
        _ fingerprint: (String) -> [UInt8]
    ) {
        var (old, new) = (old, new)
        while let path = [old.first?.path, new.first?.path].compactMap({ $0 }).min() {
            let before = old.first.flatMap { $0.path == path ? $0 : nil }
            let after = new.first.flatMap { $0.path == path ? $0 : nil }
            if before != nil { old.removeFirst() }
            if after != nil { new.removeFirst() }
            let isSame =
                before?.valueBytes == after?.value.utf8.count
                && before?.fingerprint == after.map { fingerprint($0.value) }
            walk.visit(path, before: before?.weight, after: after?.weight, isChanged: !isSame)
            guard !isSame else { continue }
            if let after { written.append(after) } else { removed.append(path) }
        }
    }
}

/// Visits leaves by rising path, and closes each node when the last leaf below it was seen.
private struct Walk {
    private struct OpenNode {
        let path: NodePath
        var hadData: Bool
        var isChanged = false
        var bytesAdded = 0
        var leavesAdded = 0
        var children = 0
    }

    /// The nodes from the root to the last leaf.
    private var open: [OpenNode] = []
    private var closed: [TreeDifference.ChangedNode] = []
    private var valuesAbove: [NodePath] = []

    /// Opens the nodes down to a subtree that is replaced.
    mutating func enter(_ target: NodePath, dataDepth: Int?) {
        move(to: target)
        guard let dataDepth else { return }
        for depth in open.indices.dropLast() where depth <= dataDepth { open[depth].hadData = true }
    }

    /// The nodes that are open had data.
    mutating func noteData() {
        for index in open.indices { open[index].hadData = true }
    }

    /// Notes that a value above the entered subtree goes. Returns false if it went before.
    mutating func noteValueAbove(_ value: StoredLeaf) -> Bool {
        guard !valuesAbove.contains(value.path) else { return false }
        valuesAbove.append(value.path)
        change(open.prefix { $0.path.contains(value.path) }.count, by: -value.weight, leaves: -1)
        return true
    }

    /// Visits a leaf that existed before, or exists now. An unchanged one is visited too: it proves that the nodes above
    /// had data.
    mutating func visit(_ path: NodePath, before: Int?, after: Int?, isChanged: Bool) {
        move(to: path)
        if before != nil { noteData() }
        guard isChanged else { return }
        let leaves = (after == nil ? 0 : 1) - (before == nil ? 0 : 1)
        change(open.count, by: (after ?? 0) - (before ?? 0), leaves: leaves)
    }

    private mutating func change(_ count: Int, by bytes: Int, leaves: Int) {
        guard count > 0 else { return }
        // The nodes above get the sums when this one closes.
        open[count - 1].isChanged = true
        open[count - 1].bytesAdded += bytes
        open[count - 1].leavesAdded += leaves
    }

    private mutating func move(to path: NodePath) {
        while let last = open.last, !last.path.contains(path) { close() }
        for node in path.nodes(fromDepth: open.count) { open.append(OpenNode(path: node, hadData: false)) }
    }

    private mutating func close() {
        let node = open.removeLast()
        guard node.isChanged else { return }
        closed.append(
            TreeDifference.ChangedNode(
                path: node.path, existed: node.hadData, bytesAdded: node.bytesAdded, leavesAdded: node.leavesAdded,
                children: node.children))
        guard let parent = open.indices.last else { return }
        open[parent].isChanged = true
        open[parent].bytesAdded += node.bytesAdded
        open[parent].leavesAdded += node.leavesAdded
        open[parent].children += 1
    }

    mutating func end() -> [TreeDifference.ChangedNode] {
        while !open.isEmpty { close() }
        return closed
    }
}
