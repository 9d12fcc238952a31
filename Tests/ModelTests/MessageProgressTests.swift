import Basis
import Model
import Testing

@Suite("The estimated end of a message")
struct MessageProgressTests {
    private static let noon = WallInstant(secondsSince1970: 1_793_448_000)

    private func progress(
        _ state: MessageState = .sending, audience: Int64? = 1_000, parts: [ProviderProgress], waits: [PushWait] = [],
        lastDue: WallInstant? = nil, rate: Int32? = nil, found: [ProviderAccount] = [], nameless: Int64 = 0,
        scanned: Double? = nil
    ) -> MessageProgress {
        let ended = found.reduce(nameless) { $0 + $1.members - $1.pending }
        let account = MessageAccount(
            id: MessageID(UniversalID(high: 1, low: 1)), state: state, acceptedAt: Self.noon, expiresAt: Self.noon,
            finishedAt: nil, audience: audience, outcomes: [ended], pending: found.reduce(0) { $0 + $1.pending },
            reasons: [], providers: found, ratePerSecond: rate)
        return MessageProgress(
            account: account, at: Self.noon, providers: parts, waits: waits, lastDue: lastDue, scanned: scanned)
    }

    private func found(_ provider: Provider = .apns, ended: Int64, pending: Int64) -> ProviderAccount {
        ProviderAccount(provider: provider, outcomes: [ended], pending: pending)
    }

    private func part(
        _ provider: Provider = .apns, sending: Int64 = 0, ready: Int64 = 0, waiting: Int64 = 0, answered: Int64?,
        idle: Duration = .zero
    ) -> ProviderProgress {
        ProviderProgress(
            provider: provider, sending: sending, ready: ready, waiting: waiting, reasons: [], otherReasons: 0,
            pace: answered.flatMap { Pace(ended: $0, in: .seconds(10), idle: idle) })
    }

    private func wait(_ cause: PushWait.Cause) -> PushWait {
        PushWait(cause: cause, provider: .apns, environment: .production, topic: "", pushes: 1)
    }

    @Test("follows the slowest of the message's providers")
    func slowest() {
        let parts = [part(sending: 100, ready: 900, answered: 1_000), part(.fcm, ready: 100, answered: 50)]
        let both = progress(parts: parts)
        #expect(both.estimatedEnd == Self.noon + .seconds(20))
        #expect(both.pushesPerSecond == 105)
    }

