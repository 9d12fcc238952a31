import DeliveryRules
import PushModel
import Reactor
import Store
import Testing

// Saturday, 31 October 2026, noon in Greenwich.
private let dawn = StoreWorld.dawn
private let hour: Duration = .seconds(3_600)

@Suite("Messages to single devices of an app with limits")
struct LimitedGroupTests {
    private func badges(_ parcels: [LeasedParcel]) -> [Int32] { parcels.flatMap { $0.members.map(\.badge) } }

    @Test("are leased together, and only those are held back whose device shows a quiet hour")
    func quietHours() async throws {
        try await withStores { world in
            try await world.register(zones: ["Europe/Paris", nil])
            try await world.spare(quiet: (11, 13))
            try await world.sendEach(["i1", "i2", "i1"], badge: .increment)
            let parcels = try await world.leaseGroup()
            #expect(parcels.map(\.message) == [1, 2, 3].map(StoreWorld.message))
            let end = dawn + hour
            #expect(parcels.map(\.holds) == [[], [.quietHours(until: end, isCounted: false)], []])
            #expect(badges([parcels[0], parcels[2]]) == [1, 2])
            #expect(try await world.badges() == [2, 0])
            for (parcel, sent) in zip(parcels, [1, 0, 1]) { #expect(try await world.deliver(parcel).count == sent) }
            #expect(try await world.leaseGroup(at: end + .seconds(-1)).isEmpty)
            let later = try await world.leaseGroup(at: end)
            #expect(later.map(\.message) == [StoreWorld.message(2)] && badges(later) == [1])
            #expect(try await world.deliver(later[0]).count == 1)
            #expect(try await world.badges() == [2, 1])
        }
    }

    @Test("count one after the other for the cap: who has enough with one of them is held back from the next")
    func cap() async throws {
        try await withStores { world in
            try await world.register(users: ["ann", "ann", "bob", nil])
            try await world.spare(cap: 2)
            try await world.sendEach(["i1", "i3", "i2", "i1", "i3", "i4", "i2"], badge: .increment)
            let parcels = try await world.leaseGroup()
            #expect(parcels.map(\.message) == (1...7).map(StoreWorld.message))
            #expect(parcels.map(\.holds) == [[], [], [], [.dailyCap], [], [], [.dailyCap]])
            #expect(try await world.badges() == [1, 1, 2, 1])
            for parcel in parcels { try await world.deliver(parcel) }
            for number in [4, 7] as [UInt64] {
                #expect(
                    try await world.suppressed(number)
                        == [EndingTotal(ending: Ending(.suppressed, "daily_cap"), count: 1)])
            }
        }
    }

    @Test("are judged anew when they are leased again, and who was free before keeps its badge")
    func again() async throws {
        try await withStores { world in
            try await world.register(zones: ["Europe/Paris", "Asia/Tokyo"])
            try await world.spare(quiet: (11, 13))
            try await world.sendEach(["i1", "i2"], badge: .increment)
            #expect(try await world.leaseGroup().map(\.holds) == [[], []])
            let late = dawn + .seconds(100)
            #expect(try await world.stores.parcels.rescue(now: late) == 2)
            try await world.spare(quiet: (12, 14), at: late)
            let again = try await world.leaseGroup(at: late)
            #expect(again.map(\.holds) == [[.quietHours(until: dawn + hour, isCounted: true)], []])
            #expect(try await world.badges() == [1, 1])
        }
    }
}
