import Basis
import Model
import QueueRules
import Testing

@Suite("A push that has to wait")
struct ParcelRunWaitingTests {
    private func remainder(
        after outcome: Outcome, _ parcel: LeasedParcel = ParcelRunSamples.parcel([.present]), later: Duration = .zero
    ) -> Remainder? {
        var run = ParcelRunSamples.run(parcel)
        run.record(outcome, for: 0, now: ParcelRunSamples.start + later)
        return run.settlement()?.remainders.first
    }

    private func terminalStatus(
        after outcome: Outcome, _ parcel: LeasedParcel, policy: RetryPolicy = RetryPolicy(), isRepeatable: Bool = true
    ) -> TerminalStatus? {
        var run = ParcelRunSamples.run(parcel, policy: policy, isRepeatable: isRepeatable)
        run.record(outcome, for: 0)
        return run.settlement()?.terminalCounts.first?.terminalStatus
    }

    @Test("waits for as long as the provider asks, which costs none of its retry budget")
    func retryAfter() throws {
        let asked = remainder(after: .deferred(after: .seconds(50), .providerBusy), later: .seconds(4))
        let remaining = try #require(asked)
        #expect(remaining.dueAfter >= .seconds(50) && remaining.dueAfter <= .seconds(63))
        #expect(remaining.attempt == 1)
        #expect(remaining.retrySpent == .zero)
        #expect(!remaining.answerLost)
    }

    @Test("waits as asked although the pause is longer than its whole retry budget", arguments: [Int16(0), 5])
    func longRetryAfter(attempt: Int16) throws {
        let parcel = ParcelRunSamples.parcel([.present], attempt: attempt, retrySpent: .seconds(7_100))
        let asked = remainder(after: .deferred(after: .seconds(7_200), .laneThrottled), parcel, later: .seconds(30))
        let remaining = try #require(asked)
        #expect(remaining.dueAfter >= .seconds(7_200) && remaining.dueAfter <= .seconds(7_200 + 225))
        #expect(remaining.attempt == attempt + 1 && remaining.retrySpent == .seconds(7_100))
    }

    @Test("spends from its retry budget what it waits longer than the provider asks")
    func doubledRetryAfter() throws {
        let parcel = ParcelRunSamples.parcel([.present], attempt: 2, retrySpent: .seconds(100))
        let asked = remainder(after: .deferred(after: .seconds(50), .providerBusy), parcel, later: .seconds(4))
        let remaining = try #require(asked)
        #expect(remaining.dueAfter >= .seconds(200))
        #expect(remaining.retrySpent == .seconds(100) + remaining.dueAfter - .seconds(50) + .seconds(4))
    }

    @Test(
        "backs off from the provider's Retry-After, twice as long with each attempt",
        arguments: [DeferralReason.providerBusy, .providerUnavailable, .deviceThrottled, .laneThrottled])
    func backsOff(reason: DeferralReason) {
        for (attempt, seconds) in [(Int16(0), Int64(10)), (1, 20), (3, 80), (9, 900)] {
            let parcel = ParcelRunSamples.parcel([.present], attempt: attempt)
            let wait = remainder(after: .deferred(after: .seconds(10), reason), parcel)?.dueAfter ?? .zero
            #expect(wait >= .seconds(seconds) && wait <= .seconds(seconds * 5 / 4 + 1))
        }
    }

    @Test(
        "spends no retry budget while its lane is blocked or its credential is refused",
        arguments: [DeferralReason.laneBlocked, .credentialRefused])
    func waitsForUs(reason: DeferralReason) {
        let parcel = ParcelRunSamples.parcel([.present], attempt: 3, retrySpent: .seconds(7_000))
        let remainder = remainder(after: .deferred(after: .seconds(3_600), reason), parcel, later: .seconds(30))
        #expect(remainder?.dueAfter == .seconds(3_600))
        #expect(remainder?.attempt == 3)
        #expect(remainder?.retrySpent == .seconds(7_000))
    }

