import Basis
import Reactor

/// One session with the server. It holds one conversation at a time, and is closed for good at any doubt, because a new
/// one is cheap.
///
/// Pinned to its loop. It must be closed before it is released: the loop holds it until then.
package actor PostgresConnection: PinnedActor {
    package nonisolated let loop: ReactorLoop

    nonisolated let settings: PostgresSettings
    var handle: LibpqHandle?
    private var conversation: (any Conversation)?
    private var eventHandler: ConnectionEventHandler?
    private var watched: (descriptor: Int32, interest: Interest)?
    private var deadlineTimer: TimerID?
    private var dialing: CheckedContinuation<Result<Void, PostgresError>, Never>?
    private var waitingForEnd: [CheckedContinuation<Void, Never>] = []
    private var notificationHandler: (@Sendable (PostgresNotification) -> Void)?
    var prepared: [String: [UInt32]] = [:]

    /// With more names, further statements are parsed at each use: names should be few.
    static let preparedMax = 512
    /// Lets the server's own timeout come first where possible, so that the connection survives.
    static let deadlineGrace: Duration = .milliseconds(250)

    package init(_ settings: PostgresSettings, loop: ReactorLoop) { (self.settings, self.loop) = (settings, loop) }

    var isOpen: Bool { handle != nil }

    /// The process id of this session at the server; nil if it is not open.
    var serverProcess: Int32? { handle?.processID }

    /// Whether it is open, and between conversations and transactions.
    package var isReusable: Bool { handle?.isIdle == true && conversation == nil }

    /// Asks the kernel whether the server has hung up. Costs one system call, and saves a `commitUnknown`.
    func isStillThere() -> Bool {
        guard let handle, conversation == nil else { return false }
        if !handle.consumeInput() { end(.lost) } else { idle(handle) }
        return self.handle != nil
    }

    package func close() { end(.lost) }
}

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
            // libpq requires that the first wait is for writing.
            if handle.isBroken { dialFailed() } else { watch(handle.descriptor, .write) }
        }
        try outcome.get()
        do { try await setUpSession() } catch {
            end(.lost)
            throw error.sqlState.map { .unavailable(.rejected($0)) } ?? .unavailable(.unreachable)
        }
    }

    private func continueDialing(_ handle: LibpqHandle) {
        // libpq may close the socket and open another with the same number (next address, TLS refused).
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

    /// Makes COMMIT wait for the disk, whatever the server, the database, the role or the address say: an answer follows
    /// it (P1). `remote_apply` waits for more, and stays. `local` and `remote_write` wait for less of a synchronous
    /// standby than `on`, so they are raised too (decision 0054).
    private static let commitsDurably = """
        set_config('synchronous_commit',
            CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, false)
        """

    /// Sets what each session needs, regardless of the server's configuration.
    private func setUpSession() async throws(PostgresError) {
        var settings = [
            ("statement_timeout", "\(settings.statementTimeout.wholeMilliseconds)"),
            ("idle_in_transaction_session_timeout", "\(settings.idleInTransactionTimeout.wholeMilliseconds)"),
            ("timezone", "UTC"),
            ("client_min_messages", "warning"),
            // Compiling a plan costs more than any of our statements takes.
            ("jit", "off"),
            // Lets the server detect a lost peer as fast as we do (`PostgresSettings`). By default it would keep the
            // session and its locks for two hours of silence, or for 15 minutes while it sends.
            ("tcp_keepalives_idle", "10"), ("tcp_keepalives_interval", "5"), ("tcp_keepalives_count", "3"),
            ("tcp_user_timeout", "25000"),
        ]
        // Ends a statement whose client is gone. Supported since PostgreSQL 14.
        if let handle, handle.serverVersion >= 140_000 { settings.append(("client_connection_check_interval", "2s")) }
        let calls = settings.map { "set_config('\($0.0)', '\($0.1)', false)" } + [Self.commitsDurably]
        let statement = Statement(unprepared: "SELECT " + calls.joined(separator: ", "))
        _ = try await run([Query(statement)], .nothing, deadline: self.settings.connectTimeout)
    }
}

extension PostgresConnection {
    fileprivate func socketIsReady() {
        guard let handle else { return }
        if dialing != nil { return continueDialing(handle) }
        guard handle.consumeInput() else { return end(.lost) }
        pump()
    }

    private func pump() {
        guard let handle, flush(handle) else { return }
        guard let conversation else { return idle(handle) }
        switch conversation.advance(handle) {
        case .waits:
            // libpq closes its socket after errors of its own (lost synchronization, no memory).
            if handle.isBroken { end(.lost) }
        case .ended:
            self.conversation = nil
            stopTimer()
            idle(handle)
        case .confused: end(.lost)
        }
    }

    /// Returns false if the connection has ended.
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

    /// Handles input outside a conversation: only notifications or the end can come.
    private func idle(_ handle: LibpqHandle) {
        _ = handle.isBusy
        while let notification = handle.nextNotification() { notificationHandler?(notification) }
        if handle.isBroken { end(.lost) }
    }

    fileprivate func deadlinePassed() {
        deadlineTimer = nil
        end(.deadline)
    }

    /// Closes the connection and resumes all its waiters. Safe to call again.
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
        // The `deinit` of `LibpqHandle` ends the session and closes the socket.
        handle = nil
        eventHandler = nil
        prepared = [:]
    }
}

extension PostgresConnection {
    /// Starts a conversation whose bytes are already in libpq's buffer.
    func start(_ conversation: any Conversation, deadline: Duration) {
        precondition(self.conversation == nil, "a connection has one conversation at a time")
        self.conversation = conversation
        startTimer(deadline + PostgresConnection.deadlineGrace)
        pump()
    }

    func waitForEnd() async {
        guard handle != nil else { return }
        await withCheckedContinuation { waitingForEnd.append($0) }
    }

    func onNotification(_ handler: @escaping @Sendable (PostgresNotification) -> Void) { notificationHandler = handler }

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
        } catch { end(.lost) }
    }

    private func unwatch() {
        if let watched { loop.unwatch(watched.descriptor) }
        watched = nil
    }
}

/// The handler of a connection's events, on the loop's thread. Holds the connection until it is closed.
final class ConnectionEventHandler: ReadinessHandler, TimerHandler {
    private let connection: PostgresConnection

    init(_ connection: PostgresConnection) { self.connection = connection }

    func descriptorIsReady(_ descriptor: Int32, _ readiness: Readiness) {
        connection.assumeIsolated { $0.socketIsReady() }
    }

    func timerFired(tag: UInt64) { connection.assumeIsolated { $0.deadlinePassed() } }
}

extension Duration {
    /// The milliseconds rounded up, at least 1: PostgreSQL reads 0 as "no limit".
    var wholeMilliseconds: Int64 { max(1, (wholeNanoseconds - 1) / 1_000_000 + 1) }
}
