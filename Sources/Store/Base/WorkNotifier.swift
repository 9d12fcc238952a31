import Postgres

/// The channels of NOTIFY, and what is said on them.
package enum WorkChannel {
    package static let work = "carillon_work"
    package static let credentials = "carillon_credentials"
}

package enum WorkNotification: String, Sendable, CaseIterable {
    /// A message waits for a planner.
    case plan
    /// A message waits for its hour.
    case schedule
    /// Parcels are ready.
    case parcels
    /// A message was paused, resumed or cancelled.
    case stops
    /// A credential was activated, retired or removed, or a lane was blocked or opened.
    case credentials = "changed"

    package var channel: String {
        switch self {
        case .plan, .schedule, .parcels, .stops: WorkChannel.work
        case .credentials: WorkChannel.credentials
        }
    }

    /// The process that says it has seen to it already: it looks for no work a second time when it hears itself.
    package var isKnownToSender: Bool {
        switch self {
        case .plan, .parcels: true
        case .schedule, .stops, .credentials: false
        }
    }
}

/// Tells the other processes that there is work: a hint, after the commit, with the slow poll as its safety net.
///
/// NOTIFY inside the transactions themselves would queue every commit of the server behind one lock. So news of one
/// kind is told once at a time, and what comes in meanwhile is told once more afterwards.
package actor WorkNotifier {
    private let pool: PostgresPool
    private var sending: Set<WorkNotification> = []
    private var again: Set<WorkNotification> = []

    package init(pool: PostgresPool) { self.pool = pool }

    /// Returns at once.
    nonisolated package func notify(_ work: WorkNotification) {
        Task { await send(work) }
    }

    private func send(_ work: WorkNotification) async {
        guard sending.insert(work).inserted else {
            again.insert(work)
            return
        }
        repeat {
            again.remove(work)
            // A bell that nobody hears costs one poll's delay: no reason to fail, or to try again.
            _ = try? await pool.run([
                Query(HousekeepingSQL.notify) {
                    $0.text(work.channel); $0.text(work.rawValue)
                }
            ])
        } while again.contains(work)
        sending.remove(work)
    }
}
