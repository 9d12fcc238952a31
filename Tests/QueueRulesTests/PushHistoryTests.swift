import Model
import QueueRules
import Testing

@Suite("The history that a settle writes")
struct PushHistoryTests {
    private func ids(_ numbers: Int64...) -> [RegistrationID] { numbers.map { RegistrationID(100 + $0) } }

    @Test("lists ended members in ascending order, each in one settle only")
    func rising() {
        var run = ParcelRunSamples.run(
            ParcelRunSamples.parcel([.present, .present, .present, .present, .deleted], attempt: 2))
        run.recordAccepted(3)
        run.record(ParcelRunSamples.rejection(.message, "BadTopic"), for: 2)
        run.recordAccepted(0)
        #expect(
            run.settlement()?.history == [
                HistoryEntry(.ended(TerminalStatus(.accepted)), attempts: 3, members: ids(1, 4)),
                HistoryEntry(.ended(TerminalStatus(.rejected, "BadTopic")), attempts: 3, members: ids(3)),
                // The deleted member was never tried.
                HistoryEntry(
                    .ended(TerminalStatus(.unregistered, TerminalReason.deviceDeleted)), attempts: 2, members: ids(5)),
            ])
        _ = run.concludeSettle(.settled)
        run.recordAccepted(1)
        #expect(
            run.settlement()?.history == [HistoryEntry(.ended(TerminalStatus(.accepted)), attempts: 3, members: ids(2))]
        )
    }

    @Test("separates members that were tried from members that were not, if both end alike")
    func attempts() {
        var run = ParcelRunSamples.run(
            ParcelRunSamples.parcel([.present, .present], expiresAfter: .seconds(1)))
        run.record(.deferred(after: nil, .providerBusy), for: 0)
        run.record(.unsent(.unreachable), for: 1)
        let settlement = run.settlement()
        #expect(
            settlement?.terminalCounts == [
                TerminalCount(terminalStatus: TerminalStatus(.expired, TerminalReason.expired), count: 2)
            ])
        #expect(
            settlement?.history == [
                HistoryEntry(.ended(TerminalStatus(.expired, TerminalReason.expired)), attempts: 0, members: ids(2)),
                HistoryEntry(.ended(TerminalStatus(.expired, TerminalReason.expired)), attempts: 1, members: ids(1)),
            ])
    }

    @Test("records members that continue after an attempt, with the cause")
    func goesOn() {
        let outcomes: [(Outcome, WaitCause)] = [
            (.deferred(after: nil, .deviceThrottled), .deviceThrottled),
            (.deferred(after: nil, .providerBusy), .providerBusy),
            (.deferred(after: nil, .providerUnavailable), .providerBusy),
            (.deferred(after: nil, .laneThrottled), .providerThrottled),
            (.deferred(after: nil, .providerTokenExpired), .providerTokenExpired),
            (.unsent(.goAway), .notSent), (.unknown(.connectionLost), .answerLost),
        ]
        for (outcome, cause) in outcomes {
            var run = ParcelRunSamples.run(ParcelRunSamples.parcel([.present, .present]))
            run.record(outcome, for: 1)
            let settlement = run.settlement()
            #expect(settlement?.history == [HistoryEntry(.goesOn(cause), attempts: 1, members: ids(2))])
            #expect(settlement?.remainders.map(\.cause) == [cause])
        }
    }

    @Test("omits members that wait without an attempt, while the remainder carries the cause")
    func waitsForUs() {
        let outcomes: [(Outcome, WaitCause)] = [
            (.deferred(after: nil, .laneBlocked), .laneBlocked),
            (.deferred(after: nil, .credentialRefused), .credentialRefused),
            (.unsent(.unreachable), .unreachable), (.unsent(.withdrawn), .handedBack),
        ]
        for (outcome, cause) in outcomes {
            var run = ParcelRunSamples.run(ParcelRunSamples.parcel([.present]))
            run.record(outcome, for: 0)
            let settlement = run.settlement()
            #expect(settlement?.history == [])
            #expect(settlement?.remainders.map(\.cause) == [cause])
        }
    }

    @Test("records members that moved to another route or whose parcel was split")
    func handedOver() {
        let moved = ParcelRunSamples.parcel([.moved(to: ParcelRunSamples.otherRoute)], attempt: 1)
        var run = ParcelRunSamples.run(moved)
        #expect(run.settlement()?.history == [HistoryEntry(.goesOn(.moved), attempts: 1, members: ids(1))])
        run = ParcelRunSamples.run(ParcelRunSamples.parcel([.present, .present], lapses: PoisonRule.bisectedFrom))
        #expect(
            run.settlement()?.history == [
                HistoryEntry(.goesOn(.bisected), attempts: 0, members: ids(1)),
                HistoryEntry(.goesOn(.bisected), attempts: 0, members: ids(2)),
            ])
    }
}
