import Basis
import Model

/// A due watch as a fan-out claims it.
package struct WatchClaim: Equatable, Sendable {
    /// The rounds in a row before this one that needed another round, and whose last slice woke nobody.
    package let tries: Int16
    /// The watch's number when the round began; nil: it begins now.
    package let roundSeq: Int64?
    /// The last registration that this round has passed; 0: none.
    package let after: Int64
    /// An earlier slice of the round needs another round, usually because it skipped some subscriptions.
    package let skippedEarlier: Bool

    package init(tries: Int16, roundSeq: Int64?, after: Int64, skippedEarlier: Bool = false) {
        (self.tries, self.roundSeq, self.after, self.skippedEarlier) = (tries, roundSeq, after, skippedEarlier)
    }
}

/// A watch, as far as a slice of its round depends on it.
package struct WatchStatus: Equatable, Sendable {
    /// The number of the last write that changed data at or below the path.
    package let seq: Int64
    /// How often subscriptions moved to another registration, or came back with their token. If the number has risen by
    /// the slice's end, the watch stays due: such a subscription is notified once more.
    package let moves: Int64
    /// The app's wake-ups are switched on.
    package let isEnabled: Bool
    /// The node weighs more than the app's settings allow.
    package let isTooHeavy: Bool
    /// The shortest time between two rounds that wake somebody.
    package let gather: Duration
    /// The node's data is read.
    package let readsValue: Bool
    /// The children that changed are read.
    package let readsChildren: Bool

    package init(
        seq: Int64, moves: Int64, isEnabled: Bool, isTooHeavy: Bool, gather: Duration, readsValue: Bool,
        readsChildren: Bool
    ) {
        (self.seq, self.moves, self.gather) = (seq, moves, gather)
        (self.isEnabled, self.isTooHeavy) = (isEnabled, isTooHeavy)
        (self.readsValue, self.readsChildren) = (readsValue, readsChildren)
    }

    /// Whether this slice read the data that the mode needs. It did not if the subscription has just got its mode.
    fileprivate func hasRead(_ mode: WakeUpMode) -> Bool {
        switch mode {
        case .noData: true
        case .value: readsValue
        case .childEvent: readsChildren
        }
    }
}

