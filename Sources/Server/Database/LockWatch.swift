import Logging
import Postgres
import Reactor
import ServiceLifecycle
import Store
import Synchronization

/// Names the sessions of other programs that keep the gateway's work waiting. It asks at the start, and when work is
/// delayed, until nobody waits.
final class LockWatch: Sendable {
    private static let queryEvery: Duration = .seconds(2)

    private let isSuspected = Atomic(true)
    private let log: Logger

    init(log: Logger) { self.log = log }

    /// Records that work is delayed.
    func suspect() { isSuspected.store(true, ordering: .relaxed) }

    /// Returns when cancelled.
    func run(on pool: PostgresPool) async {
        var sessions = BlockingSessions()
        while !Task.isCancelled {
            if isSuspected.exchange(false, ordering: .relaxed) || !sessions.isEmpty {
                do {
                    report(sessions.found(try await DatabaseFitness.blocking(pool), now: Clocks.monotonicNow()))
                } catch { suspect() }
            }
            try? await Task.sleep(for: Self.queryEvery)
        }
    }

    private func report(_ news: BlockingSessions.News) {
        for holder in news.begun {
            log.warning(
                "Another session holds tables of the gateway: work waits",
                metadata: ["held_by": "\(holder)", "remedy": "\(DatabaseFault.blocked(holder).remedy)"])
        }
        if news.isOver { log.notice("No other session holds tables of the gateway: work continues") }
    }
}

struct LockWatchService: NamedService {
    let description = "lock watch"
    let watch: LockWatch
    let pool: PostgresPool

    func run() async throws { await cancelWhenGracefulShutdown { await watch.run(on: pool) } }
}