    @Test("waits a second or more after an expired provider token, longer with each attempt")
    func providerToken() throws {
        let first = try #require(remainder(after: .deferred(after: nil, .providerTokenExpired)))
        #expect(first.dueAfter >= .seconds(1) && first.dueAfter <= .seconds(2))
        #expect(first.retrySpent == .zero)
        let seventh = ParcelRunSamples.parcel([.present], attempt: 6)
        let later = remainder(after: .deferred(after: nil, .providerTokenExpired), seventh)
        #expect(later?.dueAfter ?? .zero >= .seconds(64), "the wait grows while a new token does not help")
    }

    @Test("waits fifteen seconds after its credential is refused")
    func credential() {
        #expect(remainder(after: .deferred(after: nil, .credentialRefused))?.dueAfter == .seconds(15))
    }

    @Test("returns to the queue at once if it is withdrawn")
    func atOnce() {
        let withdrawn = remainder(after: .unsent(.withdrawn))
        #expect(withdrawn?.dueAfter == .zero)
        #expect(withdrawn?.attempt == 0)
    }

    @Test("counts an attempt that the transport could not finish, without marking it as shown")
    func unsent() {
        let remainder = remainder(after: .unsent(.refusedStream))
        #expect(remainder?.attempt == 1)
        #expect(remainder?.answerLost == false)
        #expect(remainder?.dueAfter ?? .zero >= .seconds(1))
    }

    @Test("retries after a lost answer, and remembers that it may have been shown")
    func lostAnswer() {
        let remainder = remainder(after: .unknown(.deadlinePassed))
        #expect(remainder?.answerLost == true)
        #expect(remainder?.attempt == 1)
    }

    @Test("remembers a lost answer through unrelated waits")
    func staysLost() {
        let parcel = ParcelRunSamples.parcel([.present], lapses: 1)
        let remainder = remainder(after: .deferred(after: nil, .laneBlocked), parcel)
        #expect(remainder?.answerLost == true)
        #expect(remainder?.lapses == 0)
    }

    @Test("ends as expired if its expiry comes before the end of its wait")
    func expiresMeanwhile() {
        let parcel = ParcelRunSamples.parcel([.present], expiresAfter: .seconds(30))
        #expect(
            terminalStatus(after: .deferred(after: .seconds(30), .providerBusy), parcel)
                == TerminalStatus(.expired, TerminalReason.expired))
    }

    @Test("gives up when its retry budget is spent, and names the reason")
    func givesUp() {
        let policy = RetryPolicy(budget: .seconds(60))
        let parcel = ParcelRunSamples.parcel([.present], retrySpent: .seconds(60))
        #expect(
            terminalStatus(after: .deferred(after: nil, .providerBusy), parcel, policy: policy)
                == TerminalStatus(.gaveUp, TerminalReason.retriesExhausted))
        #expect(
            terminalStatus(after: .unknown(.connectionLost), parcel, policy: policy)
                == TerminalStatus(.gaveUp, TerminalReason.answerLost))
    }

    @Test("expires if the provider asks for an endless wait")
    func absurdRetryAfter() {
        let parcel = ParcelRunSamples.parcel([.present])
        let forever = Outcome.deferred(after: .seconds(Int64.max), .laneThrottled)
        #expect(terminalStatus(after: forever, parcel) == TerminalStatus(.expired, TerminalReason.expired))
    }

    @Test("gathers with other pushes that wait for the same, ordered by id")
    func gathers() {
        var run = ParcelRunSamples.run()
        for position in [2, 0, 1] { run.record(.unsent(.withdrawn), for: position) }
        let remainders = run.settlement()?.remainders
        #expect(remainders?.count == 1)
        #expect(remainders?.first?.members == [RegistrationID(101), RegistrationID(102), RegistrationID(103)])
    }

    @Test("gives up after a lost answer if a repeat would be shown twice")
    func notRepeatable() {
        let parcel = ParcelRunSamples.parcel([.present])
        #expect(
            terminalStatus(after: .unknown(.connectionLost), parcel, isRepeatable: false)
                == TerminalStatus(.gaveUp, TerminalReason.answerLost))
        var later = ParcelRunSamples.run(ParcelRunSamples.parcel([.present], lapses: 1), isRepeatable: false)
        #expect(later.takeMembersToSend().isEmpty)
        #expect(
            later.settlement()?.terminalCounts.first?.terminalStatus
                == TerminalStatus(.gaveUp, TerminalReason.answerLost))
    }

    @Test("retries after a deferral, even if a repeat would be shown twice")
    func refusedIsNoRepeat() {
        var run = ParcelRunSamples.run(ParcelRunSamples.parcel([.present]), isRepeatable: false)
        run.record(.deferred(after: nil, .providerBusy), for: 0)
        #expect(run.settlement()?.remainders.count == 1)
    }
}

