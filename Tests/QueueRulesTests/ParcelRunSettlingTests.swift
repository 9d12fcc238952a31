import Model
import QueueRules
import Testing

@Suite("The reply to a settle")
struct ParcelRunSettlingTests {
    /// One of two members has ended, and its settle is on its way.
    private func halfSettled() -> ParcelRun {
        var run = ParcelRunSamples.run(ParcelRunSamples.parcel([.present, .present], epoch: 4, settles: 2))
        run.recordAccepted(0)
        _ = run.takeSettlement()
        return run
    }

    private func status(epoch: Int32 = 4, settles: Int32, isLeased: Bool = true) -> SettleReply {
        .fenced(status: ParcelStatus(epoch: epoch, settles: settles, isLeased: isLeased))
    }

    @Test("names the lease, and how often the parcel was settled before")
    func names() {
        let settlement = halfSettled().settling?.settlement
        #expect(settlement?.epoch == 4)
        #expect(settlement?.settles == 2)
        #expect(settlement?.pendingAfter == 1)
    }

    @Test("lets the parcel go on; the next settle carries only what is new")
    func goesOn() {
        var run = halfSettled()
        run.recordAccepted(1)
        #expect(run.takeSettlement() == nil, "one settle at a time")
        #expect(run.concludeSettle(.settled) == .goesOn)
        let next = run.settlement()
        #expect(next?.settles == 3)
        #expect(next?.terminalCounts == [TerminalCount(terminalStatus: TerminalStatus(.accepted), count: 1)])
        #expect(next?.settledBits == [0b11])
        #expect(run.concludeSettle(.settled) == .finished)
    }

    @Test("is ours where only our own earlier attempt can have written it")
    func ambiguousCommit() {
        var run = halfSettled()
        #expect(run.concludeSettle(status(settles: 3)) == .goesOn)
        run.recordAccepted(1)
        #expect(run.settlement()?.settles == 3)
    }

    @Test("says that the parcel is another's: a later epoch, a lease that was taken back, a settle that isn't ours")
    func lost() {
        for reply in [
            status(epoch: 5, settles: 2), status(settles: 3, isLeased: false), status(settles: 2),
            status(settles: 4),
        ] {
            var run = halfSettled()
            #expect(run.concludeSettle(reply) == .lost)
        }
    }

    @Test("of a parcel that is gone means finished where we would have finished it, and lost where not")
    func gone() {
        var half = halfSettled()
        #expect(half.concludeSettle(.fenced(status: nil)) == .lost)
        var whole = ParcelRunSamples.run(ParcelRunSamples.parcel([.present]))
        whole.recordAccepted(0)
        _ = whole.takeSettlement()
        #expect(whole.concludeSettle(.fenced(status: nil)) == .finished)
    }

    @Test("to no settle at all is a lost one")
    func unasked() {
        var run = ParcelRunSamples.run()
        #expect(run.concludeSettle(.settled) == .lost)
    }
}
