import GatewayAPI
import PushModel
import Synchronization
import Testing

@Suite("Costly reads", .timeLimit(.minutes(2)))
struct CostlyReadsTests {
    private let ann = AppID(1)
    private let bob = AppID(2)
    private let cid = AppID(3)

    private func reads(waiting: Int = 9, patience: Duration = .seconds(3_600)) -> CostlyReads {
        var limits = GatewayLimits()
        (limits.costlyReadsMax, limits.costlyReadsWaitingPerAppMax) = (4, waiting)
        limits.costlyReadsPatience = patience
        return CostlyReads(limits)
    }

    /// Asks, and is in line by the time that it returns.
    private func queue(_ app: AppID, _ reads: CostlyReads, isPatient: Bool = false) async -> Task<Bool, Never> {
        let before = reads.waiting
        let asking = Task { await reads.begin(app, isPatient: isPatient) }
        while reads.waiting == before { await Task.yield() }
        return asking
    }

    @Test("are as many of an app as it leaves free, and one of each in any case, as long as there is room")
    func shares() async {
        let reads = reads(waiting: 0)
        for _ in 1...2 { #expect(await reads.begin(ann)) }
        #expect(await !reads.begin(ann))
        #expect(await reads.begin(bob))
        #expect(await reads.begin(cid))
        #expect(await !reads.begin(AppID(4)), "all four are taken")
        reads.end(ann)
        #expect(await reads.begin(AppID(4)))
        for app in [ann, bob, cid, AppID(4)] { reads.end(app) }
        for _ in 1...2 { #expect(await reads.begin(bob)) }
    }

    @Test("wait in line, where who came first has the first place that their app may have")
    func line() async {
        let reads = reads()
        for app in [ann, ann, bob] { #expect(await reads.begin(app)) }
        let third = await queue(ann, reads)
        let fourth = await queue(ann, reads)
        #expect(await reads.begin(cid), "whoever may not begin keeps nobody else")
        let other = await queue(AppID(4), reads)
        reads.end(ann)
        #expect(await other.value)
        #expect(reads.waiting == 2, "the app that has one leaves the others theirs")
        for app in [bob, cid] { reads.end(app) }
        #expect(reads.waiting == 2, "two others would have one place between them")
        reads.end(AppID(4))
        #expect(await third.value)
        reads.end(ann)
        #expect(await fourth.value)
        for _ in 1...2 { reads.end(ann) }
        #expect(await reads.begin(bob))
    }

    @Test("are refused where as many of the app's wait, and where one has waited for too long, but for the patient")
    func refused() async {
        let reads = reads(waiting: 1, patience: .zero)
        for _ in 1...2 { #expect(await reads.begin(ann)) }
        let late = await queue(ann, reads)
        #expect(await !reads.begin(ann))
        let patient = await queue(ann, reads, isPatient: true)
        reads.end(ann)
        #expect(await !late.value)
        #expect(await patient.value)
        #expect(reads.waiting == 0)
    }
}
