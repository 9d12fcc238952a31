import Basis
import Model
import Reactor
import Synchronization

/// The number of unfinished messages an app may have. Above it, new messages are refused for now (P8).
///
/// Waiting messages count too: scheduled, deferred by quiet hours, paused, or without a usable credential. So that
/// these never block a direct message, direct messages have a bound of their own, as large as their rows allow.
/// Broadcasts, each of which may be millions of pushes, have a small one (decision 0042).
package struct BacklogBounds: Equatable, Sendable {
    private let single: Int
    private let broadcasts: Int

    /// - Parameters:
    ///   - messages: the largest number of messages of each urgency.
    ///   - broadcasts: the largest number of bulk messages.
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
    /// The number of backlogs remembered at once.
    private static let countsMax = 4_096

    private struct Backlog: Hashable {
        let app: AppID
        let urgency: MessageUrgency
    }

    private struct Count {
        var open: Int
        /// True for a count that holds for more than one `countedFor`.
        let isCostly: Bool
        let until: MonotonicInstant
        /// The part of `open` that was taken since a request began to count; nil: none is counting.
        var taken: Int?
        var countingUntil: MonotonicInstant?

        func isCounted(_ now: MonotonicInstant) -> Bool { now < until }
        func isBeingCounted(_ now: MonotonicInstant) -> Bool { countingUntil.map { now < $0 } ?? false }

        mutating func take(_ count: Int) {
            open += count
            if let taken { self.taken = taken + count }
        }
    }

    /// The answer that is known without counting.
    package enum Room: Equatable, Sendable {
        /// There was room, and it is now taken.
        case taken
        case full
        case uncounted
    }

    package let bounds: BacklogBounds
    private let counts = Mutex<[Backlog: Count]>([:])  // lookup only

    package init(bounds: BacklogBounds) { self.bounds = bounds }

    /// Takes room for `count` messages, by the remembered count.
    package func take(_ count: Int, of app: AppID, _ urgency: MessageUrgency, now: MonotonicInstant) -> Room {
        let (backlog, max) = (Backlog(app: app, urgency: urgency), bounds.max(urgency))
        return counts.withLock { counts in
            guard var known = counts[backlog] else { return .uncounted }
            if known.isCounted(now) || known.isCostly && known.isBeingCounted(now) {
                guard known.open + count <= max else {
                    // A count from long ago says nothing any more.
                    return known.isCostly && now < known.until + Self.countingMax ? .full : .uncounted
                }
                counts[backlog]?.take(count)
                return .taken
            }
            if known.isCostly {
                known.taken = 0
                known.countingUntil = now + Self.countingMax
                counts[backlog] = known
            }
            return .uncounted
        }
    }

    /// Takes room by a fresh count. Other requests may have counted at the same time and taken room by their counts.
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
        return counts.withLock { counts in
            let known = counts[backlog]
            // Room taken meanwhile may be included in the count, or not.
            let taken = known?.taken ?? 0
            let hasRoom = counted + taken + added <= max
            if hasRoom, let known, known.taken == nil, known.isCounted(now), known.open + added <= max {
                counts[backlog]?.open = Swift.max(known.open, counted) + added
            } else if hasRoom || times > 1 {
                if counts.count >= Self.countsMax, known == nil { counts = [:] }
                counts[backlog] = Count(
                    open: counted + taken + (hasRoom ? added : 0), isCostly: times > 1,
                    until: now + Self.countedFor * times)
            }
            return hasRoom
        }
    }

    /// Ends a count that failed, so that the next request counts.
    package func stopCounting(_ app: AppID, _ urgency: MessageUrgency) {
        counts.withLock { $0[Backlog(app: app, urgency: urgency)]?.countingUntil = nil }
    }

    /// Gives back room that was taken but not used.
    package func giveBack(_ count: Int, of app: AppID, _ urgency: MessageUrgency) {
        let backlog = Backlog(app: app, urgency: urgency)
        counts.withLock { counts in
            guard let known = counts[backlog] else { return }
            counts[backlog]?.open = Swift.max(0, known.open - count)
            counts[backlog]?.taken = known.taken.map { Swift.max(0, $0 - count) }
        }
    }
}
