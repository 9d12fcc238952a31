import Basis
import LaneRules
import Testing

private func at(_ milliseconds: Int64) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: milliseconds * 1_000_000)
}

@Suite("The delay between failed dials")
struct BackoffTests {
    let backoff = Backoff(floor: .seconds(1), ceiling: .seconds(60))

    @Test("doubles from the floor to the ceiling")
    func doubles() {
        let delays = (1...8).map { backoff.delay(afterFailures: $0, entropy: 0) }
        #expect(delays == [1, 2, 4, 8, 16, 32, 60, 60].map { .seconds($0) })
    }

    @Test(
        "stays in the upper half of its step, whatever the random number",
        arguments: [0, 1, 511, 1_023, 1_024, .max] as [UInt64])
    func jitter(entropy: UInt64) {
        for failures in 1...2_000 {
            let step = backoff.delay(afterFailures: failures, entropy: 0)
            let remaining = backoff.delay(afterFailures: failures, entropy: entropy)
            #expect(remaining <= step && remaining >= step / 2)
        }
    }

    @Test("differs between lanes that failed together")
    func spread() {
        let delays = Set((0..<1_024).map { backoff.delay(afterFailures: 5, entropy: $0) })
        #expect(delays.count > 900)
    }
}

extension Breaker {
    fileprivate func mayDial(_ now: MonotonicInstant) -> Bool { blockedUntil.map { now >= $0 } ?? true }
}

@Suite("A circuit breaker")
struct BreakerTests {
    private func breaker() -> Breaker {
        Breaker(
            backoff: Backoff(floor: .seconds(1), ceiling: .seconds(60)), failuresMax: 2,
            credentialBackoff: .seconds(300))
    }

    @Test("lets the first failure pass, and blocks once at the second")
    func blocks() {
        var breaker = breaker()
        #expect(breaker.failed(.unreachable, now: at(0), entropy: 0) == false)
        #expect(breaker.block == nil)
        #expect(breaker.failed(.unreachable, now: at(2_000), entropy: 0) == true)
        #expect(breaker.block == .unreachable)
        #expect(breaker.failed(.unreachable, now: at(9_000), entropy: 0) == false, "the lane is already blocked")
    }

    @Test("allows no dial before its delay is over")
    func delays() {
        var breaker = breaker()
        #expect(breaker.mayDial(at(0)))
        _ = breaker.failed(.unreachable, now: at(0), entropy: 0)
        #expect(!breaker.mayDial(at(999)))
        #expect(breaker.mayDial(at(1_000)))
    }

    @Test("blocks at once, and for long, after a refused credential")
    func credential() {
        var breaker = breaker()
        #expect(breaker.failed(.credentialRefused, now: at(0), entropy: 0) == true)
        #expect(!breaker.mayDial(at(299_999)))
        breaker.allowNow()
        #expect(breaker.mayDial(at(1)))
        #expect(breaker.block == .credentialRefused, "a retry alone does not lift the block")
    }

    @Test("forgets its failures when a connection works")
    func proved() {
        var breaker = breaker()
        for second in 0..<5 as Range<Int64> { _ = breaker.failed(.tlsRefused, now: at(second * 1_000), entropy: 0) }
        #expect(breaker.proved() == true)
        #expect(breaker.block == nil && breaker.failures == 0 && breaker.mayDial(at(0)))
        #expect(breaker.proved() == false, "only the first working connection lifts the block")
    }
}

@Suite("The pace of dials")
struct DialPaceTests {
    @Test("allows a burst, then one dial in each interval")
    func pace() {
        var pace = DialPace(burst: 3, interval: .milliseconds(100))
        var dials = 0
        for millisecond in 0..<1_000 as Range<Int64> where pace.earliest(at(millisecond)) == nil {
            pace.dialled(at(millisecond))
            dials += 1
        }
        #expect(dials == 3 + 9)
    }

    @Test("restores the burst after a pause")
    func rested() {
        var pace = DialPace(burst: 3, interval: .milliseconds(100))
        for _ in 0..<3 { pace.dialled(at(0)) }
        #expect(pace.earliest(at(0)) == at(100))
        for _ in 0..<3 {
            #expect(pace.earliest(at(1_000)) == nil)
            pace.dialled(at(1_000))
        }
        #expect(pace.earliest(at(1_000)) != nil)
    }
}

