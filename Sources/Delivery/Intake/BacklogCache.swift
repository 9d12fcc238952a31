import Basis
import Model
import Synchronization

/// The number of unfinished messages an app may have. Above it, new messages are refused for now (P8).
///
/// Waiting messages count too: scheduled, deferred by quiet hours, paused, or without a usable credential. So that
/// these never block a direct message, direct messages have a bound of their own, as large as their rows allow.
/// Broadcasts, each of which may be millions of pushes, have a small one (decision 0042).
package struct BacklogBounds: Equatable, Sendable {
    private let single: Int
    private let broadcasts: Int

    package init(messages: Int, broadcasts: Int) {
        precondition(messages > 0 && broadcasts > 0)
        single = messages
        self.broadcasts = min(messages, broadcasts)
    }

    package func max(_ urgency: MessageUrgency) -> Int { urgency == .transactional ? single : broadcasts }
}

/// The number of unfinished messages of each app: counted a moment ago, plus those accepted since.
///
/// Counting reads an entry per message, which takes longer than accepting one. The larger a count, the longer it holds.
/// While one request counts a long backlog again, the others use the remembered count. Until then, messages that other
/// processes accept are overlooked, and finished ones are not noticed. If there seems to be no room and counting is
/// cheap, it is counted again.
package final class BacklogCache: Sendable {
    /// The time that a count of up to `cheapMax` holds; larger counts hold proportionally longer.
    package static let countedFor: Duration = .milliseconds(250)
    /// The number of messages that are counted in a few milliseconds.
    package static let cheapMax = 20_000
    /// The largest multiple of `countedFor` that a count holds.
    package static let timesMax = 40
    /// The time after which a request that counts and does not return is no longer waited for.
    package static let countingMax: Duration = .seconds(10)
    private static let countsMax = 4_096

    private struct Backlog: Hashable {
        let app: AppID
        let urgency: MessageUrgency
    }

    private struct Count {
        var open: Int
        var until: MonotonicInstant
        /// True for a count that holds for more than one `countedFor`.
        let isCostly: Bool
    }

    package let bounds: BacklogBounds
    private let counts = Mutex<[Backlog: Count]>([:])  // lookup only

    package init(bounds: BacklogBounds) { self.bounds = bounds }

    /// Takes room for `count` messages, by the remembered count.
    ///
    /// - Returns: whether there was room; nil: the caller must count the backlog, and call `note`.
    package func take(_ count: Int, of app: AppID, _ urgency: MessageUrgency, now: MonotonicInstant) -> Bool? {
        let backlog = Backlog(app: app, urgency: urgency)
        return counts.withLock { counts in
            guard let known = counts[backlog] else { return nil }
            guard now < known.until else {
                if known.isCostly { counts[backlog]?.until = now + Self.countingMax }
                return nil
            }
            guard known.open + count <= bounds.max(urgency) else { return known.isCostly ? false : nil }
            counts[backlog]?.open += count
            return true
        }
    }

    /// Takes room by a fresh count.
    ///
    /// - Parameters:
    ///   - counted: the number of unfinished messages.
    ///   - added: the number of messages to add.
    /// - Returns: whether there was room.
    package func note(
        _ counted: Int, adding added: Int, of app: AppID, _ urgency: MessageUrgency, now: MonotonicInstant
    ) -> Bool {
        let (backlog, max) = (Backlog(app: app, urgency: urgency), bounds.max(urgency))
        let times = min(Self.timesMax, 1 + counted / Self.cheapMax)
        let hasRoom = counted + added <= max
        guard hasRoom || times > 1 else { return false }
        counts.withLock { counts in
            var open = counted + (hasRoom ? added : 0)
            // Requests that counted at the same time may have taken room that this count does not include.
            if let known = counts[backlog], !known.isCostly, now < known.until, known.open + added <= max {
                open = Swift.max(open, known.open + added)
            }
            if counts.count >= Self.countsMax, counts[backlog] == nil { counts = [:] }
            counts[backlog] = Count(open: open, until: now + Self.countedFor * times, isCostly: times > 1)
        }
        return hasRoom
    }
}
