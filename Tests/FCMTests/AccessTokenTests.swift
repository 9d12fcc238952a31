import Basis
import FCM
import Model
import ProviderInterface
import TestSupport
import Testing

private let start = MonotonicInstant(nanoseconds: 1_000_000_000_000)

private func token(
    _ name: String = "a", at instant: MonotonicInstant = start, lifetime: Duration = .seconds(3_599)
) -> AccessToken {
    AccessToken(text: Array(name.utf8), askedAt: instant, lifetime: lifetime)
}

@Suite("The token endpoint's answer")
struct TokenAnswerTests {
    private func read(_ status: Int, _ body: [UInt8], retryAfter: String = "") -> AccessTokenAnswer {
        FCMTokenAnswer.read(
            status: status, body: body.span, retryAfter: Array(retryAfter.utf8).span, askedAt: start,
            now: WallInstant(secondsSince1970: 1_796_126_400))
    }

    private func read(_ status: Int, _ body: String, retryAfter: String = "") -> AccessTokenAnswer {
        read(status, Array(body.utf8), retryAfter: retryAfter)
    }

    @Test("grants an access token with its lifetime")
    func granted() {
        #expect(
            read(200, #"{"access_token":"ya29.a0...","expires_in":3599,"token_type":"Bearer"}"#)
                == .granted(token("ya29.a0...")))
        #expect(read(200, #"{"access_token":"a","expires_in":1}"#) == .granted(token(lifetime: .seconds(1))))
        #expect(read(200, #"{"access_token":"a"}"#) == .granted(token(lifetime: .seconds(300))))
        #expect(
            read(200, #"{"access_token":"a","expires_in":999999999}"#) == .granted(token(lifetime: .seconds(43_200))))
        #expect(token("secret").authorization == Array("Bearer secret".utf8))
        #expect(!"\(token("secret"))".contains("secret"))
    }

    @Test(
        "counts as a failure if the token or its lifetime is unusable",
        arguments: [
            "", "{}", "[]", "<html>", #"{"access_token":""}"#, #"{"access_token":1}"#, #"{"access_token":"a b"}"#,
            #"{"access_token":"a\r\nb"}"#, #"{"access_token":"é"}"#, #"{"access_token":"a","expires_in":0}"#,
            #"{"access_token":"a","expires_in":-1}"#, #"{"access_token":"a","expires_in":"3599"}"#,
            #"{"access_token":"a","expires_in":1.5}"#, #"{"access_token":"a","token_type":"MAC"}"#,
            #"{"access_token":"\#(String(repeating: "a", count: 8_193))"}"#, #"{"error":"invalid_grant"}"#,
        ])
    func badAnswers(body: String) { #expect(read(200, body) == .failed(reason: "bad_answer", after: nil)) }

    @Test(
        "refuses the account for a reason that needs a person",
        arguments: [
            (
                400, #"{"error":"invalid_grant","error_description":"Invalid JWT Signature."}"#,
                "invalid_grant: Invalid JWT Signature", .credential
            ),
            (
                400, #"{"error":"invalid_grant","error_description":"Invalid grant: account not found"}"#,
                "invalid_grant: Invalid grant: account not found", .credential
            ),
            (
                400,
                #"{"error":"invalid_grant","error_description":"Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. Check your iat and exp values in the JWT claim."}"#,
                "invalid_grant: Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable "
                    + "timeframe. Check your iat and exp values in the JWT claim",
                .clock
            ),
            (
                401, #"{"error":"invalid_client","error_description":"iat timeframe"}"#,
                "invalid_client: iat timeframe", .credential
            ),
            (
                400, #"{"error":"invalid_grant","error_description":"bad eyJhbGciOiJub25lIiwia2lkIjoiMTIzNDU2In0"}"#,
                "invalid_grant", .credential
            ),
            (401, #"{"error":"unauthorized_client"}"#, "unauthorized_client", .credential),
            (403, #"{"error":"access_denied"}"#, "access_denied", .credential),
            (400, #"{"error":"invalid_scope"}"#, "invalid_scope", .ourRequest),
            (400, #"{"error":"invalid_request"}"#, "invalid_request", .ourRequest),
            (400, #"{"error":"unsupported_grant_type"}"#, "unsupported_grant_type", .ourRequest),
            (400, #"{"error":"thought_of_later"}"#, "thought_of_later", .credential),
            (400, #"{"error":{"code":400,"status":"INVALID_ARGUMENT"}}"#, "status_400", .credential),
            (400, #"{"error":"eyJhbGciOi"}"#, "status_400", .credential), (404, "<html>", "status_404", .credential),
        ] as [(Int, String, String, ProviderAlarm)])
    func refused(status: Int, body: String, reason: String, alarm: ProviderAlarm) {
        #expect(read(status, body) == .refused(reason: reason, alarm: alarm))
    }

    @Test(
        "fails for a passing reason, with the pause of Retry-After",
        arguments: [
            (500, "", "status_500"), (503, #"{"error":"internal_failure"}"#, "internal_failure"),
            (502, "<html>", "status_502"), (429, #"{"error":"invalid_grant"}"#, "invalid_grant"),
            (408, "", "status_408"), (400, #"{"error":"temporarily_unavailable"}"#, "temporarily_unavailable"),
            (302, "", "status_302"), (0, "", "status_0"),
        ])
    func failed(status: Int, body: String, reason: String) {
        #expect(read(status, body) == .failed(reason: reason, after: nil))
        #expect(read(status, body, retryAfter: "7") == .failed(reason: reason, after: .seconds(7)))
        let passed = "Sat, 01 Jan 2000 00:00:00 GMT"
        #expect(read(status, body, retryAfter: passed) == .failed(reason: reason, after: nil))
    }

    @Test(
        "counts as a failure or a refusal if it is noise, and never traps",
        arguments: 1...20 as ClosedRange<UInt64>)
    func noise(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let whole = Array(#"{"access_token":"ya29.abc","expires_in":3599,"token_type":"Bearer"}"#.utf8)
        for _ in 0..<300 {
            var body = whole
            for _ in 0...Int.random(in: 0...3, using: &generator) {
                body[Int.random(in: 0..<body.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            }
            if case .granted(let token) = read(200, body) {
                #expect(token.text.allSatisfy { (0x21...0x7e).contains($0) })
                #expect(token.lifetime > .zero)
            }
            let status = Int.random(in: 300...599, using: &generator)
            if case .granted = read(status, body) { Issue.record("a token was granted with status \(status)") }
        }
    }
}

@Suite("The cache for an account's access token")
struct AccessTokenCacheTests {
    private func cacheHolding(_ first: AccessToken = token(), entropy: UInt64 = 0) -> AccessTokenCache {
        var cache = AccessTokenCache()
        _ = cache.next(now: start)
        cache.adopt(first, entropy: entropy)
        return cache
    }

    private func expect(
        _ cache: inout AccessTokenCache, at seconds: Int64, _ expected: AccessTokenCache.Next,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let next = cache.next(now: start + .seconds(seconds))
        #expect(next == expected, sourceLocation: sourceLocation)
    }

    private func expectRefusal(
        _ cache: inout AccessTokenCache, of token: AccessToken, at seconds: Int64,
        _ expected: AccessTokenCache.Refusal, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let refusal = cache.refused(token, now: start + .seconds(seconds))
        #expect(refusal == expected, sourceLocation: sourceLocation)
    }

    @Test("lets one caller request the token while the others wait")
    func firstOne() {
        var cache = AccessTokenCache()
        expect(&cache, at: 0, .renew)
        expect(&cache, at: 0, .wait(until: nil))
        cache.adopt(token(), entropy: 0)
        expect(&cache, at: 0, .use(token()))
    }

    @Test("renews the token five minutes before it expires, and stops using it in its last seconds")
    func ages() {
        var cache = cacheHolding()
        expect(&cache, at: 3_298, .use(token()))
        expect(&cache, at: 3_299, .useAndRenew(token()))
        expect(&cache, at: 3_300, .use(token()))
        expect(&cache, at: 3_568, .use(token()))
        expect(&cache, at: 3_569, .wait(until: nil))
        let next = token("b", at: start + .seconds(3_299))
        cache.adopt(next, entropy: 0)
        expect(&cache, at: 3_569, .use(next))
    }

    @Test("renews a short-lived token after half of its lifetime", arguments: [2, 60, 300, 599] as [Int64])
    func shortLives(seconds: Int64) {
        let short = token(lifetime: .seconds(seconds))
        var cache = cacheHolding(short)
        expect(&cache, at: seconds / 2 - 1, .use(short))
        expect(&cache, at: seconds / 2 + 1, seconds > 2 ? .useAndRenew(short) : .renew)
    }

    @Test("renews the token up to a minute earlier by chance, never later")
    func spread() {
        var latest = cacheHolding(entropy: 1_024)
        expect(&latest, at: 3_298, .use(token()))
        var earliest = cacheHolding(entropy: 1_023)
        expect(&earliest, at: 3_239, .use(token()))
        expect(&earliest, at: 3_240, .useAndRenew(token()))
    }

    @Test("keeps using the token after a failed renewal, and repeats it after doubling pauses")
    func failures() {
        var cache = cacheHolding()
        _ = cache.next(now: start + .seconds(3_300))
        cache.renewalFailed(now: start + .seconds(3_300), entropy: 0)
        expect(&cache, at: 3_300, .use(token()))
        expect(&cache, at: 3_301, .useAndRenew(token()))
        var now: Int64 = 4_000
        for pause in [2, 4, 8, 16, 32, 64, 128, 256, 300, 300] as [Int64] {
            cache.renewalFailed(now: start + .seconds(now), entropy: 0)
            expect(&cache, at: now + pause - 1, .wait(until: start + .seconds(now + pause)))
            expect(&cache, at: now + pause, .renew)
            now += pause
        }
        // After a success the pauses begin short again.
        cache.adopt(token("b", at: start + .seconds(now)), entropy: 0)
        _ = cache.next(now: start + .seconds(now + 3_599))
        cache.renewalFailed(now: start + .seconds(now + 3_599), entropy: 0)
        expect(&cache, at: now + 3_600, .renew)
    }

    @Test("requests a token no sooner than Google asks, spread by chance, after 300 s at most")
    func askedToWait() {
        var cache = AccessTokenCache()
        _ = cache.next(now: start)
        cache.renewalFailed(now: start, after: .seconds(60), entropy: 512)
        expect(&cache, at: 60, .wait(until: start + .milliseconds(67_500)))
        cache.renewalFailed(now: start, after: .seconds(86_400), entropy: 0)
        expect(&cache, at: 0, .wait(until: start + .seconds(300)))
    }

    @Test("requests a token again a minute after Google refused the account")
    func accountRefused() {
        var cache = AccessTokenCache()
        _ = cache.next(now: start)
        cache.renewalRefused(now: start, entropy: 0)
        expect(&cache, at: 59, .wait(until: start + .seconds(60)))
        expect(&cache, at: 60, .renew)
    }

    @Test("renews the token once after FCM refuses it, however many answers say so")
    func refused() {
        var cache = cacheHolding()
        expectRefusal(&cache, of: token(), at: 10, .toRenew)
        expectRefusal(&cache, of: token(), at: 10, .known)
        expect(&cache, at: 10, .renew)
        expect(&cache, at: 10, .wait(until: nil))
        let next = token("b", at: start + .seconds(10))
        cache.adopt(next, entropy: 0)
        // Late answers refer to the old token.
        expectRefusal(&cache, of: token(), at: 11, .known)
        expect(&cache, at: 11, .use(next))
    }

    @Test("waits a minute if FCM refuses a new token too")
    func refusedAgain() {
        var cache = cacheHolding()
        expectRefusal(&cache, of: token(), at: 10, .toRenew)
        _ = cache.next(now: start + .seconds(10))
        let next = token("b", at: start + .seconds(10))
        cache.adopt(next, entropy: 0)
        expectRefusal(&cache, of: next, at: 12, .again)
        expect(&cache, at: 12, .wait(until: start + .seconds(72)))
        expect(&cache, at: 72, .renew)
        let third = token("c", at: start + .seconds(72))
        cache.adopt(third, entropy: 0)
        // A token that served for a while was good: it has been revoked, and a new one is requested at once.
        expectRefusal(&cache, of: third, at: 88, .toRenew)
        expect(&cache, at: 88, .renew)
    }

    @Test("never uses a renewed token that equals the refused one")
    func sameAgain() {
        var cache = cacheHolding()
        expectRefusal(&cache, of: token(), at: 10, .toRenew)
        _ = cache.next(now: start + .seconds(10))
        cache.adopt(token(at: start + .seconds(10)), entropy: 0)
        expect(&cache, at: 10, .wait(until: start + .seconds(70)))
    }

    @Test("requests one token only if FCM refuses the current one during a renewal")
    func refusedWhileRenewing() {
        var cache = cacheHolding()
        expect(&cache, at: 3_300, .useAndRenew(token()))
        expectRefusal(&cache, of: token(), at: 3_301, .toRenew)
        expect(&cache, at: 3_301, .wait(until: nil))
        cache.renewalFailed(now: start + .seconds(3_302), entropy: 0)
        expect(&cache, at: 3_302, .wait(until: start + .seconds(3_303)))
        expect(&cache, at: 3_303, .renew)
    }
}
