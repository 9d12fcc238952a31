import CPostgres

/// The owner of one PGconn, always non-blocking. Lives on its connection's loop; calls libpq and never waits.
@safe final class LibpqHandle {
    private let connection: OpaquePointer

    enum DialStep {
        case wantsRead
        case wantsWrite
        case open
        case failed
    }

    /// Returns nil if libpq has no memory for it.
    init?(starting keywords: [PostgresSettings.Keyword]) {
        let names = keywords.map(\.name)
        let values = keywords.map(\.value)
        let started = unsafe withCStrings(names) { names in
            unsafe withCStrings(values) { values in unsafe PQconnectStartParams(names, values, 0) }
        }
        guard let started = unsafe started else { return nil }
        unsafe connection = unsafe started
        // Reduces error texts to their SQLSTATE before they reach us, and drops notices.
        unsafe PQsetErrorVerbosity(connection, PQERRORS_SQLSTATE)
        unsafe PQsetErrorContextVisibility(connection, PQSHOW_CONTEXT_NEVER)
        _ = unsafe PQsetNoticeReceiver(connection, { _, _ in }, nil)
    }

    deinit { unsafe PQfinish(connection) }

    /// The socket's descriptor; -1 if there is none. May change with each `dial()`.
    var descriptor: Int32 { unsafe PQsocket(connection) }
    var isBroken: Bool { unsafe PQstatus(connection) == CONNECTION_BAD }
    var serverVersion: Int32 { unsafe PQserverVersion(connection) }
    var processID: Int32 { unsafe PQbackendPID(connection) }

    func dial() -> DialStep {
        switch unsafe PQconnectPoll(connection) {
        case PGRES_POLLING_READING: return .wantsRead
        case PGRES_POLLING_WRITING: return .wantsWrite
        case PGRES_POLLING_OK: return unsafe PQsetnonblocking(connection, 1) == 0 ? .open : .failed
        default: return .failed
        }
    }

    /// The SQLSTATE with which the server refused the connection; nil if no server did. Without a password that the
    /// server asks for, libpq gives up by itself.
    var dialRefusal: SQLState? {
        if unsafe PQconnectionNeedsPassword(connection) == 1 { return .invalidPassword }
        guard let message = unsafe PQerrorMessage(connection) else { return nil }
        // With PQERRORS_SQLSTATE a line ends "FATAL:  28P01". The severity may be translated.
        for line in unsafe String(cString: message).split(separator: "\n").reversed() {
            guard let space = line.lastIndex(of: " "), line[..<space].hasSuffix(": ") else { continue }
            let state = SQLState(String(line[line.index(after: space)...]))
            if state != .unreadable { return state }
        }
        return nil
    }

    /// Whether no command is running and no transaction is open.
    var isIdle: Bool { unsafe PQtransactionStatus(connection) == PQTRANS_IDLE }
}

extension LibpqHandle {
    /// Returns false if the connection is gone. Complete results have already been handed out then.
    func consumeInput() -> Bool { unsafe PQconsumeInput(connection) == 1 }

    /// Whether a result is incomplete. Reading it also processes notices and notifications.
    var isBusy: Bool { unsafe PQisBusy(connection) == 1 }

    /// Returns nil at the end of one command's results. Call it only while not busy.
    func nextResult() -> PendingResult? {
        guard let result = unsafe PQgetResult(connection) else { return nil }
        return unsafe PendingResult(adopting: result)
    }

    enum FlushStep {
        case everythingLeft
        case wantsWrite
        case failed
    }

    /// Sends buffered bytes. Returns `everythingLeft` even for a failed write, which libpq reports at the next read.
    func flush() -> FlushStep {
        switch unsafe PQflush(connection) {
        case 0: .everythingLeft
        case 1: .wantsWrite
        default: .failed
        }
    }

