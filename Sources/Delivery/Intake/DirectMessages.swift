import CompiledMessages
import GroupCommit
import Model
import Store

/// A message to few receivers, as it is handed to delivery.
package struct DirectMessage: Sendable {
    package let cut: CutMessage
    let compiled: CompiledMessage
}

/// Gathers the direct messages of each app into few transactions (`GroupCommitter`).
///
/// Messages that arrive while a transaction is under way form the next group. None waits for a group to fill.
package struct DirectMessages: Sendable {
    private static let groupMax = 100

    private let committer: GroupCommitter<DirectMessage, Result<CutReply, StoreFault>>

    /// - Parameter cut: writes a group of messages of one app, and replies in its order.
    package init(cut: @escaping @Sendable ([DirectMessage]) async -> [Result<CutReply, StoreFault>]) {
        committer = GroupCommitter(
            settings: GroupCommitSettings(batchMax: Self.groupMax, appCommitsMax: 1), refusal: .failure(.unavailable),
            subject: { message in
                // Messages have nothing in common that the transaction could not put in order.
                let key = message.cut.message.id.hashValue
                return OperationSubject(firstKey: key, secondKey: key, isTimed: false)
            },
            transaction: { messages, _ in await cut(messages) })
    }

    func accept(_ message: DirectMessage) async -> Result<CutReply, StoreFault> {
        await committer.commit(message, app: message.cut.message.app)
    }
}
