import Basis
import Model
import Testing
import WakeUpRules

/// A subscription to a watch whose last write has the number 5.
private func subscription(
    _ id: Int64, _ mode: WakeUpMode = .noData, provider: Provider = .fcm, isExpired: Bool = false,
    isRetired: Bool = false, sentSeq: Int64 = 4, message: UInt64? = nil
) -> SubscriptionStatus {
    SubscriptionStatus(
        id: id, registration: id, route: 1, mode: mode, provider: provider, isExpired: isExpired, isRetired: isRetired,
        sentSeq: sentSeq, message: message.map { UniversalID(high: 0, low: $0) })
}

private func begin(reading read: [SubscriptionStatus], isEnabled: Bool = true, after: Int64 = 0) -> WatchSlice {
    WatchSlice(
        WatchClaim(tries: 0, roundSeq: nil, after: after),
        WatchStatus(
            seq: 5, moves: 0, isEnabled: isEnabled, isTooHeavy: false, gather: .seconds(3), readsValue: true,
            readsChildren: true),
        reading: read, limit: 100)
}

private func all(_ subscriptions: [SubscriptionStatus]) -> CandidateAccess {
    CandidateAccess(subscriptions, mayRead: subscriptions.map { _ in true })
}

@Suite("The decision of a fan-out for a watch")
struct WatchDecisionTests {
    @Test("concerns the subscriptions that miss a change, and that a push can reach")
    func candidates() {
        let behind = subscription(1)
        let read = [
            behind, subscription(2, sentSeq: 5), subscription(3, isExpired: true), subscription(4, isRetired: true),
        ]
        #expect(begin(reading: read).candidates == [behind])
        #expect(begin(reading: read, isEnabled: false).candidates.isEmpty)
    }

    @Test("leaves out a subscription whose last push has not ended, and keeps the watch due")
    func unsettled() {
        let both = [subscription(1, message: 7), subscription(2, message: 7)]
        var unsettled = PushSet()
        unsettled.add(UniversalID(high: 0, low: 7), [2])
        var slice = begin(reading: both)
        let decision = slice.decide(all(both), unsettled: unsettled, lost: PushSet())
        #expect(decision.wakeUps.map(\.members) == [[both[0]]])
        #expect(decision.revoked.isEmpty && decision.notices.isEmpty)
        #expect(!slice.end.reportedToAll)
    }

    @Test("ends denied subscriptions with a notice for each provider, and keeps the watch due")
    func denied() {
        let three = [
            subscription(1, provider: .fcm), subscription(2, provider: .apns), subscription(3, provider: .fcm),
        ]
        var slice = begin(reading: three)
        let access = CandidateAccess(three, mayRead: [false, false, false])
        let decision = slice.decide(access, unsettled: PushSet(), lost: PushSet())
        #expect(decision.wakeUps.isEmpty && decision.revoked == three)
        #expect(decision.notices.map(\.provider) == [.apns, .fcm])
        #expect(decision.notices.map(\.members) == [[three[1]], [three[0], three[2]]])
        #expect(!slice.end.reportedToAll)
    }

    @Test("reports unknown changes to a subscription whose last push about children was discarded")
    func lost() {
        let three = [
            subscription(1, .childEvent, message: 7), subscription(2, .childEvent, message: 8),
            subscription(3, .value, message: 8),
        ]
        var lost = PushSet()
        lost.addAll(of: UniversalID(high: 0, low: 8))
        var slice = begin(reading: three)
        let decision = slice.decide(all(three), unsettled: PushSet(), lost: lost)
        let numbers = decision.wakeUps.map { "\($0.group.mode.name) \($0.group.sentSeq) \($0.members.map(\.id))" }
        #expect(numbers.sorted() == ["childEvent -1 [2]", "childEvent 4 [1]", "value 0 [3]"])
    }

    @Test("notes progress with the message, and ends the round once nobody was left out")
    func progress() {
        let two = [subscription(1, sentSeq: 2), subscription(2, sentSeq: 4)]
        let message = UniversalID(high: 1, low: 1)
        var slice = begin(reading: two)
        let decision = slice.decide(all(two), unsettled: PushSet(), lost: PushSet())
        let progress = slice.progress(of: decision.wakeUps.flatMap(\.members), message: message)
        #expect(progress.map(\.subscription) == [1, 2] && progress.map(\.was) == [2, 4])
        #expect(progress.allSatisfy { $0.seq == 5 && $0.message == message })
        #expect(slice.end.reportedToAll && slice.end.wakesSome)
        #expect(progress.common == nil, "the two had not come equally far")
        #expect(Array(progress.prefix(1)).common == progress[0])
    }

    @Test("notes progress without waking anybody if there is nothing to report")
    func nothingToReport() {
        var slice = begin(reading: [subscription(1)])
        let candidates = slice.candidates
        #expect(slice.progress(of: candidates, message: nil).allSatisfy { $0.message == nil })
        #expect(!slice.end.wakesSome && slice.end.reportedToAll)
    }

