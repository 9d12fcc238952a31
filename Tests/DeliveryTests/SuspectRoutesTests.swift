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
}
