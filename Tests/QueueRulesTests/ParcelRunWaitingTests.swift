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

    @Test("waits for as long as the provider asks, and spends that of its budget")
    func retryAfter() throws {
        let asked = remainder(after: .deferred(after: .seconds(50), .providerBusy), later: .seconds(4))
        let remaining = try #require(asked)
        #expect(remaining.dueAfter >= .seconds(50) && remaining.dueAfter <= .seconds(63))
        #expect(remaining.attempt == 1)
        #expect(remaining.retrySpent == remaining.dueAfter + .seconds(4))
        #expect(!remaining.answerLost)
    }

    @Test(
        "backs off from what the provider asks for, twice as far with each attempt",
        arguments: [DeferralReason.providerBusy, .providerUnavailable, .deviceThrottled, .laneThrottled])
    func backsOff(reason: DeferralReason) {
        for (attempt, seconds) in [(Int16(0), Int64(10)), (1, 20), (3, 80), (9, 900)] {
            let parcel = ParcelRunSamples.parcel([.present], attempt: attempt)
            let wait = remainder(after: .deferred(after: .seconds(10), reason), parcel)?.dueAfter ?? .zero
            #expect(wait >= .seconds(seconds) && wait <= .seconds(seconds * 5 / 4 + 1))
        }
    }

    @Test(
        "spends nothing while it waits for us: a blocked lane, no credential",
        arguments: [DeferralReason.laneBlocked, .credentialRefused])
    func waitsForUs(reason: DeferralReason) {
        let parcel = ParcelRunSamples.parcel([.present], attempt: 3, retrySpent: .seconds(7_000))
        let remainder = remainder(after: .deferred(after: .seconds(3_600), reason), parcel, later: .seconds(30))
        #expect(remainder?.dueAfter == .seconds(3_600))
        #expect(remainder?.attempt == 3)
        #expect(remainder?.retrySpent == .seconds(7_000))
    }

    @Test("lets a second pass where the provider token was too old, so that a wrong clock makes no storm")
    func providerToken() throws {
        let first = try #require(remainder(after: .deferred(after: nil, .providerTokenExpired)))
        #expect(first.dueAfter >= .seconds(1) && first.dueAfter <= .seconds(2))
        #expect(first.retrySpent == .zero)
        let seventh = ParcelRunSamples.parcel([.present], attempt: 6)
        let later = remainder(after: .deferred(after: nil, .providerTokenExpired), seventh)
        #expect(later?.dueAfter ?? .zero >= .seconds(64), "nor does a mending that does not help")
    }

    @Test("lets a person's time pass where the credential is refused")
    func credential() {
        #expect(remainder(after: .deferred(after: nil, .credentialRefused))?.dueAfter == .seconds(15))
    }

    @Test("goes again at once where it was taken back")
    func atOnce() {
        let withdrawn = remainder(after: .unsent(.withdrawn))
        #expect(withdrawn?.dueAfter == .zero)
        #expect(withdrawn?.attempt == 0)
    }

    @Test("counts an attempt that the transport could not finish, without calling it shown")
    func unsent() {
        let remainder = remainder(after: .unsent(.refusedStream))
        #expect(remainder?.attempt == 1)
        #expect(remainder?.answerLost == false)
        #expect(remainder?.dueAfter ?? .zero >= .seconds(1))
    }

    @Test("goes again after a lost answer, and remembers that it may have been shown")
    func lostAnswer() {
        let remainder = remainder(after: .unknown(.deadlinePassed))
        #expect(remainder?.answerLost == true)
        #expect(remainder?.attempt == 1)
    }

    @Test("remembers it through waits that have nothing to do with it")
    func staysLost() {
        let parcel = ParcelRunSamples.parcel([.present], lapses: 1)
        let remainder = remainder(after: .deferred(after: nil, .laneBlocked), parcel)
        #expect(remainder?.answerLost == true)
        #expect(remainder?.lapses == 0)
    }

    @Test("ends as expired where its time is up before its wait")
    func expiresMeanwhile() {
        let parcel = ParcelRunSamples.parcel([.present], expiresAfter: .seconds(30))
        #expect(
            terminalStatus(after: .deferred(after: .seconds(30), .providerBusy), parcel)
                == TerminalStatus(.expired, TerminalReason.expired))
    }

    @Test("gives up when its budget is spent, and says which way")
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

    @Test("survives a provider that asks for the end of time")
    func absurdRetryAfter() {
        let parcel = ParcelRunSamples.parcel([.present])
        let forever = Outcome.deferred(after: .seconds(Int64.max), .laneThrottled)
        #expect(terminalStatus(after: forever, parcel) == TerminalStatus(.expired, TerminalReason.expired))
    }

    @Test("gathers with others that wait for the same, in the order of their ids")
    func gathers() {
        var run = ParcelRunSamples.run()
        for position in [2, 0, 1] { run.record(.unsent(.withdrawn), for: position) }
        let remainders = run.settlement()?.remainders
        #expect(remainders?.count == 1)
        #expect(remainders?.first?.members == [RegistrationID(101), RegistrationID(102), RegistrationID(103)])
    }

    @Test("is never repeated after a lost answer where a repeat would be seen twice")
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

    @Test("may go again where the provider said no for now, even if a repeat would be seen")
    func refusedIsNoRepeat() {
        var run = ParcelRunSamples.run(ParcelRunSamples.parcel([.present]), isRepeatable: false)
        run.record(.deferred(after: nil, .providerBusy), for: 0)
        #expect(run.settlement()?.remainders.count == 1)
    }
}