    func nextNotification() -> PostgresNotification? {
        guard let notification = unsafe PQnotifies(connection) else { return nil }
        defer { unsafe PQfreemem(notification) }
        let channel = unsafe notification.pointee.relname.map { unsafe String(cString: $0) }
        let payload = unsafe notification.pointee.extra.map { unsafe String(cString: $0) }
        return PostgresNotification(
            channel: channel ?? "", payload: payload ?? "", sender: unsafe notification.pointee.be_pid)
    }
}

// Sending. False means that the connection is broken, or the message too large for the protocol.
extension LibpqHandle {
    var isPipelined: Bool { unsafe PQpipelineStatus(connection) != PQ_PIPELINE_OFF }
    func enterPipeline() -> Bool { unsafe PQenterPipelineMode(connection) == 1 }
    /// Call it only between conversations.
    func exitPipeline() -> Bool { unsafe PQexitPipelineMode(connection) == 1 }
    func sendSync() -> Bool { unsafe PQpipelineSync(connection) == 1 }

    /// Uses the simple protocol: several statements, no parameters, not in a pipeline.
    func sendScript(_ sql: String) -> Bool { unsafe PQsendQuery(connection, sql) == 1 }

    func sendPreparation(_ statement: Statement, types: [UInt32]) -> Bool {
        unsafe types.withUnsafeBufferPointer { types in
            unsafe PQsendPrepare(
                connection, statement.name, statement.sql, Int32(clamping: types.count), types.baseAddress) == 1
        }
    }

    func sendPrepared(_ name: String, _ parameters: Parameters) -> Bool {
        unsafe withWire(parameters) { values, lengths, formats in
            unsafe PQsendQueryPrepared(
                connection, name, Int32(clamping: parameters.count), values, lengths, formats, LibpqHandle.binary) == 1
        }
    }

    func sendUnprepared(_ sql: String, _ parameters: Parameters) -> Bool {
        unsafe parameters.types.withUnsafeBufferPointer { types in
            unsafe withWire(parameters) { values, lengths, formats in
                unsafe PQsendQueryParams(
                    connection, sql, Int32(clamping: parameters.count), types.baseAddress, values, lengths, formats,
                    LibpqHandle.binary) == 1
            }
        }
    }

    private static let binary: Int32 = 1

    /// Calls `body` with libpq's form of the parameters. libpq copies all of it before it returns.
    private func withWire(
        _ parameters: Parameters,
        _ body: (UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?) -> Bool
    ) -> Bool {
        let formats = [Int32](repeating: LibpqHandle.binary, count: parameters.count)
        return unsafe parameters.buffer.withUnsafeBytes { buffer in
            var values: [UnsafePointer<CChar>?] = unsafe []
            var lengths: [Int32] = []
            for start in parameters.starts {
                let length = unsafe Int32(bigEndian: buffer.loadUnaligned(fromByteOffset: start, as: Int32.self))
                lengths.append(max(0, length))
                // An empty value still needs a pointer, because nil means null.
                let value = unsafe buffer.baseAddress?.advanced(by: start + 4).assumingMemoryBound(to: CChar.self)
                unsafe values.append(length < 0 ? nil : value)
            }
            return unsafe body(values, lengths, formats)
        }
    }
}

/// Calls `body` with a nil-terminated array of C strings, as libpq's keyword lists need.
private func withCStrings<Answer>(
    _ strings: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>?) -> Answer
) -> Answer {
    // One buffer holds all texts, each with its NUL.
    let starts = strings.reduce(into: [0]) { $0.append($0[$0.count - 1] + $1.utf8.count + 1) }
    let bytes: [CChar] = strings.flatMap { (text: String) -> [CChar] in Array(text.utf8CString) }
    return unsafe bytes.withUnsafeBufferPointer { bytes in
        var pointers = unsafe starts.dropLast().map { unsafe bytes.baseAddress?.advanced(by: $0) }
        unsafe pointers.append(nil)
        return unsafe pointers.withUnsafeBufferPointer { unsafe body($0.baseAddress) }
    }
}
