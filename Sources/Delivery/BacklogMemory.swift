import PushModel
import Reactor
import Synchronization

/// How many unfinished messages an app may have; above it, new ones are told to come back later (P8).
///
/// What waits counts as well: for its hour, for the end of quiet hours, for whoever paused it, for a credential. So that
/// none of these keeps a single push of the same app out, messages to a few named receivers have a bound of their own, as
/// large as their rows allow; broadcasts, of which each may be millions of pushes, a small one (decision 0042).
package struct BacklogBounds: Equatable, Sendable {
    private let single: Int
    private let broadcasts: Int

    /// - Parameters:
    ///   - messages: of each urgency, at most.
    ///   - broadcasts: of bulk messages, at most.
    package init(messages: Int, broadcasts: Int) {
        precondition(messages > 0 && broadcasts > 0)
        single = messages
        self.broadcasts = min(messages, broadcasts)
    }

    package func max(_ urgency: MessageUrgency) -> Int { urgency == .transactional ? single : broadcasts }
}

/// How many unfinished messages each app has, as it was counted a moment ago and has been added to since.
///
/// Counting reads an entry for each of them, which takes longer than accepting one; the more there are, the longer a count
/// holds. What other processes accept meanwhile is overlooked for that time, and what has finished is not noticed: where
/// there seems to be no room and counting is cheap, it is counted again.
package final class BacklogMemory: Sendable {
    /// How long a count of up to `cheapMax` holds; of more, as many times longer.
    package static let countedFor: Duration = .milliseconds(250)
    /// So many are counted in a few milliseconds.
    package static let cheapMax = 20_000
    /// Backlogs remembered at once.
    private static let countsMax = 4_096

    private struct Backlog: Hashable {
        let app: AppID
        let urgency: MessageUrgency
    }

    private struct Count {
        var open: Int
        /// Whether the time in which it holds is a long one.
        let isDear: Bool
        let until: MonotonicInstant
    }

    /// What is known without counting.
    package enum Room: Equatable, Sendable {
        /// There is room, and it is taken.
        case taken
        case full
        case uncounted
    }

    package let bounds: BacklogBounds
    private let counts = Mutex<[Backlog: Count]>([:])  // lookup only

    package init(bounds: BacklogBounds) { self.bounds = bounds }

    /// Takes places for so many more, by what is remembered.
    package func take(_ count: Int, of app: AppID, _ urgency: MessageUrgency, now: MonotonicInstant) -> Room {
        let (backlog, max) = (Backlog(app: app, urgency: urgency), bounds.max(urgency))
        return counts.withLock { counts in
            guard let known = counts[backlog], now < known.until else { return .uncounted }
            guard known.open + count <= max else { return known.isDear ? .full : .uncounted }
            counts[backlog]?.open += count
            return .taken
        }
    }

    /// Takes places by what was counted. Others may have counted at the same time, and have taken theirs by it.
    ///
    /// - Parameters:
    ///   - counted: what there was.
    ///   - added: what comes in addition.
    /// - Returns: whether there was room.
    package func note(
        _ counted: Int, adding added: Int, of app: AppID, _ urgency: MessageUrgency, now: MonotonicInstant
    ) -> Bool {
        let (backlog, max) = (Backlog(app: app, urgency: urgency), bounds.max(urgency))
        let hasRoom = counted + added <= max
        let times = 1 + counted / Self.cheapMax
        guard hasRoom || times > 1 else { return false }
        counts.withLock { counts in
            if let known = counts[backlog], now < known.until, known.open + added <= max, hasRoom {
                counts[backlog]?.open = Swift.max(known.open, counted) + added
                return
            }
            if counts.count >= Self.countsMax { counts = [:] }
            counts[backlog] = Count(
                open: counted + (hasRoom ? added : 0), isDear: times > 1, until: now + Self.countedFor * times)
        }
        return hasRoom
    }
}
