/// One exchange with the server, from its first byte to its last. It says what it waits for, and doesn't know how to
/// wait. Lives on its connection's loop and resumes its waiter exactly once.
protocol Conversation: AnyObject {
    /// Takes the results that libpq has ready. Called after each input until it ends.
    func advance(_ handle: LibpqHandle) -> ConversationStep

    /// Notes that the kernel has taken all that was sent.
    func everythingLeft()

    /// Ends the conversation, because the connection is gone.
    func broke(_ cause: BreakCause)
}

enum ConversationStep {
    /// More has to come from the server.
    case waits
    /// The conversation is over and its waiter resumed.
    case ended
    /// The server broke the protocol, so the connection is unusable.
    case confused
}

enum BreakCause {
    case lost
    case deadline
}

/// The meaning of a lost answer.
enum CommitStake: Sendable {
    /// Nothing was to be written: a lost answer is only a lost connection.
    case nothing
    /// The conversation ends in a commit. Once the commit has left, only a read can tell whether it happened.
    case commit
}

extension BreakCause {
    /// - Parameter hasLeft: whether the commit may have reached the server.
    func error(_ stake: CommitStake, hasLeft: Bool) -> PostgresError {
        if stake == .commit && hasLeft { return .commitUnknown }
        switch self {
        case .lost: return .connectionLost
        case .deadline: return .deadlinePassed
        }
    }
}
