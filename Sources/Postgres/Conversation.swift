/// One exchange with the server, from its first byte to its last: says what it waits for, and knows nothing of how
/// to wait. Lives on its connection's loop; resumes whoever waits for it exactly once.
protocol Conversation: AnyObject {
    /// Takes what libpq has ready. Called after input came, until it ends.
    func advance(_ handle: LibpqHandle) -> ConversationStep

    /// All that was sent has left for the kernel.
    func everythingLeft()

    /// The connection is gone, and with it this conversation.
    func broke(_ cause: BreakCause)
}

enum ConversationStep {
    /// More has to come from the server.
    case waits
    /// Over; its waiter is resumed.
    case ended
    /// The server does not keep to the protocol: the connection is no use any more.
    case confused
}

/// Why a connection was closed under a conversation.
enum BreakCause {
    case lost
    case deadline
}

/// What a lost answer means.
enum CommitStake: Sendable {
    /// Nothing was to be written: a lost answer is a lost connection.
    case nothing
    /// The conversation ends in a commit: once it left, only a read can tell.
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
