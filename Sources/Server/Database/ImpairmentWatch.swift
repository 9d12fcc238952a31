import Logging
import Postgres
import Reactor
import ServiceLifecycle
import Synchronization

/// Keeps the condition of the database: the pools report what fails, and a probe finds the end. Each condition is
/// logged once when it begins and once when it ends.
final class ImpairmentWatch: Sendable {
    /// A probe takes little of the server's time, and runs only while there is a condition.
    private static let probesApart: Duration = .seconds(2)

    private let impairment = Mutex(DatabaseImpairment())
    private let log: Logger

    init(log: Logger) { self.log = log }

    var condition: DatabaseCondition? { impairment.withLock { $0.condition } }

    func failed(_ condition: DatabaseCondition) {
        report(impairment.withLock { $0.failed(condition, now: Clocks.monotonicNow()) })
    }

    /// Probes the database while there is a condition. Returns when cancelled.
    func run(on pool: PostgresPool) async {
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.probesApart)
            guard condition != nil else { continue }
            // A database that does not answer proves nothing.
            do { probed(try await DatabaseProbe.condition(of: pool)) } catch { continue }
        }
    }

    private func probed(_ condition: DatabaseCondition?) {
        if let condition { return failed(condition) }
        report(impairment.withLock { $0.passed(now: Clocks.monotonicNow()) })
    }

    private func report(_ change: DatabaseImpairment.Change?) {
        switch change {
        case .began(let condition):
            log.error("\(Self.sentence(condition))", metadata: ["condition": "\(condition.name)"])
        case .ended(let condition, let duration):
            log.notice(
                "Database can be written to again",
                metadata: ["condition": "\(condition.name)", "after": "\(duration.components.seconds)s"])
        case nil: break
        }
    }

    private static func sentence(_ condition: DatabaseCondition) -> String {
        switch condition {
        case .readOnly: "Database is read-only: work waits"
        case .full: "Disk of the database is full: work waits"
        case .failing: "Disk of the database fails: work waits"
        }
    }
}

struct ImpairmentWatchService: NamedService {
    let description = "impairment watch"
    let watch: ImpairmentWatch
    let pool: PostgresPool

    func run() async throws { await cancelWhenGracefulShutdown { await watch.run(on: pool) } }
}
