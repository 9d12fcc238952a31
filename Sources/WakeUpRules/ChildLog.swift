/// The changed children of a watched node, and the data that they have now.
package struct ChildLog: Sendable {
    /// The most changes that are read of a watch. With more, the oldest are not known one by one.
    package static let changesMax = 2_048
    /// The most changed children whose data is read. With more, none of the changes is known.
    package static let childrenMax = 1_024

    /// A change of a child, as a write noted it.
    package struct Change: Equatable, Sendable {
        package let seq: Int64
        package let child: String
        /// Whether the child had data before.
        package let existed: Bool

        package init(seq: Int64, child: String, existed: Bool) {
            (self.seq, self.child, self.existed) = (seq, child, existed)
        }
    }

    /// A leaf at or below a changed child.
    package typealias ChildLeaf = (child: String, leaf: NodeLeaf)

    /// By rising number. Children are known by their paths, because these are compared by bytes.
    private var changes: [(change: Change, path: NodePath)] = []
    /// The data of changed children that have some.
    private var data: [NodePath: NodeData] = [:]  // lookup only
    /// The changes up to this number are not known one by one.
    private var overflowSeq: Int64

    /// - Parameters:
    ///   - path: the watched node.
    ///   - changes: by rising number, the newest `changesMax` at most.
    ///   - overflowSeq: the number up to which the watch keeps no changes.
    ///   - present: the changed children that have data, at most `childrenMax`: those that changed last.
    ///   - leaves: the leaves of these, at most `NodeData.leavesMax`, with those of each child together.
    package init(of path: NodePath, _ changes: [Change], overflowSeq: Int64, present: [String], leaves: [ChildLeaf]) {
        self.overflowSeq = overflowSeq
        func childPath(_ key: String) -> NodePath { NodePath(stored: path.prefix + key) }
        self.changes = changes.map { ($0, childPath($0.child)) }
        let owners = leaves.map { childPath($0.child) }
        let below = Dictionary(grouping: zip(owners, leaves), by: \.0)  // lookup only
        // If there are more leaves, those of the child that came last are not all, and the others behind it have none.
        let cut = leaves.count < NodeData.leavesMax ? nil : owners.last
        for child in present.map(childPath) {
            let own = below[child, default: []].map(\.1.leaf)
            let isRead = cut == nil || child != cut && !own.isEmpty
            data[child] = isRead ? NodeData(own, at: child) : .tooBig
        }
        if let first = changes.first, changes.count >= Self.changesMax {
            self.overflowSeq = max(overflowSeq, first.seq)
        }
        forgetOldest()
    }

    /// Forgets the changes up to that of the first child whose data was not read: the newest children were.
    private mutating func forgetOldest() {
        var newest: Set<NodePath> = []  // lookup only
        for (change, path) in changes.reversed() where newest.insert(path).inserted {
            guard newest.count > Self.childrenMax else { continue }
            overflowSeq = max(overflowSeq, change.seq)
            return
        }
    }

    /// Returns the children that changed after a write; nil: which ones is not known.
    package func changes(after seq: Int64) -> ChildChanges? {
        guard seq >= overflowSeq else { return nil }
        var known = ChildChanges()
        var seen: Set<NodePath> = []  // lookup only
        for (change, path) in changes where change.seq > seq && seen.insert(path).inserted {
            known.note(change.child, existed: change.existed, now: data[path])
        }
        return known
    }
}
