import DeliveryRules
import PushModel
import Testing

private typealias Samples = ParcelRunSamples

@Suite("A member that is held back")
struct ParcelRunHoldTests {
    private func parcel(
        _ holds: [MemberHold], _ standings: [MemberStanding]? = nil, attempt: Int16 = 0, lapses: Int16 = 0,
        answerLost: Bool = false, lasting: Duration = .seconds(86_400), home: HomeRefusal? = nil
    ) -> LeasedParcel {
        var parcel = Samples.parcel(
            standings ?? holds.map { _ in .present }, attempt: attempt, lapses: lapses, answerLost: answerLost,
            expiresAfter: lasting, home: home)
        parcel.holds = holds
        return parcel
    }

    private func quiet(_ seconds: Int64, isCounted: Bool = false) -> MemberHold {
        .quietHours(until: Samples.leasedAt + .seconds(seconds), isCounted: isCounted)
    }

    @Test("by quiet hours waits until they are over, unsent, and its badge with it; the others are sent")
    func waits() throws {
        var run = Samples.run(parcel([quiet(3_600), .none, quiet(7_200), quiet(3_600)], attempt: 2))
        #expect(run.takeMembersToSend() == [1])
        let settlement = try #require(run.settlement())
        #expect(settlement.endings.isEmpty && settlement.pendingAfter == 1)
        #expect(settlement.remainders.map(\.dueAfter) == [.seconds(3_600), .seconds(7_200)])
        #expect(settlement.remainders.map { $0.members.map(\.value) } == [[101, 104], [103]])
        for rest in settlement.remainders {
            #expect(rest.cause == .quietHours && !rest.isCounted)
            #expect(rest.attempt == 2 && rest.retrySpent == .zero && rest.route == Samples.route)
        }
        #expect(settlement.history.isEmpty, "nothing was tried")
    }

    @Test("whose badge was raised by an earlier lease keeps the mark")
    func counted() throws {
        var run = Samples.run(parcel([quiet(60, isCounted: true), quiet(60)]))
        let remainders = try #require(run.settlement()).remainders
        #expect(remainders.map(\.isCounted) == [true, false])
    }

    @Test("by quiet hours that outlive its push ends as suppressed, and so where they end together")
    func tooLong() throws {
        var run = Samples.run(parcel([quiet(3_600), quiet(3_599)], lasting: .seconds(3_600)))
        let settlement = try #require(run.settlement())
        #expect(settlement.endings == [EndingCount(ending: Ending(.suppressed, "quiet_hours"), count: 1)])
        #expect(settlement.remainders.map { $0.members.map(\.value) } == [[102]])
    }

    @Test("by the cap ends as suppressed")
    func capped() throws {
        var run = Samples.run(parcel([.dailyCap, .none]))
        #expect(run.takeMembersToSend() == [1])
        let settlement = try #require(run.settlement())
        #expect(settlement.endings == [EndingCount(ending: Ending(.suppressed, "daily_cap"), count: 1)])
        #expect(settlement.history.map(\.attempts) == [0])
    }

    @Test("after its answer was lost has not been suppressed: it may have been shown")
    func mayHaveBeenShown() throws {
        var run = Samples.run(parcel([quiet(3_600), .dailyCap], answerLost: true, lasting: .seconds(60)))
        let lost = EndingCount(ending: Ending(.gaveUp, EndingReason.answerLost), count: 2)
        #expect(try #require(run.settlement()).endings == [lost])
    }

    @Test("that moved waits on its new route, and away from home goes back there")
    func routes() throws {
        var moved = Samples.run(parcel([quiet(60)], [.moved(to: Samples.otherRoute)]))
        #expect(try #require(moved.settlement()).remainders.map(\.route) == [Samples.otherRoute])
        let home = HomeRefusal(
            route: Samples.otherRoute, generation: TokenGeneration(3), reason: "BadDeviceToken",
            asOf: Samples.leasedAt, until: Samples.leasedAt + .seconds(300))
        var away = Samples.run(parcel([quiet(60)], home: home))
        let rest = try #require(away.settlement()).remainders
        #expect(rest.map(\.route) == [Samples.otherRoute] && rest.allSatisfy { $0.home == nil })
    }

    @Test("and is gone, or whose push has expired, ends as that")
    func standings() throws {
        var gone = Samples.run(parcel([.dailyCap, quiet(60)], [.deleted, .retired]))
        #expect(try #require(gone.settlement()).endings.map(\.ending.state) == [.unregistered, .unregistered])
        var late = Samples.run(parcel([.dailyCap], lasting: .zero))
        #expect(try #require(late.settlement()).endings.map(\.ending.state) == [.expired])
    }
}
