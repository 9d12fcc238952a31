import Basis
import Reactor

/// One session with the server. Holds one conversation at a time, and is closed for good when anything about it is
/// in doubt: a new one is cheap.
///
/// Pinned to its loop. Must be closed before it is let go: the loop holds it until then.
package actor PostgresConnection {
    package nonisolated let loop: ReactorLoop
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    nonisolated let settings: PostgresSettings
    /// nil: never opened, or closed.
    var handle: LibpqHandle?
    private var conversation: (any Conversation)?
    private var eventHandler: ConnectionEventHandler?
    private var watched: (descriptor: Int32, interest: Interest)?
    private var deadlineTimer: TimerID?
    private var dialing: CheckedContinuation<Result<Void, PostgresError>, Never>?
    private var waitingForEnd: [CheckedContinuation<Void, Never>] = []
    private var notificationHandler: (@Sendable (PostgresNotification) -> Void)?
    /// Statement names with the parameter types that they were prepared for.
    var prepared: [String: [UInt32]] = [:]

    /// Beyond this many names a statement is parsed at each use instead: names are meant to be few.
    static let preparedMax = 512
    /// The server's own timeout answers first where it can, and the connection lives on.
    static let deadlineGrace: Duration = .milliseconds(250)

    package init(_ settings: PostgresSettings, loop: ReactorLoop) {
        self.settings = settings
        self.loop = loop
    }

    var isOpen: Bool { handle != nil }

    /// The server's process of this session; nil: it is not open.
    var serverProcess: Int32? { handle?.processID }

    /// Open, and between conversations and transactions.
    package var isReusable: Bool { handle?.transactionStatus == .idle && conversation == nil }

    /// Asks the kernel whether the server has hung up since: costs one system call, and saves a `commitUnknown`.
    func isStillThere() -> Bool {
        guard let handle, conversation == nil else { return false }
        if !handle.consumeInput() { end(.lost) } else { idle(handle) }
        return self.handle != nil
    }

    package func close() { end(.lost) }
}

// Opening.
extension PostgresConnection {
    /// Opens the session and sets it up. Throws `unavailable` only.
    package func open() async throws(PostgresError) {
        precondition(handle == nil && dialing == nil, "a connection is opened once")
        let keywords = try await settings.resolved()
        guard let handle = LibpqHandle(starting: keywords) else { throw .unavailable(.unreachable) }
        let outcome = await withCheckedContinuation { continuation in
            self.handle = handle
            dialing = continuation
            eventHandler = ConnectionEventHandler(self)
            startTimer(settings.connectTimeout)
            // libpq's rule: the first wait is for writing.
            if handle.isBroken { dialFailed() } else { watch(handle.descriptor, .write) }
        }
        try outcome.get()
        do {
            try await setUpSession()
        } catch {
            end(.lost)
            throw error.sqlState.map { .unavailable(.rejected($0)) } ?? .unavailable(.unreachable)
        }
    }

    private func continueDialing(_ handle: LibpqHandle) {
        // libpq may close the socket and open another under the same number (the next address, TLS refused).
        unwatch()
        switch handle.dial() {
        case .wantsRead: watch(handle.descriptor, .read)
        case .wantsWrite: watch(handle.descriptor, .write)
        case .open:
            watch(handle.descriptor, .read)
            endDialing(.success(()))
        case .failed: dialFailed()
        }
    }

    private func dialFailed() {
        let reason = handle?.dialRefusal.map { UnavailableReason.rejected($0) } ?? .unreachable
        release()
        endDialing(.failure(.unavailable(reason)))
    }

    private func endDialing(_ outcome: Result<Void, PostgresError>) {
        stopTimer()
        let waiter = dialing
        dialing = nil
        waiter?.resume(returning: outcome)
    }

    /// What each session has, whatever the server's configuration says.
    private func setUpSession() async throws(PostgresError) {
        var settings = [
            ("statement_timeout", "\(settings.statementTimeout.wholeMilliseconds)"),
            ("idle_in_transaction_session_timeout", "\(settings.idleInTransactionTimeout.wholeMilliseconds)"),
            ("timezone", "UTC"),
            ("client_min_messages", "warning"),
            // Compiling a plan costs more than any of our statements take.
            ("jit", "off"),
            // As we notice it of the server (`PostgresSettings`): left alone it would keep the session, and its locks, of
            // whom a broken network took away for two hours in silence, and for a quarter of one while it sends.
            ("tcp_keepalives_idle", "10"), ("tcp_keepalives_interval", "5"), ("tcp_keepalives_count", "3"),
            ("tcp_user_timeout", "25000"),
        ]
        // A statement whose caller went away ends instead of working on. Known since PostgreSQL 14.
        if let handle, handle.serverVersion >= 140_000 { settings.append(("client_connection_check_interval", "2s")) }
        let calls = settings.map { "set_config('\($0.0)', '\($0.1)', false)" }
        let statement = Statement(unprepared: "SELECT " + calls.joined(separator: ", "))
        _ = try await run([Query(statement)], .nothing, deadline: self.settings.connectTimeout)
    }
}

