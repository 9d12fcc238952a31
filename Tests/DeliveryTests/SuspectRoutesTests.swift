import Basis
import Delivery
import Model
import Testing

@Suite("A route whose found tokens stay where they are")
struct SuspectRoutesTests {
    private static func at(_ seconds: Int64) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: seconds * 1_000_000_000)
    }

    @Test("is told of once for as long as it lasts, and again when it comes back after a window without it")
    func once() {
        var held = SuspectRoutes()
        func isNew(_ route: Int64, at seconds: Int64) -> Bool {
            held.isNew(RouteID(route), now: Self.at(seconds), quiet: .seconds(600))
        }
        #expect(isNew(1, at: 10))
        #expect(!isNew(1, at: 500) && !isNew(1, at: 1_100))
        #expect(isNew(2, at: 1_100), "another route's is news of its own")
        #expect(!isNew(1, at: 1_700))
        #expect(isNew(1, at: 2_301))
    }
}
