import Model
import Testing
import Worlds

@Suite("The time at which a push lost its device")
struct OwnerRecordTests {
    typealias Owner = OwnerRecord.Owner

    private static let (ada, eve, bob) = (
        Owner.user("ada", tags: []), Owner.user("eve", tags: []), Owner.user("bob", tags: [])
    )

    @Test(
        "dates from the first change since which no owner fitted",
        arguments: [
            ([], nil), ([eve], 1), ([ada], nil), ([eve, bob], 1), ([eve, ada], nil), ([eve, ada, bob, eve], 3),
            ([.otherInstallation, eve, .removed], 1), ([.otherInstallation, ada], nil), ([ada, .removed], 2),
        ] as [([Owner], Int64?)])
    func lost(owners: [Owner], change: Int64?) {
        let registration = RegistrationID(1)
        var record = OwnerRecord()
        for (place, owner) in owners.enumerated() {
            record.note(owner, of: registration, at: SimulatedTime(nanoseconds: Int64(place + 1)))
        }
        let lost = record.lost(registration) { $0 == Self.ada }
        #expect(lost?.nanoseconds == change)
    }
}
