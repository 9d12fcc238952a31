import Basis
import Reactor
import Synchronization

/// The number of each app's rows in a table whose size is bounded, as far as this process knows it. It need not be
/// exact.
///
/// It is counted once a minute, and new rows are added. Those that end, and those of other processes, are seen by the
/// next count. A full app is counted each second if it has few rows, so that room is seen soon.
package final class RowCounts: Sendable {
    private static let recountAfter: Duration = .seconds(60)
    private static let recountFullAfter: Duration = .seconds(1)
    /// So many are counted within milliseconds.
    private static let fewRows: Int64 = 100_000
    /// A process makes room so often.
    private static let makeRoomAfter: Duration = .seconds(1)

    private struct Entry {
        var count: Int64
        var countedAt: MonotonicInstant
        var roomMadeAt: MonotonicInstant?
    }

    private let entries = Mutex<[Int64: Entry]>([:])

    package init() {}

    /// Returns whether the caller has to count. Other requests use the last number meanwhile.
    package func mustCount(_ app: Int64, max: Int64) -> Bool {
        let now = Clocks.monotonicNow()
        return entries.withLock { entries in
            if let entry = entries[app] {
                let isFull = entry.count >= max && max <= Self.fewRows
                if now < entry.countedAt + (isFull ? Self.recountFullAfter : Self.recountAfter) { return false }
            }
            entries[app, default: Entry(count: 0, countedAt: now)].countedAt = now
            return true
        }
    }

    /// Returns whether the caller has to make room for more.
    package func mustMakeRoom(in app: Int64, max: Int64) -> Bool {
        let now = Clocks.monotonicNow()
        return entries.withLock { entries in
            guard let entry = entries[app], entry.count > max / 2 else { return false }
            if let last = entry.roomMadeAt, now < last + Self.makeRoomAfter { return false }
            entries[app]?.roomMadeAt = now
            return true
        }
    }

    package func set(_ count: Int64, of app: Int64) { entries.withLock { $0[app]?.count = count } }

    package func add(_ count: Int64 = 1, to app: Int64) { entries.withLock { $0[app]?.count += count } }

    package subscript(app: Int64) -> Int64 { entries.withLock { $0[app]?.count ?? 0 } }
}