    @Test("finds a watch without subscribers only at the beginning of a round")
    func nobody() {
        #expect(begin(reading: []).hasNoSubscription)
        #expect(!begin(reading: [], after: 9).hasNoSubscription)
        #expect(!begin(reading: [subscription(1, isExpired: true)]).hasNoSubscription)
    }
}

@Suite("Groups of subscriptions to changes of children")
struct WakeUpGroupTests {
    private static func lastReported(
        _ subscriptions: [SubscriptionStatus], isLost: (SubscriptionStatus) -> Bool = { _ in false }
    ) -> [Int64] {
        WakeUpGroup.groups(of: subscriptions, isLost: isLost).map(\.group.sentSeq)
    }

    @Test("get their own changes if they are the eight notified last, whatever their provider")
    func latest() {
        let early = (Int64(1)...8).map { subscription($0, .childEvent, provider: .apns, sentSeq: $0) }
        let late = subscription(9, .childEvent, provider: .fcm, sentSeq: 9)
        let expected: [Int64] = [8, 7, 6, 5, 4, 3, 2, WakeUpGroup.unknown, 9]
        #expect(Self.lastReported(early + [late]) == expected, "by provider, and the last ones first")
    }

    @Test("leave their place among the eight to another group if their last push was discarded")
    func discarded() {
        let nine = (Int64(1)...9).map { subscription($0, .childEvent, sentSeq: $0) }
        let expected: [Int64] = [8, 7, 6, 5, 4, 3, 2, 1, WakeUpGroup.unknown]
        #expect(Self.lastReported(nine) { $0.id == 9 } == expected)
    }
}

@Suite("The read access of a fan-out's candidates")
struct CandidateAccessTests {
    private static let three = [subscription(1), subscription(2), subscription(3)]

    @Test("needs no second check if all may read, or if the rules name no user")
    func oneCheck() {
        let some = CandidateAccess(Self.three, mayRead: [true, false, true])
        #expect(some.needsSecondCheck(rulesNameUsers: true))
        #expect(!some.needsSecondCheck(rulesNameUsers: false))
        #expect(!all(Self.three).needsSecondCheck(rulesNameUsers: true))
        #expect(some.allowed == [Self.three[0], Self.three[2]] && some.denied == [Self.three[1]])
    }

    @Test("lets a second check allow what the first denied, in the order of the candidates")
    func secondCheck() {
        var access = CandidateAccess(Self.three, mayRead: [false, true, false])
        access.noteLocked([3, 1])
        access.noteSecondCheck([true, false])
        #expect(access.allowed == [Self.three[0], Self.three[1]])
        #expect(access.denied == [Self.three[2]])
    }

    @Test("neither allows nor denies a subscription that was removed before it was locked")
    func gone() {
        var access = CandidateAccess(Self.three, mayRead: [false, true, false])
        access.noteLocked([3])
        #expect(access.denied == [Self.three[2]])
        access.noteSecondCheck([false])
        #expect(access.allowed == [Self.three[1]] && access.denied == [Self.three[2]])
    }
}

@Suite("The last messages of subscriptions")
struct LastMessagesTests {
    @Test("stand once each, by rising id, and those about children on their own")
    func messages() {
        let read = [
            subscription(1, message: 9), subscription(2), subscription(3, .childEvent, message: 7),
            subscription(4, message: 9),
        ]
        #expect(read.lastMessages.map(\.low) == [7, 9])
        #expect(read.lastMessagesAboutChildren.map(\.low) == [7])
    }

    @Test("belong to a set of pushes by their message and their registration")
    func pushes() {
        var pushes = PushSet()
        pushes.add(UniversalID(high: 0, low: 7), [1])
        #expect(pushes.includesLastPush(of: subscription(1, message: 7)))
        #expect(!pushes.includesLastPush(of: subscription(2, message: 7)))
        #expect(!pushes.includesLastPush(of: subscription(1, message: 8)))
        #expect(!pushes.includesLastPush(of: subscription(1)))
        pushes.addAll(of: UniversalID(high: 0, low: 8))
        #expect(pushes.includesLastPush(of: subscription(2, message: 8)))
    }
}

@Suite("The watches of one fan-out")
struct FanOutDivisionTests {
    @Test("share a transaction unless they may have more subscriptions than it reads")
    func sharing() {
        let division = FanOutDivision(counts: [3, 64, 0], sharedMax: 64)
        #expect(division == .shared(isTaken: [true, false, true]))
        #expect((0..<3).map(division.takes) == [true, false, true])
    }

    @Test("leave the transaction to the first one if it has many subscriptions, or is the only one")
    func alone() {
        #expect(FanOutDivision(counts: [64, 1], sharedMax: 64) == .firstAlone)
        #expect(FanOutDivision(counts: [1], sharedMax: 64) == .firstAlone)
        #expect((0..<2).map(FanOutDivision.firstAlone.takes) == [true, false])
    }
}
