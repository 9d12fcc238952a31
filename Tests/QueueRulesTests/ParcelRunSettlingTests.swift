import Model
import QueueRules
import Testing

@Suite("The reply to a settle")
struct ParcelRunSettlingTests {
    /// Returns a run with one of two members ended and that member's settle in progress.
    private func halfSettled() -> ParcelRun {
        var run = ParcelRunSamples.run(ParcelRunSamples.parcel([.present, .present], epoch: 4, settles: 2))
        run.recordAccepted(0)
        _ = run.takeSettlement()
        return run
    }

    private func status(epoch: Int32 = 4, settles: Int32, isLeased: Bool = true) -> SettleReply {
        .fenced(status: ParcelStatus(epoch: epoch, settles: settles, isLeased: isLeased))
    }

    @Test("belongs to a settle that names the lease and the number of earlier settles")
    func names() {
        let settlement = halfSettled().settling?.settlement
        #expect(settlement?.epoch == 4)
        #expect(settlement?.settles == 2)
        #expect(settlement?.pendingAfter == 1)
    }

    @Test("lets the parcel go on, and the next settle carries only new changes")
    func goesOn() {
        var run = halfSettled()
        run.recordAccepted(1)
        #expect(run.takeSettlement() == nil, "a parcel has one settle in progress at a time")
        #expect(run.concludeSettle(.settled) == .goesOn)
        let next = run.settlement()
        #expect(next?.settles == 3)
        #expect(next?.terminalCounts == [TerminalCount(terminalStatus: TerminalStatus(.accepted), count: 1)])
        #expect(next?.settledBits == [0b11])
        #expect(run.concludeSettle(.settled) == .finished)
    }

    @Test("carries the provider's complaint for the reason that it explains, and the first one only")
    func complaint() {
        var run = ParcelRunSamples.run()
        run.record(ParcelRunSamples.rejection(.message, "INVALID_ARGUMENT"), for: 0)
        run.note(MessageComplaint(reason: "INVALID_ARGUMENT", text: "message: unknown name content_available"))
        run.note(MessageComplaint(reason: "INVALID_ARGUMENT", text: "message.data"))
        let settlement = run.settlement()
        let told = settlement?.detail(of: TerminalStatus(.rejected, "INVALID_ARGUMENT"))
        #expect(told == "message: unknown name content_available")
        #expect(settlement?.detail(of: TerminalStatus(.rejected, "OUT_OF_RANGE")) == nil)
        let long = MessageComplaint(reason: "INVALID_ARGUMENT", text: String(repeating: "x", count: 300))
        #expect(long.text.utf8.count == MessageComplaint.textBytesMax)
    }

    @Test("counts as success if only the parcel's own earlier attempt can have written it")
    func ambiguousCommit() {
        var run = halfSettled()
        #expect(run.concludeSettle(status(settles: 3)) == .goesOn)
        run.recordAccepted(1)
        #expect(run.settlement()?.settles == 3)
    }

    @Test("means a lost lease after a later epoch, a revoked lease or a foreign settle")
    func lost() {
        for reply in [
            status(epoch: 5, settles: 2), status(settles: 3, isLeased: false), status(settles: 2),
            status(settles: 4),
        ] {
            var run = halfSettled()
            #expect(run.concludeSettle(reply) == .lost)
        }
    }

    @Test("means finished for a missing parcel that this settle would finish, and lost otherwise")
    func gone() {
        var half = halfSettled()
        #expect(half.concludeSettle(.fenced(status: nil)) == .lost)
        var whole = ParcelRunSamples.run(ParcelRunSamples.parcel([.present]))
        whole.recordAccepted(0)
        _ = whole.takeSettlement()
        #expect(whole.concludeSettle(.fenced(status: nil)) == .finished)
    }

    @Test("means a lost lease if no settle was sent")
    func unasked() {
        var run = ParcelRunSamples.run()
        #expect(run.concludeSettle(.settled) == .lost)
    }
}
