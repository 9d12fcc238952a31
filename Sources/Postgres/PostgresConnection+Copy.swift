// libpq supports COPY only outside of a pipeline.
extension PostgresConnection {
    func beginCopy(_ sql: String, _ direction: CopyDirection, deadline: Duration) async throws(PostgresError) {
        try leavePipeline()
        guard let handle, handle.sendScript(sql) else { throw lost() }
        let conversation = CopyStartConversation(direction)
        try await withCheckedContinuation { continuation in
            conversation.waiter = continuation
            start(conversation, deadline: deadline)
        }.get()
        if direction == .out { pauseReading() }
    }

    func writeCopy(_ bytes: [UInt8], deadline: Duration) async throws(PostgresError) {
        guard let handle, bytes.isEmpty || handle.putCopy(bytes) else { throw lost() }
        let conversation = CopyWriteConversation()
        try await withCheckedContinuation { continuation in
            conversation.waiter = continuation
            start(conversation, deadline: deadline)
        }.get()
    }

    /// Returns the number of rows that the server took.
    func endCopyIn(_ remaining: [UInt8], isAbandoned: Bool, deadline: Duration) async throws(PostgresError) -> Int {
        guard let handle, remaining.isEmpty || handle.putCopy(remaining), handle.endCopy(isAbandoned: isAbandoned)
        else {
            throw lost()
        }
        let conversation = CopyEndConversation()
        return try await withCheckedContinuation { continuation in
            conversation.waiter = continuation
            start(conversation, deadline: deadline)
        }.get()
    }

    func readCopy(deadline: Duration) async throws(PostgresError) -> CopyReadConversation.Chunk {
        guard handle != nil else { throw lost() }
        let conversation = CopyReadConversation()
        let chunk = try await withCheckedContinuation { continuation in
            conversation.waiter = continuation
            start(conversation, deadline: deadline)
        }.get()
        if !chunk.isLast { pauseReading() }
        return chunk
    }

    private func lost() -> PostgresError {
        end(.lost)
        return .connectionLost
    }
}
