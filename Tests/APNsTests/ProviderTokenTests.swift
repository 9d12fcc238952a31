import APNs
import Basis
import Encodings
import ProviderInterface
import Testing

private let start = WallInstant(secondsSince1970: 1_796_126_400)

private func minutes(_ count: Int64) -> Duration { .seconds(count * 60) }

/// The monotonic clock's time at an instant, if nobody sets the other clock.
private func monotonic(_ instant: WallInstant) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: (instant - start).wholeNanoseconds)
}

private func token(_ name: String = "a", at instant: WallInstant = start) -> ProviderToken {
    ProviderToken(text: Array(name.utf8), issuedAt: instant)
}

@Suite("A provider token's text")
struct ProviderTokenTextTests {
    @Test("names key, team and issue time, and carries R and S as its signature")
    func text() throws {
        let identity = try #require(APNsKeyIdentity(keyID: "ABCDE12345", teamID: "TEAMID1234"))
        let issuedAt = WallInstant(microseconds: 1_796_126_400_999_999)
        let input = ProviderTokenText.signingInput(identity: identity, issuedAt: issuedAt)
        let parts = input.split(separator: UInt8(ascii: "."))
        #expect(Base64.urlDecode(parts[0]) == Array(#"{"alg":"ES256","kid":"ABCDE12345"}"#.utf8))
        #expect(Base64.urlDecode(parts[1]) == Array(#"{"iss":"TEAMID1234","iat":1796126400}"#.utf8))
        let token = ProviderTokenText.assemble(
            signingInput: input, signature: [UInt8](repeating: 0xff, count: 64), issuedAt: issuedAt)
        #expect(token.text.count == 184)
        #expect(token.authorization.count == 191)
        #expect(token.issuedAt == WallInstant(secondsSince1970: 1_796_126_400))
        #expect(!token.description.contains("eyJ"))
    }

    @Test(
        "needs a key id and a team id of ten letters or digits each",
        arguments: ["", "ABCDE1234", "ABCDE123456", "abcde12345", "ABCDE 1234", "ABCDE1234\""])
    func identities(id: String) {
        #expect(APNsKeyIdentity(keyID: id, teamID: "TEAMID1234") == nil)
        #expect(APNsKeyIdentity(keyID: "TEAMID1234", teamID: id) == nil)
    }
}

@Suite("The cache for a key's provider token")
struct ProviderTokenCacheTests {
    private func cacheHolding(_ first: ProviderToken = token()) -> ProviderTokenCache {
        var cache = ProviderTokenCache(.apns)
        _ = cache.next(now: monotonic(start), wall: start)
        cache.adopt(first, now: monotonic(start))
        return cache
    }

    private func expect(
        _ cache: inout ProviderTokenCache, at now: WallInstant, _ expected: ProviderTokenCache.Next,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let next = cache.next(now: monotonic(now), wall: now)
        #expect(next == expected, sourceLocation: sourceLocation)
    }

    private func expectRefusal(
        _ cache: inout ProviderTokenCache, of token: ProviderToken, at now: WallInstant,
        _ expected: ProviderTokenCache.Refusal, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let refusal = cache.refusedAsExpired(token, now: monotonic(now), wall: now)
        #expect(refusal == expected, sourceLocation: sourceLocation)
    }

    @Test("lets one caller fetch the token while the others wait")
    func firstOne() {
        var cache = ProviderTokenCache(.apns)
        expect(&cache, at: start, .renew(staleBefore: start + minutes(-50)))
        expect(&cache, at: start, .wait(until: nil))
        cache.adopt(token(), now: monotonic(start))
        expect(&cache, at: start, .use(token()))
    }

    @Test("renews the token from minute 50 on, and stops using it in its last minute")
    func ages() {
        var cache = cacheHolding()
        expect(&cache, at: start + .seconds(50 * 60 - 1), .use(token()))
        expect(&cache, at: start + minutes(50), .useAndRenew(token(), staleBefore: start))
        expect(&cache, at: start + minutes(51), .use(token()))
        expect(&cache, at: start + minutes(59), .wait(until: nil))
        let next = token("b", at: start + minutes(50))
        cache.adopt(next, now: monotonic(start + minutes(59)))
        expect(&cache, at: start + minutes(59), .use(next))
    }

