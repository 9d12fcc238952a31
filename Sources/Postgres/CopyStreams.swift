/// Sends the rows of a COPY. Used only inside the body of `copyIn`.
package struct CopyWriter: Sendable {
    private let runner: TransactionRunner
    init(_ runner: TransactionRunner) { self.runner = runner }

    /// Returns once the kernel has taken all bytes, which gives back-pressure. The end of the COPY shows whether the
    /// server accepts the rows.
    package func write(_ rows: CopyRows) async throws(PostgresError) {
        try await runner.writeCopy(rows.buffer, isBinary: true)
    }

    /// Sends bytes of the text or CSV format, cut anywhere.
    package func write(text bytes: [UInt8]) async throws(PostgresError) {
        try await runner.writeCopy(bytes, isBinary: false)
    }
}

/// Receives the rows of a COPY. Used only inside the body of `copyOut`.
package struct CopyReader: Sendable {
    private let runner: TransactionRunner
    init(_ runner: TransactionRunner) { self.runner = runner }

    /// Returns some rows of the binary format; nil at the end. Between calls TCP holds the server back.
    package func next() async throws(PostgresError) -> CopiedRows? {
        guard let bytes = try await runner.readCopy(isBinary: true) else { return nil }
        return try CopiedRows(parsing: bytes)
    }

    /// Returns some whole rows in the requested format.
    package func nextBytes() async throws(PostgresError) -> [UInt8]? { try await runner.readCopy(isBinary: false) }
}

enum CopyDirection: Sendable {
    case into
    case out
}

enum CopyState {
    /// No COPY is running. → into, out (began)
    case none
    /// Rows are being sent. → none (ended, abandoned)
    case into(isBinary: Bool?)
    /// Rows are being received, the header first. → drained, none (dropped)
    case out(sawHeader: Bool)
    /// All rows were received and the server reported success. → none
    case drained
}

extension TransactionRunner {
    func beginCopy(_ sql: String, _ direction: CopyDirection) async throws(PostgresError) {
        // A COPY lasts as long as rows move. Each step has its own deadline.
        dueSettings.append("SET LOCAL statement_timeout = 0")
        try await beginNow()
        try await recording { connection throws(PostgresError) in
            try await connection.beginCopy(sql, direction, deadline: self.deadline)
        }
        copy = direction == .into ? .into(isBinary: nil) : .out(sawHeader: false)
    }

    func writeCopy(_ bytes: [UInt8], isBinary: Bool) async throws(PostgresError) {
        guard case .into(let before) = copy else { preconditionFailure("no COPY into a table is in progress") }
        precondition(before == nil || before == isBinary, "a COPY has one format")
        copy = .into(isBinary: isBinary)
        let header = isBinary && before == nil ? CopyFrame.header : []
        try await recording { connection throws(PostgresError) in
            try await connection.writeCopy(header + bytes, deadline: self.deadline)
        }
    }

    func endCopyIn() async throws(PostgresError) -> Int {
        guard case .into(let isBinary) = copy else { preconditionFailure("no COPY into a table is in progress") }
        copy = .none
        // A binary COPY of no rows still needs its frame. A text COPY of no bytes is valid too.
        let remaining = isBinary == true ? CopyFrame.trailer : []
        let rows = try await recording { connection throws(PostgresError) in
            try await connection.endCopyIn(remaining, isAbandoned: false, deadline: self.deadline)
        }
        restoreTimeout()
        return rows
    }

    func abandonCopyIn(_ error: PostgresError) async {
        copy = .none
        // An abandoned COPY is always refused, so ignore the error.
        do { _ = try await connection.endCopyIn([], isAbandoned: true, deadline: deadline) } catch {}
        fail(error)
    }

    /// Returns nil at the end.
    func readCopy(isBinary: Bool) async throws(PostgresError) -> [UInt8]? {
        guard case .out(let sawHeader) = copy else { return nil }
        let chunk = try await recording { connection throws(PostgresError) in
            try await connection.readCopy(deadline: self.deadline)
        }
        copy = chunk.isLast ? .drained : .out(sawHeader: true)
        if sawHeader || !isBinary { return chunk.bytes.isEmpty ? nil : chunk.bytes }
        return try recordingNow { () throws(PostgresError) in try CopyFrame.withoutHeader(chunk.bytes) }
    }

    func endCopyOut() async throws(PostgresError) {
        defer { copy = .none }
        if case .drained = copy { return restoreTimeout() }
        await connection.close()
        if options.isReadOnly { state = .abandoned } else { fail(.connectionLost) }
    }

    func dropCopyOut(_ error: PostgresError) async {
        if case .out = copy { await connection.close() }
        copy = .none
        fail(error)
    }

    private func restoreTimeout() {
        let deadline = min(deadline, connection.settings.statementTimeout)
        dueSettings.append("SET LOCAL statement_timeout = \(deadline.wholeMilliseconds)")
    }

    private func fail(_ error: PostgresError) {
        if case .failed = state { return }
        state = .failed(error)
    }

    private func recordingNow<Answer>(_ work: () throws(PostgresError) -> Answer) throws(PostgresError) -> Answer {
        do {
            return try work()
        } catch {
            fail(error)
            throw error
        }
    }
}

extension CopyFrame {
    /// Returns the first chunk without the header.
    static func withoutHeader(_ bytes: [UInt8]) throws(PostgresError) -> [UInt8] {
        let fixed = header.count
        guard bytes.count >= fixed, bytes.prefix(signatureBytes).elementsEqual(header.prefix(signatureBytes)) else {
            throw .unexpectedShape(statement: "COPY", column: -1)
        }
        let extensionBytes = bytes[(fixed - 4)..<fixed].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        guard Int(extensionBytes) <= bytes.count - fixed else {
            throw .unexpectedShape(statement: "COPY", column: -1)
        }
        return Array(bytes.dropFirst(fixed + Int(extensionBytes)))
    }
}
