import Basis
import Credentials
import Delivery
import Model
import Testing

@Suite("A credential that is being opened")
struct CredentialOpeningsTests {
    private static let now = MonotonicInstant(nanoseconds: 1_000_000_000_000)
    private static let key = CredentialID(7)
    private static let slow = CredentialFault.openingTooSlow(deadline: CredentialOpenings.deadline)

    @Test("is opened once, and its routes wait")
    func once() {
        var openings = CredentialOpenings()
        #expect(openings.next(for: Self.key, now: Self.now) == .open)
        #expect(openings.next(for: Self.key, now: Self.now + .seconds(1)) == .wait)
        openings.ended(Self.key, nil, now: Self.now + .seconds(1))
        #expect(openings.next(for: Self.key, now: Self.now + .seconds(1)) == .open)
    }

    @Test("is unusable after the deadline, which is said once, and is not opened a second time")
    func deadline() {
        var openings = CredentialOpenings()
        _ = openings.next(for: Self.key, now: Self.now)
        let late = Self.now + CredentialOpenings.deadline
        #expect(openings.next(for: Self.key, now: late) == .unusable(Self.slow, isNew: true))
        #expect(openings.next(for: Self.key, now: late + .seconds(60)) == .unusable(Self.slow, isNew: false))
    }

    @Test("that failed is tried again after a pause")
    func failure() {
        var openings = CredentialOpenings()
        _ = openings.next(for: Self.key, now: Self.now)
        openings.ended(Self.key, .overloaded, now: Self.now)
        #expect(openings.next(for: Self.key, now: Self.now + .seconds(1)) == .unusable(.overloaded, isNew: false))
        #expect(openings.next(for: Self.key, now: Self.now + CredentialOpenings.pause) == .open)
    }

    @Test("leaves room for keys that are handed in: those above the bound wait for their turn")
    func bound() {
        var openings = CredentialOpenings()
        for number in 0..<CredentialOpenings.atOnceMax {
            #expect(openings.next(for: CredentialID(Int64(number)), now: Self.now) == .open)
        }
        let next = CredentialID(Int64(CredentialOpenings.atOnceMax))
        #expect(openings.next(for: next, now: Self.now) == .wait)
        openings.ended(CredentialID(0), nil, now: Self.now)
        #expect(openings.next(for: next, now: Self.now) == .open)
    }
}
