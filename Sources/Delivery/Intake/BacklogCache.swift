import Basis
import Model
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
/// holds, and of a long backlog one request counts for all: the others go by what is remembered meanwhile. What other
/// processes accept is overlooked for that time, and what has finished is not noticed: where there seems to be no room and
/// counting is cheap, it is counted again.
package final class BacklogCache: Sendable {
    /// How long a count of up to `cheapMax` holds; of more, as many times longer.
    package static let countedFor: Duration = .milliseconds(250)
    /// So many are counted in a few milliseconds.
    package static let cheapMax = 20_000
    /// A count holds for no longer than so many times `countedFor`.
    package static let timesMax = 40
    /// A request that counts and does not come back is not waited for any longer.
    package static let countingMax: Duration = .seconds(10)
    /// Backlogs remembered at once.
    private static let countsMax = 4_096

    private struct Backlog: Hashable {
        let app: AppID
        let urgency: MessageUrgency
    }

    private struct Count {
        var open: Int
        /// Whether the time in which it holds is a long one.
        let isCostly: Bool
        let until: MonotonicInstant
        /// Of these, taken since somebody began to count; nil: nobody does.
        var taken: Int?
        var countingUntil: MonotonicInstant?

        func isCounted(_ now: MonotonicInstant) -> Bool { now < until }
        func isBeingCounted(_ now: MonotonicInstant) -> Bool { countingUntil.map { now < $0 } ?? false }

        mutating func take(_ count: Int) {
            open += count
            if let taken { self.taken = taken + count }
        }
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
            guard var known = counts[backlog] else { return .uncounted }
            if known.isCounted(now) || known.isCostly && known.isBeingCounted(now) {
                guard known.open + count <= max else {
                    // Of long ago it says nothing any more.
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
        let times = min(Self.timesMax, 1 + counted / Self.cheapMax)
        return counts.withLock { counts in
            let known = counts[backlog]
            // Whatever was taken meanwhile may have been counted already, or not.
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

    /// No count comes of it after all: the next one counts.
    package func stopCounting(_ app: AppID, _ urgency: MessageUrgency) {
        counts.withLock { $0[Backlog(app: app, urgency: urgency)]?.countingUntil = nil }
    }

    /// They were taken, and nothing came of it.
    package func giveBack(_ count: Int, of app: AppID, _ urgency: MessageUrgency) {
        let backlog = Backlog(app: app, urgency: urgency)
        counts.withLock { counts in
            guard let known = counts[backlog] else { return }
            counts[backlog]?.open = Swift.max(0, known.open - count)
            counts[backlog]?.taken = known.taken.map { Swift.max(0, $0 - count) }
        }
    }
}
