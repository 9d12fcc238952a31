import PushModel
import Testing

@Suite("The estimate of a message's end")
struct MessageProgressTests {
    private static let noon = WallInstant(secondsSince1970: 1_793_448_000)

    private func progress(
        _ state: MessageState = .sending, audience: Int64? = 1_000, parts: [ProviderProgress], waits: [PushWait] = [],
        lastDue: WallInstant? = nil, rate: Int32? = nil
    ) -> MessageProgress {
        let account = MessageAccount(
            id: MessageID(UniversalID(high: 1, low: 1)), state: state, acceptedAt: Self.noon, expiresAt: Self.noon,
            finishedAt: nil, audience: audience, outcomes: [], pending: 0, reasons: [],
            ratePerSecond: rate)
        return MessageProgress(account: account, at: Self.noon, providers: parts, waits: waits, lastDue: lastDue)
    }

    private func part(
        _ provider: Provider = .apns, sending: Int64 = 0, ready: Int64 = 0, waiting: Int64 = 0, answered: Int64?
    ) -> ProviderProgress {
        ProviderProgress(
            provider: provider, sending: sending, ready: ready, waiting: waiting, reasons: [], otherReasons: 0,
            pace: answered.flatMap { Pace(answered: $0, in: .seconds(10)) })
    }

    private func wait(_ cause: PushWait.Cause) -> PushWait {
        PushWait(cause: cause, provider: .apns, environment: .production, topic: "", pushes: 1)
    }

    @Test("is that of its slowest provider")
    func slowest() {
        let parts = [part(sending: 100, ready: 900, answered: 1_000), part(.fcm, ready: 100, answered: 50)]
        let both = progress(parts: parts)
        #expect(both.estimatedEnd == Self.noon + .seconds(20))
        #expect(both.pushesPerSecond == 105)
    }

    @Test("is unknown while its audience is, while it stands still, and where nothing was answered of late")
    func unknown() {
        let parts = [part(ready: 100, answered: 1_000)]
        #expect(progress(parts: parts).estimatedEnd != nil)
        #expect(progress(.planning, audience: nil, parts: parts).estimatedEnd == nil)
        #expect(progress(.paused, parts: parts).estimatedEnd == nil)
        for cause in [PushWait.Cause.held, .credential, .credentialRefused, .unreachable] {
            #expect(progress(parts: parts, waits: [wait(cause)]).estimatedEnd == nil)
        }
        #expect(progress(parts: [part(ready: 100, answered: 0)]).estimatedEnd == nil)
        #expect(progress(parts: [part(ready: 100, answered: nil)]).estimatedEnd == nil)
    }

    @Test("is no sooner than its rate allows, whatever its providers take")
    func rated() {
        let parts = [part(sending: 50, ready: 450, answered: 10_000), part(.fcm, ready: 500, answered: 10_000)]
        let slow = progress(parts: parts, rate: 10)
        #expect(slow.estimatedEnd == Self.noon + .seconds(100))
        #expect(slow.pushesPerSecond == 10)
    }

    @Test("comes after what is due later, and is unknown where that is far away")
    func later() {
        let parts = [part(ready: 100, waiting: 1, answered: 1_000)]
        let soon = progress(parts: parts, waits: [wait(.later)], lastDue: Self.noon + .seconds(60))
        #expect(soon.estimatedEnd == Self.noon + .seconds(60))
        let far = progress(parts: parts, waits: [wait(.later)], lastDue: Self.noon + .seconds(7_200))
        #expect(far.estimatedEnd == nil)
    }

    @Test("says nothing of half a second, nor of a thousand years")
    func bounds() {
        #expect(Pace(answered: 5, in: .milliseconds(500)) == nil)
        #expect(Pace(answered: 1, in: .seconds(100))?.lasting(for: .max) == nil)
        #expect(Pace(answered: 0, in: .seconds(100))?.lasting(for: 0) == .zero)
    }

    @Test("is no news, and a count is")
    func news() {
        let before = progress(parts: [part(ready: 100, answered: 1_000)])
        #expect(before.tellsTheSame(as: progress(parts: [part(ready: 100, answered: 900)])))
        #expect(!before.tellsTheSame(as: progress(parts: [part(ready: 99, answered: 1_000)])))
        #expect(!before.tellsTheSame(as: progress(.paused, parts: [part(ready: 100, answered: 1_000)])))
    }
}
