import Basis
import Delivery
import LaneRules
import Lanes
import Logging
import Model
import QueueRules
import Reactor
import Store
import Synchronization
import Testing

@Suite("A provider that cannot be reached")
struct LaneOutageTests {
    private static let lost = "warning: A lane can't send: its provider can't be reached"
    private static let back = "notice: A lane can send again"
    private static let failedDial = LaneEvent.dialFailed(.unreachable, detail: "name not known")

    @Test("causes one warning per outage, however many dials fail, and a notice when it is back")
    func onceAnOutage() async throws {
        try await Self.withPool { pool, log in
            let lane = LaneKey(CredentialID(1))
            for _ in 0..<2 { await pool.note(lane, canSend: false, Self.failedDial) }
            #expect(log.reported == [Self.lost])
            await pool.note(lane, canSend: true, .recovered)
            #expect(log.reported == [Self.lost, Self.back])
            for _ in 0..<2 { await pool.note(lane, canSend: false, Self.failedDial) }
            #expect(log.reported == [Self.lost, Self.back, Self.lost])
        }
    }

    @Test("causes a warning per lane, while a refused credential is no outage")
    func eachLane() async throws {
        try await Self.withPool { pool, log in
            for credential in [1, 2] as [Int64] {
                await pool.note(LaneKey(CredentialID(credential)), canSend: false, Self.failedDial)
            }
            await pool.note(
                LaneKey(CredentialID(3)), canSend: false, .credentialRefused(reason: "InvalidProviderToken"))
            #expect(log.reported == [Self.lost, Self.lost, "info: A lane can't send: its credential is refused"])
        }
    }

    @Test("appears in the list of outages with its reason until the outage is over")
    func reported() async throws {
        let credentials = NoCredentials()
        try await Self.withPool(credentials) { pool, _ in
            var received = credentials.outages.makeAsyncIterator()
            for credential in [2, 1] as [Int64] {
                await pool.note(LaneKey(CredentialID(credential)), canSend: false, Self.failedDial)
            }
            // Changes during a report are combined in the next one.
            var reported = await received.next() ?? []
            while reported.count < 2 { reported = await received.next() ?? [] }
            #expect(reported.map(\.credential.value) == [1, 2])
            #expect(reported.map(\.reason) == Array(repeating: "name not known", count: 2))
            await pool.note(LaneKey(CredentialID(1)), canSend: true, .recovered)
            #expect(await received.next()?.map(\.credential.value) == [2])
            await pool.drain()
            #expect(await received.next() == [])
        }
    }

    @Test("keeps its outage when the reason changes, and shows the new reason")
    func otherReason() async throws {
        let credentials = NoCredentials()
        try await Self.withPool(credentials) { pool, log in
            var received = credentials.outages.makeAsyncIterator()
            let lane = LaneKey(CredentialID(1))
            await pool.note(lane, canSend: false, Self.failedDial)
            let first = try #require(await received.next()?.first)
            await pool.note(lane, canSend: false, .tlsRefused(detail: "the certificate has expired"))
            await pool.note(LaneKey(CredentialID(2)), canSend: false, Self.failedDial)
            var reported: [LaneOutage] = []
            while reported.count < 2 { reported = await received.next() ?? [] }
            #expect(first.reason == "name not known" && reported[0].reason == "the certificate has expired")
            #expect(reported[0].age >= first.age)
            #expect(log.reported == [Self.lost, Self.lost])
        }
    }

    @Test("differs from a provider that throttles, which is listed with the time of its next try")
    func open() async throws {
        let credentials = NoCredentials()
        try await Self.withPool(credentials) { pool, log in
            var received = credentials.outages.makeAsyncIterator()
            let lane = LaneKey(CredentialID(1))
            let now = Clocks.monotonicNow()
            func remaining(_ number: Int, until seconds: Int) -> OpenBreaker {
                OpenBreaker(since: now + .milliseconds(number), until: now + .seconds(seconds))
            }
            pool.noteOpenBreaker(lane, remaining(1, until: 30))
            var reported = try #require(await received.next()?.first)
            #expect(reported.cause.remaining.map { $0 > .seconds(20) && $0 <= .seconds(30) } == true)
            pool.noteOpenBreaker(lane, remaining(1, until: 90))
            reported = try #require(await received.next()?.first)
            #expect(reported.cause.remaining.map { $0 > .seconds(80) && $0 <= .seconds(90) } == true)
            #expect(log.reported == [Self.opens], "a longer opening is the same outage")
            pool.noteOpenBreaker(lane, remaining(2, until: 10))
            reported = try #require(await received.next()?.first)
            #expect(reported.cause.remaining.map { $0 <= .seconds(10) } == true, "a shorter opening is another outage")
            #expect(log.reported == [Self.opens, Self.opens])
            await pool.note(lane, canSend: false, Self.failedDial)
            #expect(await received.next()?.map(\.cause) == [.unreachable])
            await pool.note(lane, canSend: true, .recovered)
            #expect(await received.next()?.first?.cause.remaining != nil)
            pool.noteClosedBreaker(lane)
            #expect(await received.next() == [])
        }
    }

