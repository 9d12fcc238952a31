import APNs
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

    /// The monotonic clock's time at an instant, if nobody sets the other clock.
    private func monotonic(_ instant: WallInstant) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: (instant - Self.dawn).wholeNanoseconds)
    }

    private func next(_ presented: inout PresentedToken, at now: WallInstant = dawn) -> ProviderTokenCache.Next {
        presented.next(now: monotonic(now), wall: now)
    }

    private func refusal(
        _ presented: inout PresentedToken, of generation: UInt64, at now: WallInstant
    ) -> ProviderTokenCache.Refusal {
        presented.refusedAsExpired(generation, reason: "ExpiredProviderToken", now: monotonic(now), wall: now)
    }

    /// Returns a token that was fetched at dawn.
    private func fetched() -> PresentedToken {
        var presented = PresentedToken(.apns)
        _ = next(&presented)
        presented.adopt(token("first"), now: monotonic(Self.dawn))
        return presented
    }

    @Test("becomes available after its fetch, and stays the same until its renewal")
    func available() {
        var presented = PresentedToken(.apns)
        let asked = next(&presented)
        #expect(asked == .renew(staleBefore: Self.dawn + .seconds(-3_000)))
        #expect(presented.authorization == nil)
        presented.adopt(token("first"), now: monotonic(Self.dawn))
        #expect(text(presented) == "bearer first")
        let generation = presented.authorization?.generation
        _ = next(&presented, at: Self.dawn + .seconds(10))
        #expect(presented.authorization?.generation == generation)
    }

    @Test("ignores late answers to the token that it replaced")
    func lateAnswers() {
        var presented = fetched()
        let first = presented.authorization?.generation ?? 0
        let later = Self.dawn + .seconds(1_500)
        let refusal = refusal(&presented, of: first, at: later)
        #expect(refusal == .toRenew(isYoung: true), "the token is young by the gateway's clock")
        let next = next(&presented, at: later)
        #expect(next == .renew(staleBefore: Self.dawn))
        #expect(presented.authorization == nil, "the refused token is not presented again")
        presented.adopt(token("second", issuedAt: later), now: monotonic(later))
        for _ in 0..<1_000 {
            let late = self.refusal(&presented, of: first, at: later)
            #expect(late == .known)
        }
        _ = self.next(&presented, at: later)
        #expect(text(presented) == "bearer second")
    }

    @Test("becomes unusable after a refusal of any of its own generations, once it may be replaced")
    func ownGenerations() {
        var presented = fetched()
        let first = presented.authorization?.generation ?? 0
        presented.presentAnew()
        #expect(presented.authorization?.generation == first + 1)
        let later = Self.dawn + .seconds(1_200)
        _ = refusal(&presented, of: first, at: later)
        _ = next(&presented, at: later)
        #expect(presented.authorization == nil)
    }

    @Test("stays available after a refusal while no other may be signed")
    func tooYoung() {
        var presented = fetched()
        let generation = presented.authorization?.generation ?? 0
        let later = Self.dawn + .seconds(60)
        let refusal = refusal(&presented, of: generation, at: later)
        #expect(refusal == .kept)
        let next = next(&presented, at: later)
        #expect(next == .use(token("first")) && presented.authorization?.generation == generation)
    }

    @Test("says why it is missing, in the words of APNs, until there is another one")
    func trouble() {
        var presented = PresentedToken(.apns)
        _ = next(&presented)
        #expect(presented.trouble == nil)
        presented.renewalFailed("no database", now: monotonic(Self.dawn))
        #expect(presented.trouble == "no database")
        let issued = Self.dawn + .seconds(100)
        _ = next(&presented, at: issued)
        presented.adopt(token("first", issuedAt: issued), now: monotonic(issued))
        #expect(presented.trouble == nil)
        let later = Self.dawn + .seconds(1_500)
        _ = refusal(&presented, of: presented.authorization?.generation ?? 0, at: later)
        _ = next(&presented, at: later)
        #expect(presented.authorization == nil && presented.trouble == "ExpiredProviderToken")
    }

    @Test("returns to the lanes if the clock steps ahead and back")
    func comesBack() {
        var presented = fetched()
        let ahead = Self.dawn + .seconds(7_200)
        _ = presented.next(now: monotonic(Self.dawn), wall: ahead)
        #expect(presented.authorization == nil)
        presented.renewalFailed("no database", now: monotonic(Self.dawn))
        _ = next(&presented, at: Self.dawn + .seconds(20))
        #expect(text(presented) == "bearer first")
    }
}
