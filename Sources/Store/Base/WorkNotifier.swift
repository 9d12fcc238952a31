import Postgres

/// The channels of NOTIFY.
package enum WorkChannel {
    package static let work = "carillon_work"
    package static let credentials = "carillon_credentials"
}

package enum WorkNotification: String, Sendable, CaseIterable {
    /// A message waits for a planner.
    case plan
    /// A message waits for its due time.
    case schedule
    /// Parcels are ready.
    case parcels
    /// A message was paused, resumed or cancelled.
    case stops
    /// Watched nodes have changed.
    case wakeUps = "wakeups"
    /// Items are due, or their subscriptions hold pushes.
    case items
    /// A credential was activated, retired or removed, or a lane was blocked or opened.
    case credentials = "changed"

    package var channel: String {
        switch self {
        case .plan, .schedule, .parcels, .stops, .wakeUps, .items: WorkChannel.work
        case .credentials: WorkChannel.credentials
        }
    }

    /// Whether the sending process has acted on it already. Such a process ignores its own notification.
    package var isKnownToSender: Bool {
        switch self {
        case .plan, .parcels, .wakeUps, .items: true
        case .schedule, .stops, .credentials: false
        }
    }
}

/// Notifies the other processes that there is work. This is a hint after the commit, with the slow poll as its safety
/// net.
///
/// NOTIFY inside the transactions themselves would queue every commit of the server behind one lock. So one
/// notification of a kind is sent at a time. Those that arrive meanwhile are sent once more afterwards.
package actor WorkNotifier {
    private let pool: PostgresPool
    private var sending: Set<WorkNotification> = []
    private var again: Set<WorkNotification> = []

    package init(pool: PostgresPool) { self.pool = pool }

    /// Returns at once.
    nonisolated package func notify(_ work: WorkNotification) { OwnWork.start { _ = Task { await send(work) } } }

    private func send(_ work: WorkNotification) async {
        guard sending.insert(work).inserted else {
            again.insert(work)
            return
        }
        repeat {
            again.remove(work)
            // A lost notification costs one poll's delay: no reason to fail, or to try again.
            _ = try? await pool.run([
                Query(HousekeepingSQL.notify) {
                    $0.text("channel", work.channel)
                    $0.text("payload", work.rawValue)
                }
            ])
        } while again.contains(work)
        sending.remove(work)
    }
}
