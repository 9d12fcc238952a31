import Delivery
import DeliveryRules
import Logging
import PushModel
import Reactor
import Store
import Synchronization
import Testing
import Transport

@Suite("A provider that can't be reached")
struct LaneOutageTests {
    private static let lost = "warning: A lane can't send: its provider can't be reached"
    private static let back = "notice: A lane can send again"
    private static let failedDial = LaneEvent.dialFailed(.unreachable, detail: "name not known")

    @Test("is one warning an outage, however many dials fail, and a notice once it is back")
    func onceAnOutage() async throws {
        try await Self.withKeeper { keeper, log in
            let lane = LaneKey(CredentialID(1))
            for _ in 0..<2 { await keeper.note(lane, canSend: false, Self.failedDial) }
            #expect(log.told == [Self.lost])
            await keeper.note(lane, canSend: true, .recovered)
            #expect(log.told == [Self.lost, Self.back])
            for _ in 0..<2 { await keeper.note(lane, canSend: false, Self.failedDial) }
            #expect(log.told == [Self.lost, Self.back, Self.lost])
        }
    }

    @Test("is told for each lane, and a refused credential is no outage")
    func eachLane() async throws {
        try await Self.withKeeper { keeper, log in
            for credential in [1, 2] as [Int64] {
                await keeper.note(LaneKey(CredentialID(credential)), canSend: false, Self.failedDial)
            }
            await keeper.note(
                LaneKey(CredentialID(3)), canSend: false, .credentialRefused(reason: "InvalidProviderToken"))
            #expect(log.told == [Self.lost, Self.lost, "info: A lane can't send: its credential is refused"])
        }
    }

    @Test("is told to whoever asks what pushes wait for, with its reason, until it is over")
    func told() async throws {
        let credentials = NoCredentials()
        try await Self.withKeeper(credentials) { keeper, _ in
            var heard = credentials.outages.makeAsyncIterator()
            for credential in [2, 1] as [Int64] {
                await keeper.note(LaneKey(CredentialID(credential)), canSend: false, Self.failedDial)
            }
            // What changed while one was told comes in one.
            var told = await heard.next() ?? []
            while told.count < 2 { told = await heard.next() ?? [] }
            #expect(told.map(\.credential.value) == [1, 2])
            #expect(told.map(\.reason) == Array(repeating: "name not known", count: 2))
            await keeper.note(LaneKey(CredentialID(1)), canSend: true, .recovered)
            #expect(await heard.next()?.map(\.credential.value) == [2])
            await keeper.drain()
            #expect(await heard.next() == [])
        }
    }

    @Test("that lasts is told with the reason that it has by now, as the same one")
    func otherReason() async throws {
        let credentials = NoCredentials()
        try await Self.withKeeper(credentials) { keeper, log in
            var heard = credentials.outages.makeAsyncIterator()
            let lane = LaneKey(CredentialID(1))
            await keeper.note(lane, canSend: false, Self.failedDial)
            let first = try #require(await heard.next()?.first)
            await keeper.note(lane, canSend: false, .tlsRefused(detail: "the certificate has expired"))
            await keeper.note(LaneKey(CredentialID(2)), canSend: false, Self.failedDial)
            var told: [LaneOutage] = []
            while told.count < 2 { told = await heard.next() ?? [] }
            #expect(first.reason == "name not known" && told[0].reason == "the certificate has expired")
            #expect(told[0].age >= first.age)
            #expect(log.told == [Self.lost, Self.lost])
        }
    }

    @Test("is told apart from one that asks for less: with the time when it is tried, as long as it is not well")
    func resting() async throws {
        let credentials = NoCredentials()
        try await Self.withKeeper(credentials) { keeper, log in
            var heard = credentials.outages.makeAsyncIterator()
            let lane = LaneKey(CredentialID(1))
            let now = Clocks.monotonicNow()
            func rest(_ number: Int, until seconds: Int) -> LaneRest {
                LaneRest(since: now + .milliseconds(number), until: now + .seconds(seconds))
            }
            keeper.noteRest(lane, rest(1, until: 30))
            var told = try #require(await heard.next()?.first)
            #expect(told.cause.rest.map { $0 > .seconds(20) && $0 <= .seconds(30) } == true)
            keeper.noteRest(lane, rest(1, until: 90))
            told = try #require(await heard.next()?.first)
            #expect(told.cause.rest.map { $0 > .seconds(80) && $0 <= .seconds(90) } == true)
            #expect(log.told == [Self.rests], "a longer one is the same")
            keeper.noteRest(lane, rest(2, until: 10))
            told = try #require(await heard.next()?.first)
            #expect(told.cause.rest.map { $0 <= .seconds(10) } == true, "another one, which is shorter")
            #expect(log.told == [Self.rests, Self.rests])
            await keeper.note(lane, canSend: false, Self.failedDial)
            #expect(await heard.next()?.map(\.cause) == [.unreachable])
            await keeper.note(lane, canSend: true, .recovered)
            #expect(await heard.next()?.first?.cause.rest != nil)
            keeper.noteRestOver(lane)
            #expect(await heard.next() == [])
        }
    }

