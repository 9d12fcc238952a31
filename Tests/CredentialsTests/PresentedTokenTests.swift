import Basis
import Credentials
import ProviderInterface
import Testing

@Suite("The provider token that lanes read")
struct PresentedTokenTests {
    private static let dawn = WallInstant(secondsSince1970: 1_800_000_000)

    private func token(_ name: String, issuedAt: WallInstant = dawn) -> ProviderToken {
        ProviderToken(text: Array(name.utf8), issuedAt: issuedAt)
    }

    private func text(_ presented: PresentedToken) -> String? {
        presented.authorization.map { String(decoding: $0.value, as: UTF8.self) }
    }

    @Test("becomes available after its fetch, and stays the same until its renewal")
    func fetched() {
        var presented = PresentedToken()
        let asked = presented.next(now: Self.dawn)
        #expect(asked == .renew(staleBefore: Self.dawn + .seconds(-3_000)))
        #expect(presented.authorization == nil)
        presented.adopt(token("first"))
        #expect(text(presented) == "bearer first")
        let generation = presented.authorization?.generation
        _ = presented.next(now: Self.dawn + .seconds(10))
        #expect(presented.authorization?.generation == generation)
    }

    @Test("ignores late answers to the token that it replaced")
    func lateAnswers() {
        var presented = PresentedToken()
        _ = presented.next(now: Self.dawn)
        presented.adopt(token("first"))
        let first = presented.authorization?.generation ?? 0
        let later = Self.dawn + .seconds(1_500)
        let isClockSuspected = presented.refusedAsExpired(first, now: later)
        let next = presented.next(now: later)
        #expect(isClockSuspected, "the token is young by the gateway's clock")
        #expect(next == .renew(staleBefore: Self.dawn))
        #expect(presented.authorization == nil, "the refused token is not presented again")
        presented.adopt(token("second", issuedAt: later))
        for _ in 0..<1_000 { _ = presented.refusedAsExpired(first, now: later) }
        _ = presented.next(now: later)
        #expect(text(presented) == "bearer second")
    }

    @Test("becomes unusable after a refusal of any of its own generations")
    func ownGenerations() {
        var presented = PresentedToken()
        _ = presented.next(now: Self.dawn)
        presented.adopt(token("first"))
        let first = presented.authorization?.generation ?? 0
        presented.presentAnew()
        #expect(presented.authorization?.generation == first + 1)
        _ = presented.refusedAsExpired(first, now: Self.dawn)
        _ = presented.next(now: Self.dawn + .seconds(1))
        #expect(presented.authorization == nil)
    }

    @Test("returns to the lanes if the clock steps ahead and back")
    func comesBack() {
        var presented = PresentedToken()
        _ = presented.next(now: Self.dawn)
        presented.adopt(token("first"))
        // The clock stepped far ahead and then back.
        _ = presented.next(now: Self.dawn + .seconds(7_200))
        #expect(presented.authorization == nil)
        presented.renewalFailed(now: Self.dawn + .seconds(7_200))
        _ = presented.next(now: Self.dawn + .seconds(20))
        #expect(text(presented) == "bearer first")
    }
}
