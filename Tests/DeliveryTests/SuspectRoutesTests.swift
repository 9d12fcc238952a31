import Basis
import Delivery
import Model
import Testing

@Suite("A route whose found tokens are not moved")
struct SuspectRoutesTests {
    private static func at(_ seconds: Int64) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: seconds * 1_000_000_000)
    }

    @Test("causes one report while this lasts, and another one after a quiet window")
    func once() {
        var held = SuspectRoutes()
        func isNew(_ route: Int64, at seconds: Int64) -> Bool {
            held.isNew(RouteID(route), now: Self.at(seconds), quiet: .seconds(600))
        }
        #expect(isNew(1, at: 10))
        #expect(!isNew(1, at: 500) && !isNew(1, at: 1_100))
        #expect(isNew(2, at: 1_100), "another route is reported separately")
        #expect(!isNew(1, at: 1_700))
        #expect(isNew(1, at: 2_301))
    }

    @Test("causes a report at every interval, however often it is seen")
    func every() {
        var held = SuspectRoutes()
        let reported = [10, 25, 40, 609, 610, 625, 1_210].filter {
            held.isDue(RouteID(1), now: Self.at(Int64($0)), every: .seconds(600))
        }
        #expect(reported == [10, 610, 1_210])
        let other = held.isDue(RouteID(2), now: Self.at(1_211), every: .seconds(600))
        #expect(other, "another route is reported separately")
    }
}
