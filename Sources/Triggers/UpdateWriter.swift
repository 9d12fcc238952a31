import GroupCommit
import Model
import Store
import Synchronization
import TriggerRules
import TriggerStore

/// Carries out updates of items: those of one app one after the other, in few transactions.
///
/// Updates that arrive while a transaction is under way form the next group. None waits for a group to fill. An update
/// with an idempotency key and the lines of a producer have transactions of their own.
package struct UpdateWriter: Sendable {
    /// The most updates of one transaction. It holds the rows of their items.
    private static let groupMax = 200

    private struct Operation: Sendable {
        let update: ItemUpdate
        let number: Int
    }

    private final class Count: Sendable {
        private let last = Atomic<Int>(0)
        func next() -> Int { last.add(1, ordering: .relaxed).newValue }
    }

    private let count = Count()
    private let committer: GroupCommitter<Operation, Result<UpdateReply, StoreFault>>
    private let store: UpdateStore
    private let commits: UpdateCommits

    /// - Parameter raised: called after a commit by which an item fell due, or pushes are held.
    package init(store: UpdateStore, steps: (any StepListener)?, raised: @escaping @Sendable () -> Void) {
        let commits = UpdateCommits(steps: steps, raised: raised)
        (self.store, self.commits) = (store, commits)
        committer = GroupCommitter(
            settings: GroupCommitSettings(batchMax: Self.groupMax, appCommitsMax: 1), refusal: .failure(.unavailable),
            // The transaction carries out updates of one item in their order.
            subject: { OperationSubject(firstKey: $0.number, secondKey: $0.number, isTimed: false) },
            transaction: { operations, app in
                let result = await store.take(operations.map(\.update), app: app)
                commits.note(tookAny: result.replies.contains(.success(.taken)), raisedAny: result.raisedAny)
                return result.replies
            })
    }

    /// Carries out one update. It is committed when this returns `.taken`.
    /// - Parameter claim: nil: repeating the request carries the update out again.
    package func write(
        _ update: ItemUpdate, app: AppID, once claim: IdempotencyClaim?
    ) async throws(StoreFault) -> UpdateReply {
        guard let claim else {
            return try await committer.commit(Operation(update: update, number: count.next()), app: app).get()
        }
        let (reply, raisedAny) = try await store.take(update, app: app, once: claim)
        commits.note(tookAny: reply == .taken, raisedAny: raisedAny)
        return reply
    }

    /// Carries out the next lines of a producer's stream, in their order. Lines that were taken before are skipped.
    package func write(
        _ lines: [ProducedLine], producer: String, app: AppID
    ) async throws(StoreFault) -> ProducedResult {
        let result = try await store.take(lines, producer: producer, app: app)
        commits.note(tookAny: true, raisedAny: result.raisedAny)
        return result
    }

    /// Returns the number of the last line that was taken of a producer; 0: there was none.
    package func lastLine(of producer: String, app: AppID) async throws(StoreFault) -> Int64 {
        try await store.lastLine(of: producer, app: app)
    }
}

/// Passes on that updates were committed.
private struct UpdateCommits: Sendable {
    let steps: (any StepListener)?
    let raised: @Sendable () -> Void

    func note(tookAny: Bool, raisedAny: Bool) {
        if tookAny { steps?.reached(.updateCommitted) }
        if raisedAny { raised() }
    }
}
