import Basis
import TestSupport
import Testing
import TriggerRules

private let start = WallInstant(secondsSince1970: 1_796_000_000)

private func at(_ seconds: Double) -> WallInstant { start + .microseconds(Int64(seconds * 1_000_000)) }

private func push(
    isTriggered: Bool = false, pause: Int = 30, _ whenPaused: WhenPaused = .newest
) -> ItemPush {
    ItemPush(isTriggered: isTriggered, pause: .seconds(pause), whenPaused: whenPaused)
}

@Suite("A device's open window")
struct OpenThrottleWindowTests {
    private let window = ThrottleWindow(opensAt: start)

    @Test("lets a trigger's push go at once, and is shut for its pause")
    func triggered() {
        #expect(window.decide(push(isTriggered: true, pause: 7), held: nil, now: start) == .send(opensAt: at(7)))
    }

    @Test("gathers the updates of a second into one push, also without a pause")
    func gathering() {
        let held = HeldPush(push(pause: 0), readyAt: at(1))
        #expect(window.decide(push(pause: 0), held: nil, now: start) == .hold(held, until: at(1)))
        #expect(window.decide(push(pause: 0), held: held, now: at(0.5)) == .replace(held, until: at(1)))
        #expect(window.release(held, now: at(0.5)) == .hold(held, until: at(1)))
        #expect(window.release(held, now: at(1)) == .send(opensAt: at(1)))
    }

    @Test("lets the newest push go in the place of one that is overdue")
    func overdue() {
        #expect(window.decide(push(), held: HeldPush(push(), readyAt: at(1)), now: at(2)) == .send(opensAt: at(32)))
    }

    @Test("lets a trigger's push go in the place of one that is gathered")
    func triggerFirst() {
        let held = HeldPush(push(), readyAt: at(1))
        #expect(window.decide(push(isTriggered: true), held: held, now: start) == .send(opensAt: at(30)))
    }
}

@Suite("A device's shut window")
struct ShutThrottleWindowTests {
    private let window = ThrottleWindow(opensAt: at(30))

    @Test("holds the newest push of a subscription until it opens")
    func newest() {
        let held = HeldPush(push(), readyAt: at(3))
        #expect(window.decide(push(), held: nil, now: at(2)) == .hold(held, until: at(30)))
        let other = HeldPush(push(pause: 5), readyAt: at(3))
        #expect(window.decide(push(pause: 5), held: held, now: at(20)) == .replace(other, until: at(30)))
    }

    @Test("holds a trigger's push until it opens")
    func triggered() {
        let held = HeldPush(push(isTriggered: true), readyAt: at(2))
        #expect(window.decide(push(isTriggered: true), held: nil, now: at(2)) == .hold(held, until: at(30)))
    }

    @Test("has no effect on a push that is gathered until later")
    func opensSoon() {
        let held = HeldPush(push(), readyAt: at(30.5))
        #expect(window.decide(push(), held: nil, now: at(29.5)) == .hold(held, until: at(30.5)))
        let dropped = HeldPush(push(.drop), readyAt: at(30.5))
        #expect(window.release(dropped, now: at(29.5)) == .hold(dropped, until: at(30.5)))
    }

    @Test("drops a push that asks for it, whether it is new or due, unless a trigger made it")
    func drops() {
        #expect(window.decide(push(.drop), held: nil, now: at(2)) == .drop)
        #expect(window.release(HeldPush(push(.drop), readyAt: at(2)), now: at(2)) == .drop)
        let held = HeldPush(push(isTriggered: true, .drop), readyAt: at(2))
        #expect(window.decide(held.push, held: nil, now: at(2)) == .hold(held, until: at(30)))
        #expect(window.release(held, now: at(2)) == .hold(held, until: at(30)))
    }

    @Test("holds a ready push again if another subscription's push was first")
    func taken() {
        let held = HeldPush(push(), readyAt: at(2))
        #expect(window.release(held, now: at(2)) == .hold(held, until: at(30)))
    }

    @Test("opens at its time, and not after it")
    func opens() {
        #expect(window.release(HeldPush(push(), readyAt: at(2)), now: at(30)) == .send(opensAt: at(60)))
    }
}

