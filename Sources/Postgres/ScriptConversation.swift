/// SQL text of one or more statements in the simple protocol: migrations, CREATE DATABASE. Rows are dropped.
final class ScriptConversation: Conversation {
    private let stake: CommitStake
    /// Resumed exactly once.
    var waiter: CheckedContinuation<Result<Void, PostgresError>, Never>?
    private var failure: PostgresError?
    private var hasLeft = false

    init(_ stake: CommitStake) { self.stake = stake }

    func everythingLeft() { hasLeft = true }

    func broke(_ cause: BreakCause) { finish(.failure(failure ?? cause.error(stake, hasLeft: hasLeft))) }

    func advance(_ handle: LibpqHandle) -> ConversationStep {
        while !handle.isBusy {
            guard let result = handle.nextResult() else {
                finish(failure.map { .failure($0) } ?? .success(()))
                return .ended
            }
            switch result.kind {
            case .rows, .done: continue
            case .refused:
                guard let refusal = result.refusal(of: "") else { return .confused }
                if failure == nil { failure = refusal.asError }
            case .sync, .skipped, .other: return .confused
            }
        }
        return .waits
    }

    private func finish(_ outcome: Result<Void, PostgresError>) {
        waiter?.resume(returning: outcome)
        waiter = nil
    }
}