    @Test("keeps using the token after a failed renewal, and repeats it after a pause")
    func failures() {
        var cache = cacheHolding()
        let failedAt = start + minutes(50)
        _ = cache.next(now: monotonic(failedAt), wall: failedAt)
        cache.renewalFailed(now: monotonic(failedAt))
        expect(&cache, at: start + minutes(50) + .seconds(4), .use(token()))
        expect(&cache, at: start + minutes(50) + .seconds(5), .useAndRenew(token(), staleBefore: start + .seconds(5)))
        cache.renewalFailed(now: monotonic(start + minutes(59)))
        expect(&cache, at: start + minutes(59), .wait(until: monotonic(start + minutes(59) + .seconds(5))))
        expect(&cache, at: start + minutes(60), .renew(staleBefore: start + minutes(10)))
    }

    @Test("replaces the token after APNs refuses it as expired")
    func refused() {
        var cache = cacheHolding()
        let now = start + minutes(55)
        expectRefusal(&cache, of: token(), at: now, .toRenew(isYoung: false))
        expectRefusal(&cache, of: token(), at: now, .known)
        expect(&cache, at: now, .renew(staleBefore: start))
        cache.adopt(token("b", at: now), now: monotonic(now))
        expect(&cache, at: now, .use(token("b", at: now)))
        // Late answers from old connections refer to the old token.
        expectRefusal(&cache, of: token(), at: now, .known)
        expect(&cache, at: now, .use(token("b", at: now)))
    }

    @Test("goes on using a refused token for 20 minutes, and then renews it")
    func refusedYoung() {
        var cache = cacheHolding()
        expectRefusal(&cache, of: token(), at: start + minutes(1), .kept)
        expectRefusal(&cache, of: token(), at: start + minutes(2), .kept)
        expect(&cache, at: start + .seconds(20 * 60 - 1), .use(token()))
        expect(&cache, at: start + minutes(20), .useAndRenew(token(), staleBefore: start))
        expect(&cache, at: start + minutes(20), .use(token()))
        let next = token("b", at: start + minutes(20))
        cache.adopt(next, now: monotonic(start + minutes(20)))
        expect(&cache, at: start + minutes(40), .use(next))
    }

    @Test("suspects the clock if APNs refuses a token that is younger than 50 minutes")
    func clockSkew() {
        var cache = cacheHolding()
        expectRefusal(&cache, of: token(), at: start + minutes(20), .toRenew(isYoung: true))
        expect(&cache, at: start + minutes(20), .renew(staleBefore: start))
        cache.adopt(token(), now: monotonic(start + minutes(20)))
        // The database had no younger token: still the refused one.
        expect(&cache, at: start + minutes(20), .renew(staleBefore: start))
    }

    @Test("renews a refused token after 20 minutes, whatever becomes of the clock meanwhile")
    func clockIsSet() {
        var cache = cacheHolding()
        let setBack = start + .seconds(-1_800)
        func refusal(at now: WallInstant) -> ProviderTokenCache.Refusal {
            cache.refusedAsExpired(token(), now: monotonic(now), wall: setBack)
        }
        func next(at now: WallInstant) -> ProviderTokenCache.Next { cache.next(now: monotonic(now), wall: setBack) }
        let due = start + minutes(20)
        #expect(refusal(at: start + minutes(1)) == .kept)
        #expect(next(at: due + .seconds(-1)) == .use(token()))
        #expect(next(at: due) == .useAndRenew(token(), staleBefore: start))
        cache.renewalFailed(now: monotonic(due))
        #expect(refusal(at: due) == .toRenew(isYoung: true))
        #expect(next(at: due) == .wait(until: monotonic(due) + ProviderTokenCache.failurePause))
        #expect(next(at: due + ProviderTokenCache.failurePause) == .renew(staleBefore: start))
    }

    @Test("uses a shared token for its whole life although the other process's clock is ahead")
    func clocksDiffer() {
        for ahead in [minutes(9), minutes(30), minutes(59)] {
            let shared = token(at: start + ahead)
            var cache = cacheHolding(shared)
            expect(&cache, at: start, .use(shared))
            // The token's age counts from its issue time, as APNs counts it.
            expect(&cache, at: start + ahead + minutes(50), .useAndRenew(shared, staleBefore: start + ahead))
        }
    }

    @Test("replaces a shared token if its issue time is too far ahead for APNs")
    func clockOfAnotherWorld() {
        let shared = token(at: start + minutes(60))
        var cache = cacheHolding(shared)
        // The stored token is not younger than this, so the caller gets another one.
        expect(&cache, at: start, .renew(staleBefore: shared.issuedAt))
        let own = token("b", at: start)
        cache.adopt(own, now: monotonic(start))
        expect(&cache, at: start, .use(own))
    }
}
