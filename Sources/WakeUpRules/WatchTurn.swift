import Basis
import Model

/// A due watch as a fan-out claims it.
package struct WatchClaim: Equatable, Sendable {
    /// The turns before this one that found pushes under way, and told nobody anything.
    package let tries: Int16
    /// The watch's number when the round began; nil: it begins now.
    package let roundSeq: Int64?
    /// The last registration that this round has passed.
    package let after: Int64
    /// An earlier turn of the round skipped some subscriptions.
    package let skipped: Bool

    package init(tries: Int16, roundSeq: Int64?, after: Int64, skipped: Bool = false) {
        (self.tries, self.roundSeq, self.after, self.skipped) = (tries, roundSeq, after, skipped)
    }
}

/// A watch, as far as its turn depends on it.
package struct WatchStatus: Equatable, Sendable {
    /// The number of the last write that changed data at or below the path.
    package let seq: Int64
    /// How often subscriptions were adopted.
    package let adoptions: Int64
    /// The app's wake-ups are switched on.
    package let isEnabled: Bool
    /// The node weighs more than the app's settings allow.
    package let isTooHeavy: Bool
    /// The shortest time between two turns that wake somebody.
    package let gather: Duration
    /// The node's data was read, and the children that changed.
    package let hasValue: Bool
    package let hasChildren: Bool

    package init(
        seq: Int64, adoptions: Int64, isEnabled: Bool, isTooHeavy: Bool, gather: Duration, hasValue: Bool,
        hasChildren: Bool
    ) {
        (self.seq, self.adoptions, self.gather) = (seq, adoptions, gather)
        (self.isEnabled, self.isTooHeavy) = (isEnabled, isTooHeavy)
        (self.hasValue, self.hasChildren) = (hasValue, hasChildren)
    }

    /// Whether what such a subscription is told was read. It was not if the subscription has just got its mode.
    fileprivate func hasRead(_ mode: WakeUpMode) -> Bool {
        switch mode {
        case .noData: true
        case .value: hasValue
        case .childEvent: hasChildren
        }
    }
}

/// A subscription in a turn of its watch.
package struct SubscriptionStatus: Equatable, Sendable {
    package let id: Int64
    package let registration: Int64
    package let route: Int64
    package let mode: WakeUpMode
    package let provider: Provider
    package let isExpired: Bool
    /// Its token is retired. It sleeps until that is taken back.
    package let isRetired: Bool
    /// The number of the last write that it was told of.
    package let sentSeq: Int64
    /// Its last message.
    package let message: UniversalID?

    package init(
        id: Int64, registration: Int64, route: Int64, mode: WakeUpMode, provider: Provider, isExpired: Bool,
        isRetired: Bool, sentSeq: Int64, message: UniversalID?
    ) {
        (self.id, self.registration, self.route, self.mode) = (id, registration, route, mode)
        (self.provider, self.isExpired, self.isRetired) = (provider, isExpired, isRetired)
        (self.sentSeq, self.message) = (sentSeq, message)
    }
}

