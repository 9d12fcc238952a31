import Basis
import Model
import QueueRules
import Testing

@Suite("A message that is stopped while its parcels are leased")
struct DispatcherStopTests {
    private static let message = ParcelRunSamples.parcel().message

    private func bench(stopping stop: MessageStop) -> (bench: DispatcherBench, actions: [DispatchAction]) {
        var bench = DispatcherBench()
        bench.lease()
        #expect(bench.dispatcher.runningMessages == [Self.message])
        let actions = bench.report(.stopped([StoppedMessage(message: Self.message, stop: stop)]))
        return (bench, actions)
    }

    private func come(back outcomes: [Outcome]) -> DispatchEvent {
        let others = outcomes.enumerated().map { PositionedOutcome(position: Int32($0.offset), outcome: $0.element) }
        return .answered([AnsweredLease(DispatcherBench.name, accepted: [], others: others)])
    }

    @Test("withdraws its pushes without a stream, once", arguments: [MessageStop.paused, .cancelled])
    func withdrawn(stop: MessageStop) {
        var (bench, actions) = bench(stopping: stop)
        #expect(actions.withdrawn == [DispatcherBench.name])
        #expect(bench.report(.stopped([StoppedMessage(message: Self.message, stop: stop)])).withdrawn.isEmpty)
    }

    @Test("leaves the pushes of other messages alone")
    func others() {
        var bench = DispatcherBench()
        bench.lease()
        let stranger = MessageID(UniversalID(high: 9, low: 9))
        #expect(bench.report(.stopped([StoppedMessage(message: stranger, stop: .cancelled)])).withdrawn.isEmpty)
    }

    @Test("returns unsent pushes when it is paused, while deferred pushes keep their wait")
    func paused() throws {
        var (bench, _) = bench(stopping: .paused)
        let outcomes: [Outcome] = [.accepted, .unsent(.withdrawn), .deferred(after: .seconds(5), .providerBusy)]
        let settles = bench.report(come(back: outcomes)).settles
        let settlement = try #require(settles.first?.pending.settlement)
        #expect(settlement.terminalCounts == [TerminalCount(terminalStatus: TerminalStatus(.accepted), count: 1)])
        #expect(settlement.remainders.map(\.cause) == [.handedBack, .providerBusy])
        #expect(settlement.remainders.map(\.attempt) == [0, 1])
    }

    @Test("ends unsent and deferred pushes as cancelled, while a lost answer stays a lost answer")
    func cancelled() throws {
        var (bench, _) = bench(stopping: .cancelled)
        let outcomes: [Outcome] = [
            .unsent(.withdrawn), .deferred(after: .seconds(5), .providerBusy), .unknown(.connectionLost),
        ]
        let settles = bench.report(come(back: outcomes)).settles
        let settlement = try #require(settles.first?.pending.settlement)
        #expect(settlement.remainders.isEmpty && settlement.pendingAfter == 0)
        #expect(
            settlement.terminalCounts == [
                TerminalCount(terminalStatus: TerminalStatus(.cancelled, TerminalReason.cancelled), count: 2),
                TerminalCount(terminalStatus: TerminalStatus(.gaveUp, TerminalReason.answerLost), count: 1),
            ])
        #expect(settlement.history.map(\.attempts).sorted() == [0, 1, 1])
    }

    @Test("cancels the pushes that come back if it is paused first and cancelled later")
    func pausedThenCancelled() throws {
        var (bench, _) = bench(stopping: .paused)
        let actions = bench.report(.stopped([StoppedMessage(message: Self.message, stop: .cancelled)]))
        #expect(actions.withdrawn.isEmpty)
        let back = [Outcome](repeating: .unsent(.withdrawn), count: 3)
        let settlement = try #require(bench.report(come(back: back)).settles.first?.pending.settlement)
        #expect(
            settlement.terminalCounts == [
                TerminalCount(terminalStatus: TerminalStatus(.cancelled, TerminalReason.cancelled), count: 3)
            ])
    }
}

@Suite("A parcel that will not be sent any more")
struct UnsentParcelTests {
    private func parcel(mayHaveBeenShown: Bool) -> UnsentParcel {
        UnsentParcel(
            id: ParcelID(4), message: MessageID(UniversalID(high: 1, low: 2)), route: RouteID(1), epoch: 3, settles: 1,
            attempt: 2, mayHaveBeenShown: mayHaveBeenShown, members: (1...10).map { RegistrationID($0) },
            settledBits: [0b0000_0111, 0b10])
    }

    @Test("ends only the members that are still open")
    func ends() {
        let settlement = parcel(mayHaveBeenShown: false).settlement(isCancelled: true)
        let terminalStatus = TerminalStatus(.cancelled, TerminalReason.cancelled)
        #expect(settlement.terminalCounts == [TerminalCount(terminalStatus: terminalStatus, count: 6)])
        #expect(settlement.settledBits == [0xff, 0b11] && settlement.pendingAfter == 0)
        #expect(
            settlement.history == [
                HistoryEntry(.ended(terminalStatus), attempts: 2, members: (4...9).map { RegistrationID($0) })
            ])
    }

    @Test("gives up only the members that an earlier lease could have sent to")
    func held() {
        let parcel = UnsentParcel(
            id: ParcelID(4), message: MessageID(UniversalID(high: 1, low: 2)), route: RouteID(1), epoch: 3, settles: 1,
            attempt: 2, mayHaveBeenShown: true, members: (1...10).map { RegistrationID($0) },
            settledBits: [0b0000_0111, 0b10],
            deferredBits: [0b0001_1001, 0b11])
        let settlement = parcel.settlement(isCancelled: true)
        let cancelled = TerminalStatus(.cancelled, TerminalReason.cancelled)
        let lost = TerminalStatus(.gaveUp, TerminalReason.answerLost)
        #expect(
            settlement.terminalCounts == [
                TerminalCount(terminalStatus: cancelled, count: 3), TerminalCount(terminalStatus: lost, count: 3),
            ])
        #expect(settlement.history.map { $0.members.map(\.value) } == [[4, 5, 9], [6, 7, 8]])
        #expect(settlement.settledBits == [0xff, 0b11] && settlement.pendingAfter == 0)
    }

    @Test("expires unless it is cancelled, and gives up if it may have been shown")
    func reasons() {
        #expect(
            parcel(mayHaveBeenShown: false).settlement(isCancelled: false).terminalCounts.map(\.terminalStatus)
                == [TerminalStatus(.expired, TerminalReason.expired)])
        for isCancelled in [true, false] {
            #expect(
                parcel(mayHaveBeenShown: true).settlement(isCancelled: isCancelled).terminalCounts.map(\.terminalStatus)
                    == [TerminalStatus(.gaveUp, TerminalReason.answerLost)])
        }
    }
}
