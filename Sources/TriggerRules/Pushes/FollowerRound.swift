import Basis

/// Decides on the followers of one transaction of rounds, one after the other.
///
/// A push that goes shuts its device's window for those behind it. Of several items of a subscription, the first one
/// makes the push. Pushes that a device holds go before it, unless they wait for the end of quiet hours: those fall due
/// later than the window opens.
package struct FollowerRound: Sendable {
    private let now: WallInstant
    /// When each registration's window opens.
    private var windows: [Int64: WallInstant]  // lookup only
    /// Subscriptions that were decided on already.
    private var taken: Set<Int64> = []  // lookup only
    /// Devices that hold a push since this transaction, before which no other goes.
    private var holding: Set<Int64> = []  // lookup only

    /// - Parameter windows: when each registration's window opens. A device that was removed has none.
    package init(
        windows: [Int64: WallInstant],  // lookup only
        now: WallInstant
    ) { (self.windows, self.now) = (windows, now) }

    /// - Parameter canSend: whether a message can be made. It is asked only about a follower that may get a push.
    package mutating func decide(_ follower: FollowerStatus, canSend: () -> Bool) -> FollowerFate {
        guard let opensAt = windows[follower.registration], !follower.isExpired, follower.missesUpdate else {
            return .passed
        }
        guard !follower.isSilent, taken.insert(follower.subscription).inserted, !follower.holdsTriggered else {
            return .notified
        }
        if let held = follower.heldItem { return held == follower.item ? .notified : .held(until: now) }
        return canSend() ? pass(follower, opensAt) : .notified
    }

    /// Decides on a push whose subscription holds none.
    private mutating func pass(_ follower: FollowerStatus, _ opensAt: WallInstant) -> FollowerFate {
        let opening = max(opensAt, now)
        if follower.deviceDueAt.map({ $0 <= opening }) ?? false || holding.contains(follower.registration) {
            guard follower.push.whenPaused == .newest else { return .notified }
            holding.insert(follower.registration)
            return .held(until: opening)
        }
        let window = ThrottleWindow(opensAt: opensAt, quietUntil: follower.quietUntil)
        switch window.release(HeldPush(follower.push, readyAt: now), now: now) {
        case .send(let opensAt):
            windows[follower.registration] = opensAt
            return .sent(opensAt: opensAt)
        case .hold(_, let until), .replace(_, let until): return .held(until: until)
        case .drop: return .notified
        }
    }
}

/// A follower of an item, as a transaction of rounds has locked it.
package struct FollowerStatus: Sendable {
    package let subscription: Int64
    package let registration: Int64
    package let item: Int64
    /// An update named one of its fields, and it was not notified of that.
    package let missesUpdate: Bool
    package let isExpired: Bool
    /// Its device's token is retired, or its app has switched subscriptions off.
    package let isSilent: Bool
    /// The item of the push that the subscription holds; nil: it holds none.
    package let heldItem: Int64?
    /// A trigger made that push.
    package let holdsTriggered: Bool
    /// When the first of the pushes that the device holds falls due; nil: it holds none.
    package let deviceDueAt: WallInstant?
    /// The end of the device's quiet hours; nil: there are none now, or nobody sees the push.
    package let quietUntil: WallInstant?
    /// The push that it would get.
    package let push: ItemPush

    package init(
        subscription: Int64, registration: Int64, item: Int64, missesUpdate: Bool, isExpired: Bool, isSilent: Bool,
        heldItem: Int64?, holdsTriggered: Bool, deviceDueAt: WallInstant?, quietUntil: WallInstant?, push: ItemPush
    ) {
        (self.subscription, self.registration, self.item) = (subscription, registration, item)
        (self.missesUpdate, self.isExpired, self.isSilent) = (missesUpdate, isExpired, isSilent)
        (self.heldItem, self.holdsTriggered, self.deviceDueAt) = (heldItem, holdsTriggered, deviceDueAt)
        (self.quietUntil, self.push) = (quietUntil, push)
    }
}

/// The outcome of a round for one follower.
package enum FollowerFate: Equatable, Sendable {
    /// Nothing changes: it has missed nothing, or it is being removed.
    case passed
    /// It counts as notified, and makes no push now. What its subscription holds for this item shows the newest texts.
    case notified
    /// Its push goes, and shuts the device's window up to this time.
    case sent(opensAt: WallInstant)
    /// Its push is held, and decided on at this time. It takes the place of the one of another item.
    case held(until: WallInstant)
}
