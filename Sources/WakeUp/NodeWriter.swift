import GroupCommit
import Model
import Signing
import Store
import Synchronization
import WakeUpRules
import WakeUpStore

/// Carries out writes to data trees: those of one app one after the other, in few transactions.
///
/// Writes that arrive while a transaction is under way form the next group. None waits for a group to fill.
package struct NodeWriter: Sendable {
    private static let groupMax = 200

    private struct Operation: Sendable {
        let write: TreeWrite
        let policy: NodeStore.WritePolicy
        let number: Int
    }

    private final class Count: Sendable {
        private let last = Atomic<Int>(0)
        func next() -> Int { last.add(1, ordering: .relaxed).newValue }
    }

    private let count = Count()
    private let committer: GroupCommitter<Operation, Result<NodeStore.WriteReply, StoreFault>>
    private let store: NodeStore
    private let steps: (any StepListener)?

    /// - Parameter raised: called after a commit that raised watches.
    package init(store: NodeStore, steps: (any StepListener)?, raised: @escaping @Sendable () -> Void) {
        (self.store, self.steps) = (store, steps)
        committer = GroupCommitter(
            settings: GroupCommitSettings(batchMax: Self.groupMax, appCommitsMax: 1), refusal: .failure(.unavailable),
            // Writes have nothing in common that the transaction could not put in order.
            subject: { OperationSubject(firstKey: $0.number, secondKey: $0.number, isTimed: false) },
            transaction: { operations, app in
                var replies: [Result<NodeStore.WriteReply, StoreFault>] = []
                for group in Self.groups(of: operations) {
                    let result = await store.write(
                        group.map(\.write), app: app, group[group.count - 1].policy, sha256: Hashes.sha256)
                    if result.raisedAny { raised() }
                    if result.replies.contains(.success(.written)) { steps?.reached(.nodeCommitted) }
                    replies += result.replies
                }
                return replies
            })
    }

    /// Carries out one write. It is committed when this returns `.written`.
    ///
    /// If one transaction can't remove all that the write removes, this returns `.removing`. The rest of the write is
    /// committed then. The nodes are removed in portions, also after a crash.
    package func write(
        _ write: TreeWrite, app: AppID, _ policy: NodeStore.WritePolicy
    ) async throws(StoreFault) -> NodeStore.WriteReply {
        let reply = try await commit(write, app, policy)
        guard reply == .refused(.subtreeTooLarge) else { return reply }
        guard !write.removals.isEmpty else { return try await explained(reply, write, app) }
        if let others = write.withoutRemovals {
            let reply = try await commit(others, app, policy)
            guard reply == .written else { return try await explained(reply, others, app) }
        }
        try await store.beginRemoval(of: write.removals, app: app)
        steps?.reached(.removalCommitted)
        return .removing
    }

    /// Distinguishes a write that is too large from one whose nodes are still being removed.
    private func explained(
        _ reply: NodeStore.WriteReply, _ write: TreeWrite, _ app: AppID
    ) async throws(StoreFault) -> NodeStore.WriteReply {
        guard reply == .refused(.subtreeTooLarge) else { return reply }
        return try await store.isBeingRemoved(write, app: app) ? .beingRemoved : reply
    }

    private func commit(
        _ write: TreeWrite, _ app: AppID, _ policy: NodeStore.WritePolicy
    ) async throws(StoreFault) -> NodeStore.WriteReply {
        try await committer.commit(Operation(write: write, policy: policy, number: count.next()), app: app).get()
    }

    /// Splits operations into groups, in their order, that write and remove as much as one transaction may.
    private static func groups(of operations: [Operation]) -> [[Operation]] {
        var groups: [[Operation]] = []
        var room = 0
        for operation in operations {
            if operation.write.size > room || groups.isEmpty {
                groups.append([])
                room = NodeLeaves.countMax
            }
            room -= operation.write.size
            groups[groups.count - 1].append(operation)
        }
        return groups
    }
}
