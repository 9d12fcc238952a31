import Basis
import Delivery
import Model
import Testing

@Suite("What is remembered of routes' credentials")
struct RouteCredentialCacheTests {
    private static let now = MonotonicInstant(nanoseconds: 1_000_000_000_000)
    private static let route = ServiceRoute(RouteID(7))

    @Test("is used for a few seconds, one that there is none included")
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

    @Test("is not what was read while credentials changed: an app that was deleted would go on sending")
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
