import Reactor

package enum ListenerEvent: Sendable, Equatable {
    /// The session is connected, for the first time or again, or events were dropped. Earlier notifications may be
    /// lost, so query the database.
    case listening
    case notification(PostgresNotification)
}

/// A message sent with NOTIFY.
package struct PostgresNotification: Sendable, Equatable {
    package let channel: String
    package let payload: String
    /// The server process of the session that sent it (`PostgresPool.owns`).
    package let sender: Int32
}

/// One session that receives NOTIFY for as long as it lives. Pinned to its loop.
///
/// PostgreSQL stores no notifications, so those sent during a disconnection are lost. That is why every reconnection is
/// reported as `listening`.
package actor PostgresListener: PinnedActor {
    package nonisolated let loop: ReactorLoop

    /// The events, for one reader. Ends with `close()`.
    package nonisolated let events: AsyncStream<ListenerEvent>
    private nonisolated let sink: AsyncStream<ListenerEvent>.Continuation
    private let settings: PostgresSettings
    private let channels: [String]
    private var connection: PostgresConnection?
    private var isClosed = false
    private var hasStarted = false

    /// A reader that falls behind loses the oldest events, and gets `listening`.
    private static let eventsMax = 1_024
    /// A server that vanished silently is noticed after this interval and the deadline of one ping.
    private static let pingInterval: Duration = .seconds(15)
    private static let pingDeadline: Duration = .seconds(5)
    private static let backoffFloor: Duration = .milliseconds(50)
    private static let backoffCeiling: Duration = .seconds(1)

    package init(_ settings: PostgresSettings, channels: [String], loop: ReactorLoop) {
        precondition(!channels.isEmpty)
        (self.settings, self.channels, self.loop) = (settings, channels, loop)
        (events, sink) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(PostgresListener.eventsMax))
    }

    package func start() {
        precondition(!hasStarted, "a listener is started once")
        hasStarted = true
        Task { await listenUntilClosed() }
    }

    package func close() async {
        isClosed = true
        await connection?.close()
        sink.finish()
    }

    private func listenUntilClosed() async {
        var failures = 0
        while !isClosed {
            do throws(PostgresError) {
                let connection = try await connect()
                failures = 0
                await stay(connection)
            } catch { failures += 1 }
            if isClosed { return }
            let doubled = PostgresListener.backoffFloor * (1 << min(failures, 20))
            let ceiling = min(doubled, PostgresListener.backoffCeiling)
            await Pause.wait(ceiling * (0.5 + 0.5 * Chance.fraction()), on: loop)
        }
    }

    private func connect() async throws(PostgresError) -> PostgresConnection {
        let connection = PostgresConnection(settings, loop: loop)
        try await connection.open()
        let sink = self.sink
        await connection.onNotification { notification in PostgresListener.send(.notification(notification), sink) }
        let statements = channels.map { Query(Statement(unprepared: "LISTEN \(PostgresListener.quoted($0))")) }
        do throws(PostgresError) {
            _ = try await connection.run(statements, .nothing, deadline: PostgresListener.pingDeadline)
        } catch {
            await connection.close()
            throw error
        }
        self.connection = connection
        // Close it if `close()` was called meanwhile, because no other code would.
        if isClosed { await connection.close() }
        PostgresListener.send(.listening, sink)
        return connection
    }

    private func stay(_ connection: PostgresConnection) async {
        let pinger = Task {
            while await connection.isOpen {
                await Pause.wait(PostgresListener.pingInterval, on: loop)
                do throws(PostgresError) {
                    let ping = [Query(Statement(unprepared: "SELECT 1"))]
                    _ = try await connection.run(ping, .nothing, deadline: PostgresListener.pingDeadline)
                } catch { await connection.close() }
            }
        }
        await connection.waitForEnd()
        pinger.cancel()
        self.connection = nil
    }

    private static func send(_ event: ListenerEvent, _ sink: AsyncStream<ListenerEvent>.Continuation) {
        if case .dropped = sink.yield(event) { sink.yield(.listening) }
    }

    private static func quoted(_ name: String) -> String {
        "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }
}