@Suite("A parcel whose leases lapse")
struct ParcelRunPoisonTests {
    @Test("sends all its members after one lapse and after two")
    func twoLapses() {
        for lapses in Int16(1)...2 {
            var run = ParcelRunSamples.run(ParcelRunSamples.parcel(lapses: lapses))
            #expect(run.takeMembersToSend() == [0, 1, 2])
        }
    }

    @Test("splits in two after its third lapse, and each half goes on with two lapses")
    func bisected() {
        var run = ParcelRunSamples.run(
            ParcelRunSamples.parcel([.present, .present, .present, .present], lapses: PoisonRule.bisectedFrom))
        #expect(run.takeMembersToSend().isEmpty)
        let remainders = run.settlement()?.remainders ?? []
        #expect(remainders.map(\.members.count) == [2, 2])
        #expect(remainders.allSatisfy { $0.lapses == PoisonRule.bisectedFrom - 1 && $0.answerLost })
    }

    @Test("sends its only push again until its tenth lapse")
    func triedOn() {
        for lapses in Int16(1)...9 {
            var run = ParcelRunSamples.run(ParcelRunSamples.parcel([.present], lapses: lapses))
            #expect(run.takeMembersToSend() == [0], "after \(lapses) lapses")
            #expect(run.takeAlarms().isEmpty)
        }
    }

    @Test("gives up its only push from its tenth lapse on, with an alarm that names it", arguments: [Int16(10), 11])
    func poison(lapses: Int16) {
        var run = ParcelRunSamples.run(ParcelRunSamples.parcel([.present], lapses: lapses))
        #expect(run.takeMembersToSend().isEmpty)
        #expect(run.takeAlarms() == [.poison(RegistrationID(101))])
        #expect(
            run.settlement()?.terminalCounts == [
                TerminalCount(terminalStatus: TerminalStatus(.gaveUp, TerminalReason.poison), count: 1)
            ])
    }

    @Test("blames no push whose companions are gone or moved, and tries each alone once more")
    func companyLeft() {
        for other in [MemberStatus.deleted, .retired, .moved(to: RouteID(9))] {
            var run = ParcelRunSamples.run(ParcelRunSamples.parcel([.present, other], lapses: PoisonRule.bisectedFrom))
            #expect(run.takeAlarms().isEmpty)
            let settlement = run.settlement()
            #expect(settlement?.terminalCounts.contains { $0.terminalStatus.reason == TerminalReason.poison } == false)
            let lapses = settlement?.remainders.map(\.lapses) ?? []
            #expect(!lapses.isEmpty && lapses.allSatisfy { $0 == PoisonRule.bisectedFrom - 1 })
        }
    }

    @Test("keeps its lapses if its only push moves to another route")
    func movedAlone() {
        for lapses in [PoisonRule.bisectedFrom, PoisonRule.givenUpFrom] {
            var run = ParcelRunSamples.run(ParcelRunSamples.parcel([.moved(to: RouteID(9))], lapses: lapses))
            #expect(run.settlement()?.remainders.map(\.lapses) == [lapses])
        }
    }

    @Test("pauses only while its only push is tried on, twice as long each time up to four minutes")
    func pauses() {
        let pauses = (Int16(0)...11).map { PoisonRule.pause(1, afterLapses: $0) }
        #expect(pauses == [0, 0, 0, 15, 30, 60, 120, 240, 240, 240, 0, 0].map { .seconds($0) })
        #expect((Int16(0)...11).allSatisfy { PoisonRule.pause(2, afterLapses: $0) == .zero })
    }
}
