import Basis
import Testing
import TriggerRules

private let start = WallInstant(secondsSince1970: 1_796_000_000)

private func at(_ seconds: Int) -> WallInstant { start + .seconds(seconds) }

/// A follower of item 1 on phone 7 that has missed an update.
private func follower(
    _ subscription: Int64, item: Int64 = 1, missesUpdate: Bool = true, isSilent: Bool = false, heldItem: Int64? = nil,
    holdsTriggered: Bool = false, deviceDueAt: WallInstant? = nil, quietUntil: WallInstant? = nil, pause: Int = 30,
    _ whenPaused: WhenPaused = .newest
) -> FollowerStatus {
    FollowerStatus(
        subscription: subscription, registration: 7, item: item, missesUpdate: missesUpdate, isExpired: false,
        isSilent: isSilent, heldItem: heldItem, holdsTriggered: holdsTriggered, deviceDueAt: deviceDueAt,
        quietUntil: quietUntil, push: ItemPush(isTriggered: false, pause: .seconds(pause), whenPaused: whenPaused))
}

/// The fates of followers in one round.
private func fates(
    _ followers: FollowerStatus..., opensAt: WallInstant = start, canSend: Bool = true
) -> [FollowerFate] {
    var round = FollowerRound(windows: [7: opensAt], now: start)
    return followers.map { follower in round.decide(follower) { canSend } }
}

@Suite("A round of followers")
struct FollowerRoundTests {
    @Test("lets one push of a device go, and holds or drops those behind it")
    func window() {
        #expect(
            fates(follower(1), follower(2), follower(3, .drop))
                == [.sent(opensAt: at(30)), .held(until: at(30)), .notified])
        #expect(fates(follower(1, pause: 0), follower(2)) == [.sent(opensAt: start), .sent(opensAt: at(30))])
    }

    @Test("makes one push of a subscription whose items were updated together")
    func items() {
        #expect(fates(follower(1, pause: 0), follower(1, item: 2)) == [.sent(opensAt: start), .notified])
    }

    @Test("leaves a push that is held for the item, and gives one of another item this item's place")
    func held() {
        #expect(fates(follower(1, heldItem: 1)) == [.notified])
        #expect(fates(follower(1, heldItem: 2)) == [.held(until: start)])
        #expect(fates(follower(1, heldItem: 2, holdsTriggered: true)) == [.notified])
    }

    @Test("lets the pushes go first that the device holds, unless they wait longer than the window")
    func others() {
        #expect(
            fates(follower(1, deviceDueAt: start), follower(2, pause: 0))
                == [.held(until: start), .held(until: start)])
        #expect(fates(follower(1, deviceDueAt: start, .drop)) == [.notified])
        #expect(fates(follower(1, deviceDueAt: at(1))) == [.sent(opensAt: at(30))])
        #expect(fates(follower(1, deviceDueAt: at(2)), opensAt: at(5)) == [.held(until: at(5))])
    }

    @Test("waits for the end of quiet hours")
    func quiet() {
        #expect(fates(follower(1, quietUntil: at(90))) == [.held(until: at(90))])
        #expect(fates(follower(1, quietUntil: at(90), .drop)) == [.notified])
    }

    @Test("notes what a silent device or a message that can't be made has missed")
    func missed() {
        #expect(fates(follower(1, isSilent: true)) == [.notified])
        #expect(fates(follower(1), canSend: false) == [.notified])
        #expect(fates(follower(1, missesUpdate: false)) == [.passed])
    }
}