/// The decisions of one turn of a due watch: who is told something now, who are told the same, and when the next turn
/// comes.
package struct WatchTurn: Sendable {
    package let claim: WatchClaim
    package let watch: WatchStatus
    /// The most subscriptions that one turn reads.
    package let limit: Int
    /// The subscriptions that were not told of all changes, and may be told now, by rising registration.
    package private(set) var candidates: [SubscriptionStatus] = []
    /// Some subscriptions are passed over: mostly their pushes have not ended.
    private var leavesSome = false
    /// Others may be told as soon as something changes.
    private var hasOthers = false
    /// Some are told something.
    private var wakesSome = false
    private let count: Int
    private let last: Int64

    /// - Parameter read: the subscriptions that the turn reads, by rising registration.
    package init(_ claim: WatchClaim, _ watch: WatchStatus, reading read: [SubscriptionStatus], limit: Int) {
        (self.claim, self.watch, self.limit) = (claim, watch, limit)
        (count, last) = (read.count, read.last?.registration ?? 0)
        hasOthers = read.contains { !isBehind($0) && !$0.isExpired && !$0.isRetired }
        candidates = read.filter { isBehind($0) }
    }

    /// Whether nobody subscribes to the watch any more.
    package var hasNoSubscription: Bool { claim.after == 0 && count == 0 }

    /// Whether a subscription has not been told of all changes, and may be told now.
    package func isBehind(_ subscription: SubscriptionStatus) -> Bool {
        guard watch.isEnabled, !watch.isTooHeavy else { return false }
        return subscription.sentSeq < watch.seq && !subscription.isExpired && !subscription.isRetired
    }

    /// Returns the subscriptions that are told something now. One whose last push has not ended is passed over, so it
    /// has one push under way at most (P4).
    ///
    /// - Parameter subscriptions: those that are behind, and whose users may read the path.
    package mutating func toTell(
        _ subscriptions: [SubscriptionStatus], isUnsettled: (SubscriptionStatus) -> Bool
    ) -> [SubscriptionStatus] {
        let told = subscriptions.filter { watch.hasRead($0.mode) && !isUnsettled($0) }
        if told.count < subscriptions.count { leavesSome = true }
        if !told.isEmpty { hasOthers = true }
        return told
    }

    /// Subscriptions of the watch end in this turn. The next one finds whether any is left.
    package mutating func noteRevoked() { leavesSome = true }

    /// A message is made for some subscriptions.
    package mutating func noteWoken() { wakesSome = true }

    /// The state in which the turn leaves its watch.
    package var end: WatchTurnEnd {
        let goesOn = count >= limit
        let tries = leaves && !wakesSome ? min(claim.tries, .max - 1) + 1 : 0
        return WatchTurnEnd(
            wakesSome: wakesSome, isOver: !goesOn && !leaves, next: goesOn ? .zero : next,
            soonest: goesOn ? .zero : soonest, tries: goesOn ? claim.tries : tries,
            roundSeq: claim.roundSeq ?? watch.seq, adoptions: watch.adoptions, after: goesOn ? last : 0,
            skipped: goesOn && leaves)
    }

    private var leaves: Bool { leavesSome || claim.skipped }
    private var isLarge: Bool { claim.after > 0 || count > Self.fewMax }

    /// The time until the next turn if nothing changes before. Then only those are left that were skipped.
    private var next: Duration {
        guard leaves else { return watch.gather }
        return max(wakesSome ? watch.gather : .zero, Self.wait(tries: claim.tries, isLarge: isLarge))
    }

    /// The time until the next turn if something changes meanwhile. Those that were not skipped need not wait for the
    /// others, and are not woken more often than the app wants.
    private var soonest: Duration {
        let isForOthers = hasOthers || claim.after > 0
        let pause = isForOthers ? max(wakesSome ? watch.gather : .zero, Self.unsettledFirst) : Self.unsettledMax
        return min(next, pause)
    }

    /// A push usually ends within this time.
    private static let unsettledFirst: Duration = .milliseconds(250)
    /// While a provider is down, each look reads the parcels of the last messages.
    private static let unsettledMax: Duration = .seconds(5)
    /// Each look at a large watch reads all its subscriptions, although hardly any may be told.
    private static let unsettledMaxOfMany: Duration = .seconds(60)
    /// The most subscriptions that may be read every few seconds.
    private static let fewMax = 1_000

    /// How long to wait for pushes that have not ended: about as long as they have taken.
    static func wait(tries: Int16, isLarge: Bool) -> Duration {
        min(isLarge ? unsettledMaxOfMany : unsettledMax, unsettledFirst * (1 << min(Int(tries), 8)))
    }
}

/// The state in which a turn leaves its watch.
package struct WatchTurnEnd: Equatable, Sendable {
    package let wakesSome: Bool
    /// All subscriptions were told of the changes up to the round's number.
    package let isOver: Bool
    /// The time until the next turn, if there is more to tell.
    package let next: Duration
    /// The same if something changes meanwhile.
    package let soonest: Duration
    package let tries: Int16
    package let roundSeq: Int64
    /// The watch's adoptions when its subscriptions were read.
    package let adoptions: Int64
    /// The last registration that was read; 0: the round is over.
    package let after: Int64
    /// The round goes on, and has skipped some.
    package let skipped: Bool
}

/// Subscriptions of one watch that are told the same.
package struct WakeUpGroup: Hashable, Comparable, Sendable {
    package let mode: WakeUpMode
    package let provider: Provider
    /// The number of the last write that they were told of. Only for child events: the others are told the data as it
    /// is now. `unknown`: too many were told different ones, or their last push was discarded.
    package private(set) var sentSeq: Int64

    package static let unknown: Int64 = -1
    /// The most groups that are told of different children, those that were told last first. The others only hear that
    /// there is too much to tell.
    private static let childGroupsMax = 8

    private init(_ subscription: SubscriptionStatus, isLost: Bool) {
        (mode, provider) = (subscription.mode, subscription.provider)
        sentSeq = mode != .childEvent ? 0 : isLost ? Self.unknown : subscription.sentSeq
    }

    /// - Parameter isLost: whether the subscription's last push was discarded.
    /// - Returns: the groups in the order in which they are told, with their members by rising registration.
    package static func groups(
        of subscriptions: [SubscriptionStatus], isLost: (SubscriptionStatus) -> Bool
    ) -> [(group: WakeUpGroup, members: [SubscriptionStatus])] {
        var found: [(group: WakeUpGroup, members: [SubscriptionStatus])] = []
        var places: [WakeUpGroup: Int] = [:]  // lookup only
        for subscription in subscriptions {
            let group = WakeUpGroup(subscription, isLost: isLost(subscription))
            if let place = places[group] {
                found[place].members.append(subscription)
            } else {
                places[group] = found.count
                found.append((group, [subscription]))
            }
        }
        found.sort { $0.group < $1.group }
        var childGroups = 0
        for place in found.indices where found[place].group.mode == .childEvent {
            childGroups += 1
            if childGroups > childGroupsMax { found[place].group.sentSeq = unknown }
        }
        return found
    }

    package static func < (left: WakeUpGroup, right: WakeUpGroup) -> Bool {
        (left.mode.rawValue, left.provider.rawValue, right.sentSeq)
            < (right.mode.rawValue, right.provider.rawValue, left.sentSeq)
    }
}
