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

    @Test("opens once while its routes wait")
    func once() {
        var openings = CredentialOpenings()
        #expect(openings.next(for: Self.key, now: Self.now) == .open)
        #expect(openings.next(for: Self.key, now: Self.now + .seconds(1)) == .wait)
        openings.ended(Self.key, nil, now: Self.now + .seconds(1))
        #expect(openings.next(for: Self.key, now: Self.now + .seconds(1)) == .open)
    }

    @Test("becomes unusable after the deadline, reports that once, and is not opened again")
    func deadline() {
        var openings = CredentialOpenings()
        _ = openings.next(for: Self.key, now: Self.now)
        let late = Self.now + CredentialOpenings.deadline
        #expect(openings.next(for: Self.key, now: late) == .unusable(Self.slow, isNew: true))
        #expect(openings.next(for: Self.key, now: late + .seconds(60)) == .unusable(Self.slow, isNew: false))
    }

    @Test("opens again after a pause if it failed")
    func failure() {
        var openings = CredentialOpenings()
        _ = openings.next(for: Self.key, now: Self.now)
        openings.ended(Self.key, .overloaded, now: Self.now)
        #expect(openings.next(for: Self.key, now: Self.now + .seconds(1)) == .unusable(.overloaded, isNew: false))
        #expect(openings.next(for: Self.key, now: Self.now + CredentialOpenings.pause) == .open)
    }

    @Test("waits its turn while as many others as the limit are being opened")
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
