/// Several commands sent together and closed by one Sync: all succeed or none does.
final class PipelineConversation: Conversation {
    enum Expectation {
        /// Parse of a named statement. The connection remembers the name once it succeeded.
        case preparation(name: String, types: [UInt32])
        /// BEGIN or SET LOCAL, whose answer has no information.
        case control
        case commit
        case query(Statement)
    }

    struct Answer: Sendable {
        let outcome: Result<[ResultSet], PostgresError>
        /// The statements that the server has now prepared, even if a later command was refused.
        let newlyPrepared: [(name: String, types: [UInt32])]
    }

    private let expectations: [Expectation]
    private let stake: CommitStake
    private var position = 0
    private var results: [ResultSet] = []
    private var failure: PostgresError?
    private var hasLeft = false
    private var isBetweenCommands = false
    private var newlyPrepared: [(name: String, types: [UInt32])] = []
    /// Resumed exactly once.
    var waiter: CheckedContinuation<Answer, Never>?

    init(_ expectations: [Expectation], _ stake: CommitStake) {
        (self.expectations, self.stake) = (expectations, stake)
    }

    func everythingLeft() { hasLeft = true }

    func broke(_ cause: BreakCause) {
        // An earlier refusal has already rolled everything back.
        finish(.failure(failure ?? cause.error(stake, hasLeft: hasLeft)))
    }

    func advance(_ handle: LibpqHandle) -> ConversationStep {
        while !handle.isBusy {
            guard let result = handle.nextResult() else {
                // One nil ends each command's results. A second one means that libpq expects no more, although we do.
                if isBetweenCommands { return .confused }
                isBetweenCommands = true
                continue
            }
            isBetweenCommands = false
            if case .sync = result.kind { return sync() }
            guard position < expectations.count, take(result) else { return .confused }
            position += 1
        }
        return .waits
    }

    private func sync() -> ConversationStep {
        guard position == expectations.count else { return .confused }
        finish(failure.map { .failure($0) } ?? .success(results))
        return .ended
    }

    private func finish(_ outcome: Result<[ResultSet], PostgresError>) {
        waiter?.resume(returning: Answer(outcome: outcome, newlyPrepared: newlyPrepared))
        waiter = nil
    }

    /// Returns false if the result is no answer to the command.
    private func take(_ result: consuming PendingResult) -> Bool {
        switch result.kind {
        case .rows, .done: return success(result)
        case .skipped: return failure != nil
        case .refused:
            guard let refusal = result.refusal(of: statementName) else { return false }
            // The first refusal is the cause; no later command was executed.
            if failure == nil { failure = refusal.asError }
            return true
        case .sync, .other: return false
        }
    }

    private func success(_ result: consuming PendingResult) -> Bool {
        switch expectations[position] {
        case .preparation(let name, let types): newlyPrepared.append((name, types))
        case .control: break
        case .commit:
            // A COMMIT of a failed transaction returns "ROLLBACK" and no error.
            if failure == nil && result.commandTag != "COMMIT" {
                failure = .refused(Refusal(sqlState: .inFailedTransaction, statement: "COMMIT"))
            }
        case .query(let statement): results.append(result.resultSet(of: statement.name))
        }
        return true
    }

    private var statementName: String {
        switch expectations[position] {
        case .preparation(let name, _): name
        case .query(let statement): statement.name
        case .control: ""
        case .commit: "COMMIT"
        }
    }
}

extension Refusal {
    /// The error for the caller. `statement_timeout` is our deadline, enforced by the server.
    var asError: PostgresError { sqlState == .queryCanceled ? .deadlinePassed : .refused(self) }
}