@Suite("A parcel that three owners did not survive")
struct ParcelRunPoisonTests {
    @Test("is sent as ever after one lapse, and after two")
    func twoLapses() {
        for lapses in Int16(1)...2 {
            var run = ParcelRunSamples.run(ParcelRunSamples.parcel(lapses: lapses))
            #expect(run.takeMembersToSend() == [0, 1, 2])
        }
    }

    @Test("is cut in two, each half one lapse from being cut again")
    func bisected() {
        var run = ParcelRunSamples.run(
            ParcelRunSamples.parcel([.present, .present, .present, .present], lapses: PoisonRule.lapsesMax))
        #expect(run.takeMembersToSend().isEmpty)
        let remainders = run.settlement()?.remainders ?? []
        #expect(remainders.map(\.members.count) == [2, 2])
        #expect(remainders.allSatisfy { $0.lapses == PoisonRule.lapsesMax - 1 && $0.answerLost })
    }

    @Test("gives up the one push that is left, with an alarm that names it")
    func poison() {
        var run = ParcelRunSamples.run(ParcelRunSamples.parcel([.present], lapses: PoisonRule.lapsesMax))
        #expect(run.takeAlarms() == [.poison(RegistrationID(101))])
        #expect(
            run.settlement()?.terminalCounts == [
                TerminalCount(terminalStatus: TerminalStatus(.gaveUp, TerminalReason.poison), count: 1)
            ])
    }

    @Test("calls nobody a culprit whose company has gone or moved: each is tried alone once more")
    func companyLeft() {
        for other in [MemberStatus.deleted, .retired, .moved(to: RouteID(9))] {
            var run = ParcelRunSamples.run(ParcelRunSamples.parcel([.present, other], lapses: PoisonRule.lapsesMax))
            #expect(run.takeAlarms().isEmpty)
            let settlement = run.settlement()
            #expect(settlement?.terminalCounts.contains { $0.terminalStatus.reason == TerminalReason.poison } == false)
            let lapses = settlement?.remainders.map(\.lapses) ?? []
            #expect(!lapses.isEmpty && lapses.allSatisfy { $0 == PoisonRule.lapsesMax - 1 })
        }
    }

    @Test("is given up as poison wherever its one push has moved to")
    func movedAlone() {
        var run = ParcelRunSamples.run(
            ParcelRunSamples.parcel([.moved(to: RouteID(9))], lapses: PoisonRule.lapsesMax))
        #expect(run.settlement()?.remainders.map(\.lapses) == [PoisonRule.lapsesMax])
    }
}