// The loop's side.
extension PostgresConnection {
    fileprivate func socketIsReady() {
        guard let handle else { return }
        if dialing != nil { return continueDialing(handle) }
        guard handle.consumeInput() else { return end(.lost) }
        pump()
    }

    /// Moves whatever can move: output first, then the conversation.
    private func pump() {
        guard let handle, flush(handle) else { return }
        guard let conversation else { return idle(handle) }
        switch conversation.advance(handle) {
        case .waits:
            // libpq's own errors (lost synchronization, no memory) close its socket.
            if handle.isBroken { end(.lost) }
        case .ended:
            self.conversation = nil
            stopTimer()
            idle(handle)
        case .confused: end(.lost)
        }
    }

    /// False: the connection has ended.
    private func flush(_ handle: LibpqHandle) -> Bool {
        switch handle.flush() {
        case .everythingLeft:
            conversation?.everythingLeft()
            watch(handle.descriptor, .read)
        case .wantsWrite: watch(handle.descriptor, [.read, .write])
        case .failed:
            end(.lost)
            return false
        }
        return true
    }

    /// Nobody waits for an answer: only notifications can come, or the end.
    private func idle(_ handle: LibpqHandle) {
        _ = handle.isBusy
        while let notification = handle.nextNotification() {
            notificationHandler?(notification)
        }
        if handle.isBroken { end(.lost) }
    }

    fileprivate func deadlinePassed() {
        deadlineTimer = nil
        end(.deadline)
    }

    /// Closes the connection; everyone who waits on it is told. Safe to call again.
    func end(_ cause: BreakCause) {
        guard handle != nil else { return }
        release()
        if dialing != nil { endDialing(.failure(.unavailable(.unreachable))) }
        let conversation = self.conversation
        self.conversation = nil
        conversation?.broke(cause)
        let waiters = waitingForEnd
        waitingForEnd = []
        for waiter in waiters { waiter.resume() }
    }

    private func release() {
        stopTimer()
        unwatch()
        // `LibpqHandle` says goodbye and closes the socket in its `deinit`.
        handle = nil
        eventHandler = nil
        prepared = [:]
    }
}

// Conversations.
extension PostgresConnection {
    /// Starts a conversation whose bytes are in libpq's buffer already.
    func start(_ conversation: any Conversation, deadline: Duration) {
        precondition(self.conversation == nil, "one conversation at a time")
        self.conversation = conversation
        startTimer(deadline + PostgresConnection.deadlineGrace)
        pump()
    }

    /// While nobody takes what the server sends, the socket is left alone, and TCP slows the server down.
    func pauseReading() { unwatch() }

    /// Returns when the connection has ended.
    func waitForEnd() async {
        guard handle != nil else { return }
        await withCheckedContinuation { waitingForEnd.append($0) }
    }

    func onNotification(_ handler: @escaping @Sendable (PostgresNotification) -> Void) {
        notificationHandler = handler
    }

    private func startTimer(_ duration: Duration) {
        guard let eventHandler, handle != nil else { return }
        stopTimer()
        deadlineTimer = loop.schedule(at: loop.now + duration, tag: 0, eventHandler)
    }

    private func stopTimer() {
        if let deadlineTimer { loop.cancel(deadlineTimer) }
        deadlineTimer = nil
    }

    private func watch(_ descriptor: Int32, _ interest: Interest) {
        guard descriptor >= 0, let eventHandler else { return end(.lost) }
        if let watched, watched == (descriptor, interest) { return }
        do {
            if watched?.descriptor == descriptor {
                try loop.rewatch(descriptor, interest)
            } else {
                unwatch()
                try loop.watch(descriptor, interest, eventHandler)
            }
            watched = (descriptor, interest)
        } catch {
            end(.lost)
        }
    }

    private func unwatch() {
        if let watched { loop.unwatch(watched.descriptor) }
        watched = nil
    }
}

/// Hears the loop for a connection, on the loop's thread. Holds it until the connection is closed.
final class ConnectionEventHandler: ReadinessHandler, TimerHandler {
    private let connection: PostgresConnection

    init(_ connection: PostgresConnection) { self.connection = connection }

    func descriptorIsReady(_ descriptor: Int32, _ readiness: Readiness) {
        connection.assumeIsolated { $0.socketIsReady() }
    }

    func timerFired(tag: UInt64) {
        connection.assumeIsolated { $0.deadlinePassed() }
    }
}

extension Duration {
    /// Rounded up, and at least 1: PostgreSQL reads 0 as "no limit".
    var wholeMilliseconds: Int64 { max(1, (wholeNanoseconds - 1) / 1_000_000 + 1) }
}