@Suite("A held push that a trigger made")
struct TriggeredPushTests {
    @Test("keeps its place against newer pushes of its subscription", arguments: [start, at(30), at(31)])
    func staysHeld(now: WallInstant) {
        let held = HeldPush(push(isTriggered: true), readyAt: start)
        let window = ThrottleWindow(opensAt: at(30))
        #expect(window.decide(push(), held: held, now: now) == .drop)
        #expect(window.decide(push(isTriggered: true), held: held, now: now) == .drop)
    }
}

@Suite("The quiet hours of a device")
struct QuietThrottleWindowTests {
    private let quiet = ThrottleWindow(opensAt: nil, quietUntil: at(3_600))
    private let held = HeldPush(push(isTriggered: true), readyAt: start)

    @Test("hold pushes until they end, and drop those that ask for it")
    func shut() {
        #expect(quiet.decide(held.push, held: nil, now: start) == .hold(held, until: at(3_600)))
        #expect(quiet.release(held, now: at(5)) == .hold(held, until: at(3_600)))
        #expect(quiet.decide(push(.drop), held: nil, now: start) == .drop)
    }

    @Test("count as they are now, not as they were when the push was held")
    func changed() {
        #expect(ThrottleWindow(opensAt: nil).release(held, now: at(5)) == .send(opensAt: at(35)))
    }

    @Test("do not open a window that is shut for longer")
    func pause() {
        let window = ThrottleWindow(opensAt: at(4_000), quietUntil: at(3_600))
        #expect(window.release(held, now: at(5)) == .hold(held, until: at(4_000)))
    }
}

@Suite("A device under many updates")
struct ThrottledDeviceTests {
    /// Subscriptions of one device with random updates, and a releaser that looks every tenth of a second.
    @Test("gets no two pushes within a pause, and at last the newest update of each subscription")
    func simulated() {
        var random = SeededGenerator(seed: 30)
        var opensAt: WallInstant?
        var held: [HeldPush?] = [nil, nil, nil]
        var (newest, sent) = ([0, 0, 0], [0, 0, 0])
        var pushes: [(at: WallInstant, pause: Duration)] = []
        func perform(_ decision: PushDecision, _ push: ItemPush, of subscription: Int, now: WallInstant) {
            switch decision {
            case .send(opensAt: let opening):
                pushes.append((now, push.pause))
                (opensAt, held[subscription], sent[subscription]) = (opening, nil, newest[subscription])
            case .hold(let waiting, until: _), .replace(let waiting, until: _): held[subscription] = waiting
            case .drop: Issue.record("nothing is dropped")
            }
        }
        for tenth in 0..<2_400 {
            let now = at(Double(tenth) / 10)
            for subscription in 0..<3 where tenth < 1_200 && Int.random(in: 0..<2, using: &random) == 0 {
                newest[subscription] = tenth
                let new = push(pause: subscription * 5)
                let decision = ThrottleWindow(opensAt: opensAt).decide(new, held: held[subscription], now: now)
                perform(decision, new, of: subscription, now: now)
            }
            for subscription in 0..<3 {
                guard let waiting = held[subscription] else { continue }
                let decision = ThrottleWindow(opensAt: opensAt).release(waiting, now: now)
                perform(decision, waiting.push, of: subscription, now: now)
            }
        }
        #expect(sent == newest)
        #expect(pushes.count > 15)
        for (before, after) in zip(pushes, pushes.dropFirst()) { #expect(after.at - before.at >= before.pause) }
    }

    @Test("gets one push in 30 seconds if a subscription has 50 updates a second")
    func busy() {
        var opensAt: WallInstant?
        var held: HeldPush?
        var seconds: [Double] = []
        for update in 0..<6_000 {
            let second = Double(update) / 50
            switch ThrottleWindow(opensAt: opensAt).decide(push(), held: held, now: at(second)) {
            case .send(opensAt: let opening):
                seconds.append(second)
                (opensAt, held) = (opening, nil)
            case .hold(let waiting, until: _), .replace(let waiting, until: _): held = waiting
            case .drop: Issue.record("nothing is dropped")
            }
        }
        #expect(seconds == [1, 31, 61, 91])
    }
}
