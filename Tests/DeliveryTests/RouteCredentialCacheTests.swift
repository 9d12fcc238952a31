import Basis
import Delivery
import Model
import Testing

@Suite("The cache of routes' credentials")
struct RouteCredentialCacheTests {
    private static let now = MonotonicInstant(nanoseconds: 1_000_000_000_000)
    private static let route = ServiceRoute(RouteID(7))

    @Test("serves an entry for a few seconds, even if it says that there is no credential")
    func remembered() {
        var memory = RouteCredentialCache<Int>()
        memory.store(4, of: Self.route, memory.ticket(now: Self.now))
        memory.store(nil, of: ServiceRoute(RouteID(8)), memory.ticket(now: Self.now))
        let soon = Self.now + .seconds(4)
        #expect(memory.record(of: Self.route, now: soon) == .some(4))
        #expect(memory.record(of: ServiceRoute(RouteID(8)), now: soon) == .some(nil))
        #expect(memory.record(of: ServiceRoute(RouteID(7), .voip), now: soon) == nil)
        #expect(memory.record(of: Self.route, now: Self.now + .seconds(5)) == nil)
    }

    @Test("skips an entry that was read while credentials changed")
    func changedMeanwhile() {
        var memory = RouteCredentialCache<Int>()
        let ticket = memory.ticket(now: Self.now)
        memory.forget()
        memory.store(4, of: Self.route, ticket)
        #expect(memory.record(of: Self.route, now: Self.now) == nil)
        memory.store(nil, of: Self.route, memory.ticket(now: Self.now))
        #expect(memory.record(of: Self.route, now: Self.now) == .some(nil))
    }
}
