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

    private enum Reply: Equatable { case began, refused, waits }

    /// What becomes of somebody who asks: at once, or else once a place is given back.
    private final class Asking: Sendable {
        private let answer = Mutex<Bool?>(nil)

        init(_ app: AppID, _ reads: CostlyReads, isPatient: Bool = false) async {
            let before = reads.waiting
            Task {
                let hasTurn = await reads.begin(app, isPatient: isPatient)
                answer.withLock { $0 = hasTurn }
            }
            while reply == .waits, reads.waiting == before { await Task.yield() }
        }

        var reply: Reply { answer.withLock { $0.map { $0 ? .began : .refused } ?? .waits } }

        /// Of one that is in line no more.
        var last: Reply {
            get async {
                while reply == .waits { await Task.yield() }
                return reply
            }
        }
    }

    private func ask(_ app: AppID, _ reads: CostlyReads) async -> Reply { await Asking(app, reads).reply }

    @Test("are as many of an app as it leaves free, and one of each in any case, as long as there is room")
    func shares() async {
        let reads = reads(waiting: 0)
        for _ in 1...2 { #expect(await ask(ann, reads) == .began) }
        #expect(await ask(ann, reads) == .refused)
        #expect(await ask(bob, reads) == .began)
        #expect(await ask(cid, reads) == .began)
        #expect(await ask(AppID(4), reads) == .refused, "all four are taken")
        reads.end(ann)
        #expect(await ask(AppID(4), reads) == .began)
        for app in [ann, bob, cid, AppID(4)] { reads.end(app) }
        for _ in 1...2 { #expect(await ask(bob, reads) == .began) }
    }

    @Test("wait in line, where who came first has the first place that their app may have")
    func line() async throws {
        let reads = reads()
        for app in [ann, ann, bob] { #expect(await ask(app, reads) == .began) }
        let third = await Asking(ann, reads)
        let fourth = await Asking(ann, reads)
        #expect(await ask(cid, reads) == .began, "whoever may not begin keeps nobody else")
        let other = await Asking(AppID(4), reads)
        try #require(reads.waiting == 3)
        reads.end(ann)
        try #require(reads.waiting == 2, "the app that has one leaves the others theirs")
        #expect(await other.last == .began)
        for app in [bob, cid] { reads.end(app) }
        try #require(reads.waiting == 2, "two others would have one place between them")
        reads.end(AppID(4))
        try #require(reads.waiting == 1)
        #expect(await third.last == .began)
        #expect(fourth.reply == .waits)
        reads.end(ann)
        try #require(reads.waiting == 0)
        #expect(await fourth.last == .began)
    }

    @Test("are refused where as many of the app's wait, and where one has waited for too long, but for the patient")
    func refused() async throws {
        let reads = reads(waiting: 1, patience: .zero)
        for _ in 1...2 { #expect(await ask(ann, reads) == .began) }
        let late = await Asking(ann, reads)
        #expect(await ask(ann, reads) == .refused)
        let patient = await Asking(ann, reads, isPatient: true)
        try #require(reads.waiting == 2)
        reads.end(ann)
        try #require(reads.waiting == 0)
        #expect(await late.last == .refused)
        #expect(await patient.last == .began)
    }
}