    @Test("includes devices that planning has yet to find, in proportion to those found so far")
    func planning() {
        // A tenth is scanned: 3,000 devices of one provider and 1,000 of the other are found; 27,000 and 9,000 are to
        // come.
        let parts = [part(ready: 2_500, answered: 1_000), part(.fcm, sending: 500, answered: 250)]
        let accounts = [found(ended: 500, pending: 2_500), found(.fcm, ended: 500, pending: 500)]
        let early = progress(.planning, audience: nil, parts: parts, found: accounts, nameless: 7, scanned: 0.1)
        #expect(
            early.estimatedAudience == 40_007, "the receivers without a provider are counted in full from the start")
        #expect(early.estimatedEnd == Self.noon + .seconds(380))
        let rateLimited = progress(.planning, audience: nil, parts: parts, rate: 10, found: accounts, scanned: 0.1)
        #expect(rateLimited.estimatedEnd == Self.noon + .seconds(3_900))
        let known = progress(audience: 4_007, parts: parts, found: accounts)
        #expect(known.estimatedAudience == 4_007 && known.estimatedEnd == Self.noon + .seconds(25))
    }

    @Test("uses the slower provider if another has caught up, and is unknown if all have")
    func keepingUp() {
        let accounts = [found(ended: 500, pending: 500), found(.fcm, ended: 100, pending: 0)]
        let slow = part(ready: 500, answered: 1_000)
        let one = progress(
            .planning, audience: nil, parts: [slow, part(.fcm, answered: nil)], found: accounts, scanned: 0.5)
        #expect(one.estimatedEnd == Self.noon + .seconds(15))
        let all = progress(
            .planning, audience: nil, parts: [part(answered: nil)], found: [found(ended: 100, pending: 0)], scanned: 0.5
        )
        #expect(all.estimatedAudience == 200 && all.estimatedEnd == nil)
    }

    @Test("needs a scan of at least 2% of the registrations, and at least one device found")
    func littleWalked() {
        func sees(_ scanned: Double?, _ accounts: [ProviderAccount]) -> Bool {
            let parts = accounts.map { part($0.provider, ready: $0.pending, answered: 1_000) }
            let early = progress(.planning, audience: nil, parts: parts, found: accounts, scanned: scanned)
            #expect((early.estimatedEnd != nil) == (early.estimatedAudience != nil))
            return early.estimatedAudience != nil
        }
        let some = [found(ended: 5, pending: 5)]
        #expect(sees(0.02, some) && sees(1, some))
        #expect(!sees(0.019, some) && !sees(nil, some) && !sees(0.5, []))
    }

    @Test("stays unknown while the audience is unknown, pushes are blocked, or no answers arrive")
    func unknown() {
        let parts = [part(ready: 100, answered: 1_000)]
        #expect(progress(parts: parts).estimatedEnd != nil)
        #expect(progress(.planning, audience: nil, parts: parts).estimatedEnd == nil)
        #expect(progress(.paused, parts: parts).estimatedEnd == nil)
        for cause in [PushWait.Cause.onHold, .credential, .credentialRefused, .unreachable, .throttled] {
            #expect(progress(parts: parts, waits: [wait(cause)]).estimatedEnd == nil)
        }
        #expect(progress(parts: [part(ready: 100, answered: 0)]).estimatedEnd == nil)
        #expect(progress(parts: [part(ready: 100, answered: nil)]).estimatedEnd == nil)
    }

    @Test("comes no sooner than the message's rate limit allows, however fast the providers are")
    func rated() {
        let parts = [part(sending: 50, ready: 450, answered: 10_000), part(.fcm, ready: 500, answered: 10_000)]
        let slow = progress(parts: parts, rate: 10)
        #expect(slow.estimatedEnd == Self.noon + .seconds(100))
        #expect(slow.pushesPerSecond == 10)
    }

    @Test("comes no sooner than the last deferred push is due, however far away that is")
    func later() {
        let parts = [part(ready: 100, waiting: 1, answered: 1_000)]
        for seconds in [60, 7_200, 20 * 3_600] {
            let due = Self.noon + .seconds(seconds)
            #expect(progress(parts: parts, waits: [wait(.later)], lastDue: due).estimatedEnd == due)
            let asleep = [part(waiting: 100, answered: nil)]
            #expect(progress(parts: asleep, waits: [wait(.later)], lastDue: due).estimatedEnd == due)
        }
        let soon = progress(
            parts: [part(ready: 900, waiting: 100, answered: 1_000)], waits: [wait(.later)],
            lastDue: Self.noon + .seconds(1))
        #expect(soon.estimatedEnd == Self.noon + .seconds(10))
    }

    @Test("no longer needs the pace of a provider that has at most 1% of its pushes left")
    func stragglers() {
        func end(_ left: Int64, ended: Int64, pace: Int64?) -> WallInstant? {
            let parts = [part(ready: 1_000, answered: 100), part(.fcm, sending: left, waiting: 7, answered: pace)]
            return progress(
                parts: parts, waits: [wait(.later)], lastDue: Self.noon + .seconds(300),
                found: [found(ended: 0, pending: 1_000), found(.fcm, ended: ended, pending: left + 7)]
            ).estimatedEnd
        }
        #expect(end(5, ended: 500, pace: nil) == Self.noon + .seconds(300))
        #expect(end(5, ended: 499, pace: nil) == nil)
        #expect(end(5, ended: 500, pace: 1) == Self.noon + .seconds(300))
        #expect(end(50, ended: 5_000, pace: 1) == Self.noon + .seconds(570))
    }

    @Test("becomes unknown if no push has ended for much longer than the time that was estimated")
    func late() {
        func end(idle: Duration) -> WallInstant? {
            progress(parts: [part(sending: 100, answered: 100, idle: idle)]).estimatedEnd
        }
        #expect(end(idle: .seconds(25)) == Self.noon + .seconds(10))
        #expect(end(idle: .milliseconds(25_001)) == nil)
        #expect(end(idle: .seconds(-9)) == Self.noon + .seconds(10))
    }

    @Test("needs a pace above zero, measured over at least two seconds, and has an upper bound")
    func bounds() {
        #expect(Pace(ended: 5, in: .milliseconds(1_999)) == nil)
        #expect(Pace(ended: 5, in: .seconds(-10)) == nil, "the database's clock stepped back")
        #expect(Pace(ended: 5, in: .seconds(2))?.perSecond == 2.5)
        #expect(Pace(ended: 1, in: .seconds(100))?.lasting(for: .max) == nil)
        #expect(Pace(ended: 1, in: .seconds(100))?.lasting(for: 0) == .zero)
        #expect(Pace(ended: 0, in: .seconds(100)) == nil)
    }

    @Test("causes no progress update by itself; a changed count or state does")
    func news() {
        let before = progress(parts: [part(ready: 100, answered: 1_000)])
        #expect(before.isSame(as: progress(parts: [part(ready: 100, answered: 900)])))
        #expect(!before.isSame(as: progress(parts: [part(ready: 99, answered: 1_000)])))
        #expect(!before.isSame(as: progress(.paused, parts: [part(ready: 100, answered: 1_000)])))
    }
}
