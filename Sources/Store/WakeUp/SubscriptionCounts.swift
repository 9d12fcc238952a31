import Basis
import Reactor
import Synchronization

/// The number of each app's subscriptions, as far as this process knows it. Anybody may subscribe, so the number is
/// bounded; it need not be exact.
///
/// It is counted once a minute, and each new subscription is added. Those that end, and those of other processes, are
/// seen by the next count.
final class SubscriptionCounts: Sendable {
    private static let recountAfter: Duration = .seconds(60)

    private struct Entry {
        var count: Int64
        var countedAt: MonotonicInstant
    }

    private let entries = Mutex<[Int64: Entry]>([:])

    /// Returns whether the caller has to count. Other requests use the last number meanwhile.
    func mustCount(_ app: Int64) -> Bool {
        let now = Clocks.monotonicNow()
        return entries.withLock { entries in
            if let entry = entries[app], now < entry.countedAt + Self.recountAfter { return false }
            entries[app, default: Entry(count: 0, countedAt: now)].countedAt = now
            return true
        }
    }

    func set(_ count: Int64, of app: Int64) { entries.withLock { $0[app]?.count = count } }

    func add(to app: Int64) { entries.withLock { $0[app]?.count += 1 } }

    subscript(app: Int64) -> Int64 { entries.withLock { $0[app]?.count ?? 0 } }
}
