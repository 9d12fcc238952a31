import Basis
import Model
import QueueRules
import Testing

private typealias Samples = ParcelRunSamples

@Suite("A member deferred by limits")
struct ParcelRunDeferralTests {
    private func run(
        _ deferrals: [MemberDeferral], _ statuses: [MemberStatus]? = nil, attempt: Int16 = 0, lapses: Int16 = 0,
        lasting: Duration = .seconds(86_400), origin: OriginRejection? = nil
    ) -> ParcelRun {
        var parcel = Samples.parcel(
            statuses ?? deferrals.map { _ in .present }, attempt: attempt, lapses: lapses, expiresAfter: lasting,
            origin: origin)
        parcel.deferrals = deferrals
        return Samples.run(parcel)
    }

    private func quiet(_ seconds: Int64, isCounted: Bool = false) -> MemberDeferral {
        .quietHours(until: Samples.leasedAt + .seconds(seconds), isCounted: isCounted)
    }

    private func firstSettlement(_ run: ParcelRun) throws -> Settlement {
        var run = run
        let settlement = run.settlement()
        return try #require(settlement)
    }

    private func count(_ state: TerminalState, _ reason: String) -> TerminalCount {
        TerminalCount(terminalStatus: TerminalStatus(state, reason), count: 1)
    }

    @Test("waits unsent until its quiet hours end, while the other members are sent")
    func waits() throws {
        var run = run([quiet(3_600), .none, quiet(7_200), quiet(3_600)], attempt: 2)
        let sent = run.takeMembersToSend()
        #expect(sent == [1])
        let settlement = try firstSettlement(run)
        #expect(settlement.terminalCounts.isEmpty && settlement.pendingAfter == 1)
        #expect(
            settlement.remainders.map(\.dueAt)
                == [Samples.leasedAt + .seconds(3_600), Samples.leasedAt + .seconds(7_200)])
        #expect(settlement.remainders.map { $0.members.map(\.value) } == [[101, 104], [103]])
        for remaining in settlement.remainders {
            #expect(remaining.cause == .quietHours && !remaining.isCounted)
            #expect(remaining.attempt == 2 && remaining.retrySpent == .zero && remaining.route == Samples.route)
        }
        #expect(settlement.history.isEmpty, "no attempt was made")
    }

    @Test("keeps its badge mark if an earlier lease raised the badge")
    func counted() throws {
        let settlement = try firstSettlement(run([quiet(60, isCounted: true), quiet(60)]))
        #expect(settlement.remainders.map(\.isCounted) == [true, false])
    }

    @Test("ends as suppressed if its quiet hours last as long as its push or longer")
    func tooLong() throws {
        let settlement = try firstSettlement(run([quiet(3_600), quiet(3_599)], lasting: .seconds(3_600)))
        #expect(settlement.terminalCounts == [count(.suppressed, "quiet_hours")])
        #expect(settlement.remainders.map { $0.members.map(\.value) } == [[102]])
    }

    @Test("ends as suppressed if the daily cap is reached")
    func capped() throws {
        var run = run([.dailyCap, .none])
        let sent = run.takeMembersToSend()
        #expect(sent == [1])
        let settlement = try firstSettlement(run)
        #expect(settlement.terminalCounts == [count(.suppressed, "daily_cap")])
        #expect(settlement.history.map(\.attempts) == [0])
    }

    @Test("ends as given up, not as suppressed, if an earlier lease may have shown it")
    func mayHaveBeenShown() throws {
        let deferrals = [quiet(3_600, isCounted: true), quiet(3_600), .dailyCap]
        let settlement = try firstSettlement(run(deferrals, lapses: 1, lasting: .seconds(60)))
        let expected = [
            count(.suppressed, "daily_cap"), count(.suppressed, "quiet_hours"),
            count(.gaveUp, TerminalReason.answerLost),
        ]
        #expect(settlement.terminalCounts == expected)
        let remainders = try firstSettlement(run(deferrals, lapses: 1)).remainders
        #expect(remainders.map(\.answerLost) == [true, false])
        #expect(remainders.map(\.lapses) == [1, 0])
    }

    @Test("counts as never shown if every lease of its lapsed parcel deferred it")
    func neverSent() throws {
        var parcel = Samples.parcel([.present, .present], lapses: 1, expiresAfter: .zero)
        parcel.neverSent = [true, false]
        let late = try firstSettlement(Samples.run(parcel))
        #expect(
            late.terminalCounts == [count(.expired, TerminalReason.expired), count(.gaveUp, TerminalReason.answerLost)])
        parcel = Samples.parcel([.present, .present, .moved(to: Samples.otherRoute)], lapses: 1)
        parcel.neverSent = [true, false, true]
        var unrepeatable = Samples.run(parcel, isRepeatable: false)
        #expect(unrepeatable.takeMembersToSend() == [0])
        var run = Samples.run(parcel)
        for position in 0..<2 { run.record(.unsent(.withdrawn), for: position) }
        let remainders = try firstSettlement(run).remainders
        #expect(remainders.map { $0.members.map(\.value) } == [[103], [101], [102]])
        #expect(remainders.map(\.lapses) == [0, 0, 1] && remainders.map(\.answerLost) == [false, false, true])
    }

    @Test("waits on its new route, or on its origin route if its parcel is cross-environment")
    func routes() throws {
        let moved = try firstSettlement(run([quiet(60)], [.moved(to: Samples.otherRoute)]))
        #expect(moved.remainders.map(\.route) == [Samples.otherRoute])
        let origin = OriginRejection(
            route: Samples.otherRoute, generation: TokenGeneration(3), reason: "BadDeviceToken",
            asOf: Samples.leasedAt, until: Samples.leasedAt + .seconds(300))
        let crossEnvironment = try firstSettlement(run([quiet(60)], origin: origin)).remainders
        #expect(crossEnvironment.map(\.route) == [Samples.otherRoute])
        #expect(crossEnvironment.allSatisfy { $0.origin == nil })
    }

    @Test("ends as unregistered or expired if its registration is gone or its push expired")
    func statuses() throws {
        let gone = try firstSettlement(run([.dailyCap, quiet(60)], [.deleted, .retired]))
        #expect(gone.terminalCounts.map(\.terminalStatus.state) == [.unregistered, .unregistered])
        let late = try firstSettlement(run([.dailyCap], lasting: .zero))
        #expect(late.terminalCounts.map(\.terminalStatus.state) == [.expired])
    }
}