@Suite("The reason in a GOAWAY")
struct GoAwayReasonTests {
    private func reason(_ text: String) -> String? { GoAwayReason(debugBytes: Array(text.utf8).span)?.reason }

    @Test("comes from JSON, however it is spaced")
    func reads() {
        #expect(reason(#"{"reason":"Shutdown"}"#) == "Shutdown")
        #expect(reason(#"{ "timestamp" : 1, "reason" : "BadCertificateEnvironment" }"#) == "BadCertificateEnvironment")
    }

    @Test(
        "stays empty if the debug data holds no plausible reason",
        arguments: [
            "", "reason", #"{"reason":}"#, #"{"reason":"#, #"{"reason":"Shut"#, #"{"reason":12}"#, #"{"reason":""}"#,
            #"{"reason":"a\nb"}"#, #"{"reason":"\#(String(repeating: "a", count: 49))"}"#,
            #"{"reason":"3f9a0c51d27be8463f9a0c51d27be846"}"#, "\u{0}\u{ff}",
        ])
    func nothing(text: String) {
        #expect(reason(text) == nil)
    }

    @Test("separates reasons that concern the credential from others")
    func credential() {
        func refuses(_ reason: String) -> Bool? {
            GoAwayReason(debugBytes: Array(#"{"reason":"\#(reason)"}"#.utf8).span)?.refusesCredential
        }
        #expect(refuses("BadCertificate") == true)
        #expect(refuses("BadCertificateEnvironment") == true)
        #expect(refuses("Shutdown") == false)
        #expect(refuses("IdleTimeout") == false)
        #expect(refuses("ExpiredProviderToken") == false, "the next connection carries a new token")
    }

    @Test("parses any bytes without a crash")
    func fuzz() {
        var chance: UInt64 = 88_172_645_463_325_252
        for _ in 0..<2_000 {
            var bytes = Array(#"{"reason":"Shutdown"}"#.utf8)
            for _ in 0..<4 {
                chance ^= chance << 13
                chance ^= chance >> 7
                chance ^= chance << 17
                bytes[Int(chance % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: chance >> 32)
            }
            let length = Int(chance % UInt64(bytes.count + 1))
            _ = GoAwayReason(debugBytes: bytes.span.extracting(0..<length))
        }
    }
}

@Suite("The window of streams")
struct StreamWindowTests {
    @Test("doubles with each round of answers, up to the lane's limit")
    func grows() {
        var window = StreamWindow(ceiling: 2_000)
        var limits = [window.limit]
        for _ in 0..<5_000 {
            window.answered()
            if window.limit != limits.last { limits.append(window.limit) }
        }
        #expect(limits == [128, 256, 512, 1_024, 2_000])
    }

    @Test("shrinks to an eighth of a connection's lifetime if a peer breaks every hundred requests")
    func regularLoss() {
        var window = StreamWindow(ceiling: 2_000)
        var limits: [Int] = []
        for _ in 0..<20 {
            for _ in 0..<97 { window.answered() }
            window.lost()
            limits.append(window.limit)
        }
        #expect(limits.allSatisfy { (8...12).contains($0) })
    }

    @Test("halves after a rare loss, and recovers within thousands of answers")
    func rareLoss() {
        var window = StreamWindow(ceiling: 2_000)
        for _ in 0..<1_000_000 { window.answered() }
        window.lost()
        #expect(window.limit == 1_000)
        for _ in 0..<8_000 { window.answered() }
        #expect(window.limit == 2_000)
    }

    @Test("shrinks once for connections that break together")
    func together() {
        var window = StreamWindow(ceiling: 2_000)
        for _ in 0..<1_000_000 { window.answered() }
        for _ in 0..<8 { window.lost() }
        #expect(window.limit == 1_000)
    }

    @Test("falls to its floor if nothing was ever answered")
    func nothing() {
        var window = StreamWindow(ceiling: 2_000)
        window.lost()
        #expect(window.limit == StreamWindow.floor)
    }
}
