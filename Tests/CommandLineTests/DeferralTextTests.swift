import CommandLine
import JSON
import Testing

@Suite("The demonstration's account of waits")
struct DeferralTextTests {
    private static func summary(_ refused: (status: Int64, reason: String, count: Int64)...) -> JSONValue {
        [
            "refused": .array(
                refused.map {
                    [
                        "status": .number(.whole($0.status)), "reason": .string($0.reason),
                        "count": .number(.whole($0.count)),
                    ]
                })
        ]
    }

    @Test("names the answer that made pushes wait, by provider, and leaves out dead tokens")
    func deferred() {
        let unregistered = (Int64(410), "Unregistered", Int64(12))
        let before = [Self.summary((503, "ServiceUnavailable", 2)), Self.summary(), Self.summary()]
        let after = [
            Self.summary(unregistered, (429, "TooManyRequests", 40), (503, "ServiceUnavailable", 3)),
            Self.summary(unregistered), Self.summary((503, "UNAVAILABLE", 2)),
        ]
        #expect(
            DeferralText.lines(before: before, after: after) == [
                "40 pushes waited and were sent again: APNs answered 429 TooManyRequests",
                "1 push waited and was sent again: APNs answered 503 ServiceUnavailable",
                "2 pushes waited and were sent again: FCM answered 503 UNAVAILABLE",
            ])
        #expect(DeferralText.lines(before: after, after: after).isEmpty)
    }
}
