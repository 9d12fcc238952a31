import API
import Listener
import Model
import Synchronization
import Testing

@Suite("The admission of costly reads", .timeLimit(.minutes(2)))
struct ReadAdmissionTests {
    private let ann = AppID(1)
    private let bob = AppID(2)
    private let cid = AppID(3)

    private func reads(waiting: Int = 9, timeout: Duration = .seconds(3_600)) -> ReadAdmission {
        var limits = GatewayLimits()
        (limits.costlyReadsMax, limits.costlyReadsWaitingPerAppMax) = (4, waiting)
        limits.readAdmissionTimeout = timeout
        return ReadAdmission(limits)
    }

    /// One request for admission: answered at once, or when a place is given back.
    private final class Asking: Sendable {
        private let answer = Mutex<ReadAdmission.Reply?>(nil)

        init(_ app: AppID, _ reads: ReadAdmission, waitsForever: Bool = false) async {
            let before = reads.waiting
            Task {
                let reply = await reads.begin(app, waitsForever: waitsForever)
                answer.withLock { $0 = reply }
            }
            while reply == nil, reads.waiting == before { await Task.yield() }
        }

        /// nil while the request waits.
        var reply: ReadAdmission.Reply? { answer.withLock { $0 } }

        /// The answer to a request that no longer waits.
        var last: ReadAdmission.Reply? {
            get async {
                while reply == nil { await Task.yield() }
                return reply
            }
        }
    }

    private func ask(_ app: AppID, _ reads: ReadAdmission) async -> ReadAdmission.Reply? {
        await Asking(app, reads).reply
    }

    @Test("gives an app at most as many places as it leaves free, and each app at least one")
    func shares() async {
        let reads = reads(waiting: 0)
        for _ in 1...2 { #expect(await ask(ann, reads) == .begun) }
        #expect(await ask(ann, reads) == .shareUsedUp)
        #expect(await ask(bob, reads) == .begun)
        #expect(await ask(cid, reads) == .begun)
        #expect(await ask(AppID(4), reads) == .full, "all four places are taken")
        reads.end(ann)
        #expect(await ask(AppID(4), reads) == .begun)
        for app in [ann, bob, cid, AppID(4)] { reads.end(app) }
        for _ in 1...2 { #expect(await ask(bob, reads) == .begun) }
    }

    @Test("admits waiting reads in order of arrival, within each app's share")
    func line() async throws {
        let reads = reads()
        for app in [ann, ann, bob] { #expect(await ask(app, reads) == .begun) }
        let third = await Asking(ann, reads)
        let fourth = await Asking(ann, reads)
        #expect(await ask(cid, reads) == .begun, "a waiting read does not hold up other apps")
        let other = await Asking(AppID(4), reads)
        try #require(reads.waiting == 3)
        reads.end(ann)
        try #require(reads.waiting == 2, "an app with a read in progress leaves the free place to another app")
        #expect(await other.last == .begun)
        for app in [bob, cid] { reads.end(app) }
        try #require(reads.waiting == 2, "with two places the app would leave only one free")
        reads.end(AppID(4))
        try #require(reads.waiting == 1)
        #expect(await third.last == .begun)
        #expect(fourth.reply == nil)
        reads.end(ann)
        try #require(reads.waiting == 0)
        #expect(await fourth.last == .begun)
    }

    @Test("refuses a read over the waiting limit or after the timeout, unless it waits forever")
    func refused() async throws {
        let reads = reads(waiting: 1, timeout: .zero)
        for _ in 1...2 { #expect(await ask(ann, reads) == .begun) }
        let patient = await Asking(ann, reads, waitsForever: true)
        let late = await Asking(ann, reads)
        #expect(await ask(ann, reads) == .shareUsedUp)
        try #require(reads.waiting == 2)
        reads.end(ann)
        try #require(reads.waiting == 0)
        #expect(await late.last == .shareUsedUp)
        #expect(await patient.last == .begun)
    }
}