/// A subscription that a slice reads.
package struct SubscriptionStatus: Equatable, Sendable {
    package let id: Int64
    package let registration: Int64
    package let route: Int64
    package let mode: WakeUpMode
    package let provider: Provider
    package let isExpired: Bool
    /// Its token is retired. It gets nothing until the retirement is undone.
    package let isRetired: Bool
    /// The number of the last write that was reported to it.
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

/// The decisions of one slice of a round: who is notified now, who gets the same message, and when the watch is due
/// again.
///
/// A round reads all subscriptions of a due watch, and each transaction reads a limited number of them: a slice.
package struct WatchSlice: Sendable {
    package let claim: WatchClaim
    package let watch: WatchStatus
    /// The most subscriptions that one slice of the round reads.
    package let limit: Int
    /// The subscriptions that miss a change, and may be notified now, by rising registration.
    package private(set) var candidates: [SubscriptionStatus] = []
    /// The watch stays due, even if nothing changes. A subscription is skipped, because its last push has not ended or
    /// the data for its mode was not read. Or subscriptions end, and the next round finds whether any is left.
    private var needsAnotherRound = false
    /// At least one subscription misses nothing or is notified now, so the next change is news to it.
    private var hasOthers = false
    /// At least one subscription is notified.
    private var wakesSome = false
    private let count: Int
    private let last: Int64

    /// - Parameter read: the subscriptions that this slice reads, by rising registration.
    package init(_ claim: WatchClaim, _ watch: WatchStatus, reading read: [SubscriptionStatus], limit: Int) {
        (self.claim, self.watch, self.limit) = (claim, watch, limit)
        (count, last) = (read.count, read.last?.registration ?? 0)
        hasOthers = read.contains { !isBehind($0) && !$0.isExpired && !$0.isRetired }
        candidates = read.filter { isBehind($0) }
    }

    /// Whether nobody subscribes to the watch any more.
    package var hasNoSubscription: Bool { claim.after == 0 && count == 0 }

    /// Whether a subscription misses a change, and may be notified now.
    package func isBehind(_ subscription: SubscriptionStatus) -> Bool {
        guard watch.isEnabled, !watch.isTooHeavy else { return false }
        return subscription.sentSeq < watch.seq && !subscription.isExpired && !subscription.isRetired
    }

    /// Returns the subscriptions that are notified now. One whose last push has not ended is skipped, so it has one
    /// push under way at most. Its next push merges what changes meanwhile.
    ///
    /// - Parameter subscriptions: those that are behind, and whose users may read the path.
    package mutating func toNotify(
        _ subscriptions: [SubscriptionStatus], isUnsettled: (SubscriptionStatus) -> Bool
    ) -> [SubscriptionStatus] {
        let notified = subscriptions.filter { watch.hasRead($0.mode) && !isUnsettled($0) }
        if notified.count < subscriptions.count { needsAnotherRound = true }
        if !notified.isEmpty { hasOthers = true }
        return notified
    }

    /// Subscriptions of the watch end in this slice. The next round finds whether any is left.
    package mutating func noteRevoked() { needsAnotherRound = true }

    /// A message is made for some subscriptions.
    package mutating func noteWoken() { wakesSome = true }

    /// The state of the watch after this slice.
    package var end: WatchSliceEnd {
        let goesOn = count >= limit
        let tries = isIncomplete && !wakesSome ? min(claim.tries, .max - 1) + 1 : 0
        return WatchSliceEnd(
            wakesSome: wakesSome, reportedToAll: !goesOn && !isIncomplete, next: goesOn ? .zero : next,
            soonest: goesOn ? .zero : soonest, tries: goesOn ? claim.tries : tries,
            roundSeq: claim.roundSeq ?? watch.seq, moves: watch.moves, after: goesOn ? last : 0,
            skipped: goesOn && isIncomplete)
    }

    /// This slice of the round or an earlier one needs another round.
    private var isIncomplete: Bool { needsAnotherRound || claim.skippedEarlier }
    private var isLarge: Bool { claim.after > 0 || count > Self.fewMax }

    /// The time until the next round if nothing changes before. That round is for the skipped subscriptions only.
    private var next: Duration {
        guard isIncomplete else { return watch.gather }
        return max(wakesSome ? watch.gather : .zero, Self.wait(tries: claim.tries, isLarge: isLarge))
    }

    /// The time until the next round if something changes meanwhile. Subscriptions that were not skipped need not wait
    /// for the others, and are not woken more often than the app wants.
    private var soonest: Duration {
        let isForOthers = hasOthers || claim.after > 0
        let pause = isForOthers ? max(wakesSome ? watch.gather : .zero, Self.unsettledFirst) : Self.unsettledMax
        return min(next, pause)
    }

    /// The first wait for pushes that have not ended: a push usually ends within this time. The wait doubles with each
    /// try.
    private static let unsettledFirst: Duration = .milliseconds(250)
    /// The longest wait of a small watch. While a provider is down, each try reads the parcels of the last messages.
    private static let unsettledMax: Duration = .seconds(5)
    /// The longest wait of a large watch. Each try reads all its subscriptions, although hardly any may be notified.
    private static let unsettledMaxOfMany: Duration = .seconds(60)
    /// The most subscriptions that may be read every few seconds. A watch with more is large.
    private static let fewMax = 1_000

    /// How long to wait for pushes that have not ended: about as long as they have taken.
    static func wait(tries: Int16, isLarge: Bool) -> Duration {
        min(isLarge ? unsettledMaxOfMany : unsettledMax, unsettledFirst * (1 << min(Int(tries), 8)))
    }
}

/// The state of a watch after a slice of its round.
package struct WatchSliceEnd: Equatable, Sendable {
    package let wakesSome: Bool
    /// The round has read all subscriptions and needs no other one: the changes up to its number were reported to all.
    package let reportedToAll: Bool
    /// The time until the next slice, if there is more to report.
    package let next: Duration
    /// The same if something changes meanwhile.
    package let soonest: Duration
    package let tries: Int16
    package let roundSeq: Int64
    /// The watch's moves when its subscriptions were read.
    package let moves: Int64
    /// The last registration that was read; 0: all subscriptions were read, and the next round begins with the first.
    package let after: Int64
    /// The round goes on, and needs another one after it, usually because it skipped some subscriptions.
    package let skipped: Bool
}

/// Subscriptions of one watch that get the same message.
package struct WakeUpGroup: Hashable, Comparable, Sendable {
    package let mode: WakeUpMode
    package let provider: Provider
    /// The number of the last write that was reported to them. Only for child events: the others get the data as it is
    /// now. `unknown`: there are too many different numbers, or their last push was discarded.
    package private(set) var sentSeq: Int64

    package static let unknown: Int64 = -1
    /// The most groups that get changes of their own, over all providers: those that were notified last. The others
    /// only learn that there is too much to report.
    private static let childGroupsMax = 8

    private init(_ subscription: SubscriptionStatus, isLost: Bool) {
        (mode, provider) = (subscription.mode, subscription.provider)
        sentSeq = mode != .childEvent ? 0 : isLost ? Self.unknown : subscription.sentSeq
    }

    /// - Parameter isLost: whether the subscription's last push was discarded.
    /// - Returns: the groups in the order in which their messages are made, with their members by rising registration.
    package static func groups(
        of subscriptions: [SubscriptionStatus], isLost: (SubscriptionStatus) -> Bool
    ) -> [(group: WakeUpGroup, members: [SubscriptionStatus])] {
        var found: [(group: WakeUpGroup, members: [SubscriptionStatus])] = []
        var indexes: [WakeUpGroup: Int] = [:]  // lookup only
        for subscription in subscriptions {
            let group = WakeUpGroup(subscription, isLost: isLost(subscription))
            if let index = indexes[group] {
                found[index].members.append(subscription)
            } else {
                indexes[group] = found.count
                found.append((group, [subscription]))
            }
        }
        found.sort { $0.group < $1.group }
        let ownChanges = found.indices.filter {
            found[$0].group.mode == .childEvent && found[$0].group.sentSeq != unknown
        }
        let latestFirst = ownChanges.sorted { one, other in
            (found[other].group.sentSeq, one) < (found[one].group.sentSeq, other)
        }
        for index in latestFirst.dropFirst(childGroupsMax) { found[index].group.sentSeq = unknown }
        return found
    }

    /// By mode, then by provider. The group that was notified last comes first.
    package static func < (left: WakeUpGroup, right: WakeUpGroup) -> Bool {
        (left.mode.rawValue, left.provider.rawValue, right.sentSeq)
            < (right.mode.rawValue, right.provider.rawValue, left.sentSeq)
    }
}
