import Basis
import Store

/// The sessions that keep the gateway's work waiting, so that each is reported once until it is over.
package struct BlockingSessions: Sendable {
    package struct News: Equatable, Sendable {
        /// The sessions that were not known.
        package let begun: [LockHolder]
        /// Whether the last known session keeps nobody waiting any more.
        package let isOver: Bool

        package init(begun: [LockHolder], isOver: Bool) { (self.begun, self.isOver) = (begun, isOver) }
    }

    /// A session that holds rows may be found only while somebody waits for them. A caller repeats its request sooner.
    package static let quietMin: Duration = .seconds(30)

    /// The time at which each session was found last, by its process.
    private var seenAt: [Int32: MonotonicInstant] = [:]

    package init() {}

    package var isEmpty: Bool { seenAt.isEmpty }

    package mutating func found(_ holders: [LockHolder], now: MonotonicInstant) -> News {
        let begun = holders.filter { seenAt[$0.process] == nil }
        for holder in holders { seenAt[holder.process] = now }
        let wasEmpty = seenAt.isEmpty
        seenAt = seenAt.filter { now - $0.value < Self.quietMin }
        return News(begun: begun, isOver: !wasEmpty && seenAt.isEmpty)
    }
}
