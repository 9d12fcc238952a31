import Basis
import Postgres
import Server
import Testing

@Suite("A condition of the gateway's database")
struct DatabaseImpairmentTests {
    private static let start = MonotonicInstant(nanoseconds: 0)
    private static let quiet = DatabaseImpairment.quietMin

    @Test("begins with the first failure, and is news once")
    func begins() {
        var impairment = DatabaseImpairment()
        #expect(impairment.condition == nil)
        #expect(impairment.failed(.full, now: Self.start) == .began(.full))
        #expect(impairment.failed(.full, now: Self.start + .seconds(1)) == nil)
        #expect(impairment.condition == .full)
    }

    @Test("ends with a probe that passes, once no statement has failed for a while")
    func ends() {
        var impairment = DatabaseImpairment()
        _ = impairment.failed(.readOnly, now: Self.start)
        _ = impairment.failed(.readOnly, now: Self.start + .seconds(5))
        #expect(impairment.passed(now: Self.start + Self.quiet) == nil)
        #expect(impairment.condition == .readOnly)
        let end = Self.start + .seconds(5) + Self.quiet
        #expect(impairment.passed(now: end) == .ended(.readOnly, after: .seconds(5) + Self.quiet))
        #expect(impairment.condition == nil && impairment.passed(now: end) == nil)
    }

    @Test("gives way to another condition only when it is quiet")
    func alternates() {
        var impairment = DatabaseImpairment()
        _ = impairment.failed(.full, now: Self.start)
        #expect(impairment.failed(.failing, now: Self.start + .seconds(1)) == nil)
        #expect(impairment.condition == .full)
        #expect(impairment.failed(.failing, now: Self.start + Self.quiet) == .began(.failing))
    }
}