    @Test("is no outage any more once its lane is closed, whatever came of it afterwards", .timeLimit(.minutes(5)))
    func closed() async throws {
        let credentials = NoCredentials()
        try await Self.withKeeper(credentials) { keeper, _ in
            var heard = credentials.outages.makeAsyncIterator()
            await keeper.note(LaneKey(CredentialID(1)), canSend: false, Self.failedDial)
            #expect(await heard.next()?.count == 1)
            await keeper.closeUnused()
            #expect(await heard.next() == [])
        }
    }

    @Test("and rests besides is the same rest while a few are tried, and forgotten where nobody says that it is over")
    func restsInARow() {
        var outages = LaneOutages()
        let lane = LaneKey(CredentialID(1))
        let noon = MonotonicInstant(nanoseconds: 0)
        func isNews(since: Int, until: Int) -> Bool {
            outages.rest(lane, LaneRest(since: noon + .seconds(since), until: noon + .seconds(until)))
        }
        #expect(isNews(since: 0, until: 10))
        #expect(!isNews(since: 0, until: 12), "longer")
        #expect(isNews(since: 13, until: 33), "refused again")
        let told = outages.take(now: noon + .seconds(14))
        #expect(told.map(\.age) == [.seconds(14)] && told.map(\.cause) == [.resting(.seconds(19))])
        #expect(!outages.areNews(now: noon + .seconds(28)) && outages.areNews(now: noon + .seconds(29)))
        let (tried, forgotten) = (outages.take(now: noon + .seconds(40)), outages.take(now: noon + .seconds(48)))
        #expect(tried.map(\.cause) == [.resting(.zero)] && forgotten.isEmpty)
    }

    private static let rests = "warning: A lane rests: its provider answers most pushes that it wants less"

    private static func withKeeper(
        _ credentials: NoCredentials = NoCredentials(), _ body: (LaneKeeper, HeardLog) async throws -> Void
    ) async throws {
        let log = HeardLog()
        let loop = try ReactorLoop(name: "lane-outage-test")
        defer { loop.stop() }
        let keeper = LaneKeeper(
            credentials: credentials, loops: [loop], credentialBlock: .seconds(60), log: log.logger)
        try await body(keeper, log)
    }
}

extension LaneOutage.Cause {
    fileprivate var rest: Duration? { if case .resting(let rest) = self { rest } else { nil } }
}

/// Nothing is opened here.
private struct NoCredentials: LaneCredentials {
    let outages: AsyncStream<[LaneOutage]>
    private let telling: AsyncStream<[LaneOutage]>.Continuation

    init() { (outages, telling) = AsyncStream.makeStream(of: [LaneOutage].self) }

    func tell(outages: [LaneOutage]) async -> Bool {
        telling.yield(outages)
        return true
    }

    func credential(for route: ReadyRoute) async -> CredentialStanding { .missing }
    func block(_ credential: CredentialID, reason: String, for pause: Duration) async {}
    func providerTokenExpired(_ credential: CredentialID, generation: UInt64) async {}
    func needsNewConnections(_ credential: CredentialID) async {}
    func slug(of app: AppID) async -> String { "garden" }
    func inactive(among credentials: [CredentialID]) async -> [CredentialID] { [] }
}

/// What was logged, as level and sentence.
private final class HeardLog: Sendable {
    private let lines = Mutex<[String]>([])

    var told: [String] { lines.withLock { $0 } }
    var logger: Logger { Logger(label: "lane-outage-test") { _ in Handler(log: self) } }

    private struct Handler: LogHandler {
        let log: HeardLog
        var logLevel = Logger.Level.trace
        var metadata: Logger.Metadata = [:]

        subscript(metadataKey name: String) -> Logger.MetadataValue? {
            get { metadata[name] }
            set { metadata[name] = newValue }
        }

        func log(event: LogEvent) { log.lines.withLock { $0.append("\(event.level): \(event.message)") } }
    }
}