    @Test("disappears from the list of outages when its lane is closed", .timeLimit(.minutes(5)))
    func closed() async throws {
        let credentials = NoCredentials()
        try await Self.withPool(credentials) { pool, _ in
            var received = credentials.outages.makeAsyncIterator()
            await pool.note(LaneKey(CredentialID(1)), canSend: false, Self.failedDial)
            #expect(await received.next()?.count == 1)
            await pool.closeUnused()
            #expect(await received.next() == [])
        }
    }

    @Test("keeps one entry for its open breaker during probes, and drops it if no report follows")
    func restsInARow() {
        var outages = LaneOutages()
        let lane = LaneKey(CredentialID(1))
        let noon = MonotonicInstant(nanoseconds: 0)
        func isNew(since: Int, until: Int) -> Bool {
            outages.noteOpen(lane, OpenBreaker(since: noon + .seconds(since), until: noon + .seconds(until)))
        }
        #expect(isNew(since: 0, until: 10))
        #expect(!isNew(since: 0, until: 12), "a longer opening is not new")
        #expect(isNew(since: 13, until: 33), "a later refusal is new")
        let reported = outages.take(now: noon + .seconds(14))
        #expect(reported.map(\.age) == [.seconds(14)] && reported.map(\.cause) == [.open(.seconds(19))])
        #expect(!outages.areChanged(now: noon + .seconds(28)) && outages.areChanged(now: noon + .seconds(29)))
        let (tried, forgotten) = (outages.take(now: noon + .seconds(40)), outages.take(now: noon + .seconds(48)))
        #expect(tried.map(\.cause) == [.open(.zero)] && forgotten.isEmpty)
    }

    private static let opens = "warning: Circuit breaker opened: provider is throttling"

    private static func withPool(
        _ credentials: NoCredentials = NoCredentials(), _ body: (LanePool, RecordedLog) async throws -> Void
    ) async throws {
        let log = RecordedLog()
        let loop = try ReactorLoop(name: "lane-outage-test")
        defer { loop.stop() }
        let pool = LanePool(
            credentials: credentials, loops: [loop], credentialBlock: .seconds(60), log: log.logger)
        try await body(pool, log)
    }
}

extension LaneOutage.Cause {
    fileprivate var remaining: Duration? { if case .open(let remaining) = self { remaining } else { nil } }
}

/// A source without any credentials.
private struct NoCredentials: LaneCredentials {
    let outages: AsyncStream<[LaneOutage]>
    private let reporting: AsyncStream<[LaneOutage]>.Continuation

    init() { (outages, reporting) = AsyncStream.makeStream(of: [LaneOutage].self) }

    func report(outages: [LaneOutage]) async -> Bool {
        reporting.yield(outages)
        return true
    }

    func credential(for route: ReadyRoute) async -> CredentialStatus { .missing }
    func block(_ credential: CredentialID, reason: String, for pause: Duration) async {}
    func providerTokenExpired(_ credential: CredentialID, generation: UInt64) async {}
    func needsNewConnections(_ credential: CredentialID) async {}
    func slug(of app: AppID) async -> String { "garden" }
    func inactive(among credentials: [CredentialID]) async -> [CredentialID] { [] }
}

/// Records log lines as level and message.
private final class RecordedLog: Sendable {
    private let lines = Mutex<[String]>([])

    var reported: [String] { lines.withLock { $0 } }
    var logger: Logger { Logger(label: "lane-outage-test") { _ in Handler(log: self) } }

    private struct Handler: LogHandler {
        let log: RecordedLog
        var logLevel = Logger.Level.trace
        var metadata: Logger.Metadata = [:]

        subscript(metadataKey name: String) -> Logger.MetadataValue? {
            get { metadata[name] }
            set { metadata[name] = newValue }
        }

        func log(event: LogEvent) { log.lines.withLock { $0.append("\(event.level): \(event.message)") } }
    }
}
