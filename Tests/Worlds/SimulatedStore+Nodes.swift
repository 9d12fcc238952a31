import Basis
import Model
import WakeUpRules

/// A value in an app's data tree.
package struct LeafRow: Equatable, Sendable {
    package let app: AppID
    package let path: NodePath
    package let value: String
}

/// A path with subscriptions.
package struct WatchRow: Equatable, Sendable {
    package let id: Int64
    package let app: AppID
    package let path: NodePath
    package var seq: Int64 = 0
    package var cutAt: WallInstant?
    package var overflowSeq: Int64 = 0
    package var moves: Int64 = 0
    package var wantsValue = false
    package var wantsChildren = false
    package var weightBytes: Int64
    package var weightLeaves: Int64
}

/// A child of a watched node whose data a write changed.
package struct ChildChangeRow: Equatable, Sendable {
    package let watch: Int64
    package let seq: Int64
    package let child: String
    package let existed: Bool
}

package struct DueWatchRow: Equatable, Sendable {
    package let watch: Int64
    package let app: AppID
    package var dueAt: WallInstant
    package var tries: Int16 = 0
    package var roundSeq: Int64?
    package var after: Int64 = 0
    package var skipped = false
    package var soonestAt: WallInstant?
}

package struct SubscriptionRow: Equatable, Sendable {
    /// The order in which subscriptions were made. The real store's ids have gaps.
    package let id: Int64
    package let app: AppID
    package let watch: Int64
    package var registration: RegistrationID
    package var mode: WakeUpMode
    package var expiresAt: WallInstant
    package var sentSeq: Int64
    package var message: MessageID?
}

// Data trees. The effect of a write is found by comparing whole trees.
extension SimulatedStore {
    package func leaves(of app: AppID) -> [LeafRow] { leaves.filter { $0.app == app } }

    /// The leaves at and below a path, in the order of the bytes of their paths.
    package func leaves(of app: AppID, at path: NodePath) -> [NodeLeaf] {
        leaves.filter { $0.app == app && path.contains($0.path) }
            .map { NodeLeaf(path: $0.path, value: $0.value) }
            .sorted { $0.path.text.utf8.lexicographicallyPrecedes($1.path.text.utf8) }
    }

    /// Carries out writes of one app in one transaction. Returns the watches that they raise.
    @discardableResult
    package mutating func write(
        _ writes: [TreeWrite], app: AppID, gather: Duration, now: WallInstant
    ) -> [Int64] {
        let before = self
        for replacement in writes.flatMap(\.replacements) {
            leaves.removeAll { leaf in
                guard leaf.app == app else { return false }
                // A value gives way to the object that is written below it.
                return replacement.path.contains(leaf.path)
                    || !replacement.leaves.isEmpty && leaf.path.contains(replacement.path)
            }
            leaves += replacement.leaves.map { LeafRow(app: app, path: $0.path, value: $0.value) }
        }
        let raised = watches.indices.filter { place in
            let watch = watches[place]
            return watch.app == app && before.leaves(of: app, at: watch.path) != leaves(of: app, at: watch.path)
        }
        for place in raised { raise(place, before, gather, now) }
        return raised.map { watches[$0].id }
    }

    private mutating func raise(_ place: Int, _ before: SimulatedStore, _ gather: Duration, _ now: WallInstant) {
        let watch = watches[place]
        watches[place].seq += 1
        weigh(place)
        if watch.wantsChildren {
            for child in changedChildren(of: watch, before) {
                childChanges.append(
                    ChildChangeRow(
                        watch: watch.id, seq: watches[place].seq, child: child,
                        existed: !before.leaves(of: watch.app, at: watch.path.named(child)).isEmpty))
            }
        }
        let instant = max(now, watch.cutAt.map { $0 + gather } ?? now)
        makeDue(watch, at: instant)
        // One that waits for pushes under way is brought forward, for those that have none.
        guard let place = dueWatches.firstIndex(where: { $0.watch == watch.id }) else { return }
        if let soonest = dueWatches[place].soonestAt, soonest < dueWatches[place].dueAt {
            dueWatches[place].dueAt = min(dueWatches[place].dueAt, max(instant, soonest))
        }
    }

    private mutating func weigh(_ place: Int) {
        let leaves = leaves(of: watches[place].app, at: watches[place].path)
        watches[place].weightLeaves = Int64(leaves.count)
        watches[place].weightBytes = Int64(leaves.reduce(0) { $0 + $1.weight })
    }

    /// By rising bytes.
    private func changedChildren(of watch: WatchRow, _ before: SimulatedStore) -> [String] {
        let all = before.leaves(of: watch.app, at: watch.path) + leaves(of: watch.app, at: watch.path)
        let depth = watch.path.depth
        let children = Set(all.compactMap { $0.path.keys.dropFirst(depth).first })
        return children.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.filter { child in
            let path = watch.path.named(child)
            return before.leaves(of: watch.app, at: path) != leaves(of: watch.app, at: path)
        }
    }

    /// Removes subscriptions. A watch that has none then is due, so that a fan-out removes it.
    mutating func removeSubscriptions(where isRemoved: (SubscriptionRow) -> Bool) {
        let gone = subscriptions.filter(isRemoved).map(\.watch)
        subscriptions.removeAll(where: isRemoved)
        for watch in watches where gone.contains(watch.id) && !subscriptions.contains(where: { $0.watch == watch.id }) {
            makeDue(watch, at: WallInstant(microseconds: 0))
        }
    }

    /// Makes a watch due, unless it is already.
    mutating func makeDue(_ watch: WatchRow, at instant: WallInstant) {
        guard !dueWatches.contains(where: { $0.watch == watch.id }) else { return }
        dueWatches.append(DueWatchRow(watch: watch.id, app: watch.app, dueAt: instant))
    }

    package func placeOfWatch(_ id: Int64) -> Int? { watches.firstIndex { $0.id == id } }
    package func watch(_ id: Int64) -> WatchRow? { watches.first { $0.id == id } }
}

extension NodePath {
    func named(_ child: String) -> NodePath { NodePath(stored: prefix + child) }
}
