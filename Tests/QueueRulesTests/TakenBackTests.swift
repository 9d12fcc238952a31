import Basis
import Model
import QueueRules
import Testing

private typealias Samples = ParcelRunSamples

@Suite("The increment of a badge")
struct TakenBackTests {
    /// Returns the registrations whose increment is taken back when the first member's push ends so.
    private func takenBack(
        _ outcome: Outcome, status: MemberStatus = .present, lapses: Int16 = 0, answerLost: Bool = false,
        retrySpent: Duration = .zero, expiresAfter: Duration = .seconds(86_400), isRepeatable: Bool = true,
        _ change: (inout LeasedParcel) -> Void = { $0.countsBadges = true }
    ) throws -> [Int64] {
        var parcel = Samples.parcel(
            [status], lapses: lapses, retrySpent: retrySpent, answerLost: answerLost, expiresAfter: expiresAfter)
        change(&parcel)
        var run = Samples.run(parcel, isRepeatable: isRepeatable)
        run.record(outcome, for: 0)
        let taken = run.settlement()
        let settlement = try #require(taken)
        #expect(settlement.pendingAfter == 0 && settlement.remainders.isEmpty)
        return settlement.takenBack.map(\.value)
    }

    private let rejected = Samples.rejection(.message, "PayloadTooLarge")

    @Test("ends with a push that ends without any chance of having been shown")
    func unshown() throws {
        #expect(try takenBack(rejected) == [101])
        #expect(try takenBack(Samples.rejection(.tokenUnregistered, "Unregistered")) == [101])
        #expect(try takenBack(rejected, status: .excluded(.user)) == [101])
        #expect(try takenBack(.withheld(reason: TerminalReason.nothingToShow)) == [101])
        #expect(try takenBack(rejected, expiresAfter: .zero) == [101])
        let busy = Outcome.deferred(after: nil, .providerUnavailable)
        #expect(try takenBack(busy, retrySpent: .seconds(7_200)) == [101])
        #expect(
            try takenBack(rejected) { parcel in
                parcel.countsBadges = true
                parcel.deferrals = [.quietHours(until: parcel.expiresAt, isCounted: true)]
            } == [101])
    }

    @Test("stays if the push was accepted or may have been shown, at this attempt or an earlier one")
    func shown() throws {
        #expect(try takenBack(.accepted) == [])
        #expect(try takenBack(.unknown(.connectionLost), isRepeatable: false) == [])
        #expect(try takenBack(.withheld(reason: TerminalReason.nothingToShow), answerLost: true) == [])
        #expect(try takenBack(rejected, lapses: 1) == [])
        #expect(try takenBack(rejected, answerLost: true) == [])
        #expect(try takenBack(rejected, answerLost: true, expiresAfter: .zero) == [])
    }

    @Test("stays untouched for a member that never had it")
    func uncounted() throws {
        #expect(try takenBack(rejected) { _ in } == [])
        #expect(try takenBack(rejected, status: .deleted) == [])
        #expect(
            try takenBack(rejected) { parcel in
                parcel.countsBadges = true
                parcel.uncounted = [true]
                parcel.deferrals = [.dailyCap]
            } == [])
    }

    @Test("ends once, with the settle that ends the push")
    func once() {
        var parcel = Samples.parcel([.present, .present])
        parcel.countsBadges = true
        var run = Samples.run(parcel)
        run.record(rejected, for: 1)
        let first = run.settlement()
        #expect(first?.takenBack == [RegistrationID(102)])
        _ = run.concludeSettle(.settled)
        run.record(rejected, for: 0)
        let second = run.settlement()
        #expect(second?.takenBack == [RegistrationID(101)])
    }

    @Test("ends with a parcel that ends unsent, for the members that had it")
    func unsent() {
        func takenBack(mayHaveBeenShown: Bool, countsBadges: Bool = true) -> [Int64] {
            UnsentParcel(
                id: ParcelID(1), message: MessageID(UniversalID(high: 1, low: 2)), route: Samples.route, epoch: 1,
                settles: 0, attempt: 0, mayHaveBeenShown: mayHaveBeenShown, countsBadges: countsBadges,
                members: [101, 102, 103].map { RegistrationID($0) }, settledBits: [0b001], deferredBits: [0b010]
            ).settlement(isCancelled: true).takenBack.map(\.value)
        }
        #expect(takenBack(mayHaveBeenShown: false) == [103])
        #expect(takenBack(mayHaveBeenShown: true) == [])
        #expect(takenBack(mayHaveBeenShown: false, countsBadges: false) == [])
    }
}
