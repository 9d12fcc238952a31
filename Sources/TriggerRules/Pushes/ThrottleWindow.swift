import Basis

/// The window through which the pushes of one device go, whatever their subscriptions.
///
/// - A push that goes shuts the window for its own pause. While the window is shut, pushes are held or dropped.
/// - A subscription holds one push at most. A newer one takes its place, unless a trigger made the held one.
/// - Without a trigger, a push is held for a second, so that the updates of that second are one push. A trigger's push
///   goes at once if the window is open.
/// - Quiet hours are a shut window, for pushes that a person sees.
///
/// The caller takes the window in the transaction that cuts the push, so that no push that was never sent shuts it.
/// Held pushes that are ready go before new ones, by rising `readyAt`: otherwise a busy subscription would take every
/// window.
/// Source: the described service, "MPNs are throttled to a maximum frequency".
package struct ThrottleWindow: Equatable, Sendable {
    /// The time for which updates of one subscription are gathered into one push.
    package static let gathering: Duration = .seconds(1)

    /// The end of the pause after the last push; nil: none was sent. The window is open from this time on.
    package let opensAt: WallInstant?
    /// The end of the device's quiet hours; nil: there are none now, or nobody sees the push.
    package let quietUntil: WallInstant?

    package init(opensAt: WallInstant?, quietUntil: WallInstant? = nil) {
        (self.opensAt, self.quietUntil) = (opensAt, quietUntil)
    }

    /// The time from which the window is open; now, if it is open already.
    private func openingTime(now: WallInstant) -> WallInstant {
        [opensAt, quietUntil].compactMap { $0 }.reduce(now) { max($0, $1) }
    }

    /// Decides on a push that an update has just made.
    /// - Parameter held: the push that the same subscription holds.
    package func decide(_ push: ItemPush, held: HeldPush?, now: WallInstant) -> PushDecision {
        if let held, held.push.isTriggered { return .drop }
        let opening = openingTime(now: now)
        if push.isDroppedWhenPaused, opening > now { return .drop }
        // The first update of a second sets the end of the gathering, and later ones don't put it off.
        let readyAt = push.isTriggered ? now : held?.readyAt ?? now + Self.gathering
        let until = max(opening, readyAt)
        guard until > now else { return .send(opensAt: now + push.pause) }
        let waiting = HeldPush(push, readyAt: readyAt)
        return held == nil ? .hold(waiting, until: until) : .replace(waiting, until: until)
    }

    /// Decides on a held push, at the time that was decided, or when the window's time has changed. Never `.replace`.
    package func release(_ held: HeldPush, now: WallInstant) -> PushDecision {
        let opening = openingTime(now: now)
        let until = max(opening, held.readyAt)
        guard until > now else { return .send(opensAt: now + held.push.pause) }
        return held.push.isDroppedWhenPaused && held.readyAt <= now ? .drop : .hold(held, until: until)
    }
}

extension ItemPush {
    fileprivate var isDroppedWhenPaused: Bool { !isTriggered && whenPaused == .drop }
}

/// The fate of a push.
package enum PushDecision: Equatable, Sendable {
    /// The push goes, and its pause shuts the window up to this time. If its subscription holds a push, that one goes
    /// no more.
    case send(opensAt: WallInstant)
    /// The push is held, and decided on again at this time.
    case hold(HeldPush, until: WallInstant)
    /// The push takes the place of the held one, and is decided on again at this time.
    case replace(HeldPush, until: WallInstant)
    /// The push never goes. If its subscription holds another one, that one stays.
    case drop
}
