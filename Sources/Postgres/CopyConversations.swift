/// The exchange from the COPY statement until the server is ready for rows.
final class CopyStartConversation: Conversation {
    private let direction: CopyDirection
    private var failure: PostgresError?
    var waiter: CheckedContinuation<Result<Void, PostgresError>, Never>?

    init(_ direction: CopyDirection) { self.direction = direction }

    func everythingLeft() {}

    func broke(_ cause: BreakCause) { finish(.failure(failure ?? cause.error(.nothing, hasLeft: false))) }

    func advance(_ handle: LibpqHandle) -> ConversationStep {
        while !handle.isBusy {
            guard let result = handle.nextResult() else {
                // The statement ended without a COPY: it was refused, or was another statement.
                guard let failure else { return .confused }
                finish(.failure(failure))
                return .ended
            }
            switch (result.kind, direction) {
            case (.copyIn, .into), (.copyOut, .out):
                finish(.success(()))
                return .ended
            case (.refused, _):
                guard let refusal = result.refusal(of: "COPY") else { return .confused }
                failure = refusal.asError
            default: return .confused
            }
        }
        return .waits
    }

    private func finish(_ outcome: Result<Void, PostgresError>) {
        waiter?.resume(returning: outcome)
        waiter = nil
    }
}

/// The exchange until the kernel has taken the bytes written.
final class CopyWriteConversation: Conversation {
    private var hasLeft = false
    var waiter: CheckedContinuation<Result<Void, PostgresError>, Never>?

    func everythingLeft() { hasLeft = true }

    func broke(_ cause: BreakCause) { finish(.failure(cause.error(.nothing, hasLeft: false))) }

    func advance(_ handle: LibpqHandle) -> ConversationStep {
        guard hasLeft else { return .waits }
        finish(.success(()))
        return .ended
    }

    private func finish(_ outcome: Result<Void, PostgresError>) {
        waiter?.resume(returning: outcome)
        waiter = nil
    }
}

/// The exchange from the end of the rows to the server's verdict on them.
final class CopyEndConversation: Conversation {
    private var rows = 0
    private var failure: PostgresError?
    var waiter: CheckedContinuation<Result<Int, PostgresError>, Never>?

    func everythingLeft() {}

    func broke(_ cause: BreakCause) { finish(.failure(failure ?? cause.error(.nothing, hasLeft: false))) }

    func advance(_ handle: LibpqHandle) -> ConversationStep {
        while !handle.isBusy {
            guard let result = handle.nextResult() else {
                finish(failure.map { .failure($0) } ?? .success(rows))
                return .ended
            }
            switch result.kind {
            case .done: rows = result.affectedRows
            case .refused:
                guard let refusal = result.refusal(of: "COPY") else { return .confused }
                if failure == nil { failure = refusal.asError }
            default: return .confused
            }
        }
        return .waits
    }

    private func finish(_ outcome: Result<Int, PostgresError>) {
        waiter?.resume(returning: outcome)
        waiter = nil
    }
}

/// The exchange that reads some rows, and whether they were the last.
final class CopyReadConversation: Conversation {
    typealias Chunk = (bytes: [UInt8], isLast: Bool)

    private var bytes: [UInt8] = []
    private var hasEnded = false
    private var failure: PostgresError?
    var waiter: CheckedContinuation<Result<Chunk, PostgresError>, Never>?

    func everythingLeft() {}

    func broke(_ cause: BreakCause) { finish(.failure(failure ?? cause.error(.nothing, hasLeft: false))) }

    func advance(_ handle: LibpqHandle) -> ConversationStep {
        while !hasEnded {
            switch handle.takeCopyRow(into: &bytes) {
            case .row:
                if bytes.count >= CopyRows.bytesAimed { return hand(isLast: false) }
            case .nothingYet: return bytes.isEmpty ? .waits : hand(isLast: false)
            case .ended: hasEnded = true
            case .failed: return .confused
            }
        }
        return verdict(handle)
    }

    private func verdict(_ handle: LibpqHandle) -> ConversationStep {
        while !handle.isBusy {
            guard let result = handle.nextResult() else {
                if let failure { finish(.failure(failure)) } else { return hand(isLast: true) }
                return .ended
            }
            switch result.kind {
            case .done: continue
            case .refused:
                guard let refusal = result.refusal(of: "COPY") else { return .confused }
                if failure == nil { failure = refusal.asError }
            default: return .confused
            }
        }
        return .waits
    }

    private func hand(isLast: Bool) -> ConversationStep {
        finish(.success((bytes, isLast)))
        return .ended
    }

    private func finish(_ outcome: Result<Chunk, PostgresError>) {
        waiter?.resume(returning: outcome)
        waiter = nil
    }
}
