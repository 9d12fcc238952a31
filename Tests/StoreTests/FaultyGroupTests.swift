import Basis
import Model
import Store
import Synchronization
import Testing

private let dawn = StoreWorld.dawn

@Suite("A faulty message in a group of messages to single devices")
struct FaultyGroupTests {
    private func messages(_ numbers: ClosedRange<UInt64>) -> [MessageID] { numbers.map(StoreWorld.message) }

    @Test("fails alone if its parcel is damaged; the messages before and after it are leased")
    func damagedParcel() async throws {
        try await withStores { world in
            try await world.register(1...9)
            try await world.sendEach((1...9).map { "i\($0)" })
            let bad = try await world.parcel(at: 5)
            try await world.pool.script(#"UPDATE parcels SET members = '\xff' WHERE id = \#(bad)"#)
            #expect(try await world.leaseGroup().map(\.message) == messages(1...5))
            #expect(await fault(of: world) == .damaged("parcel \(bad): parcel_claim, column 12"))
            #expect(try await world.leaseGroup().map(\.message) == messages(7...9))
        }
    }

    private func fault(of world: StoreWorld) async -> StoreFault? {
        do {
            _ = try await world.leaseGroup()
            return nil
        } catch { return error as? StoreFault }
    }

    @Test("fails alone if its members are unreadable in the lease; the others are handed out")
    func unreadable() async throws {
        try await withStores { world in
            try await world.register(1...3)
            try await world.sendEach(["i1", "i2", "i3"], badge: .increment)
            let bad = try await world.parcel(at: 1)
            let gone = try await world.device("i2").id.value
            try await world.pool.script("DELETE FROM registration_pulse WHERE registration_id = \(gone)")
            let reported = Mutex<[StoreFault]>([])
            let parcels = try await world.leaseGroup { fault in reported.withLock { $0.append(fault) } }
            #expect(parcels.map(\.message) == [1, 3].map(StoreWorld.message))
            #expect(reported.withLock { $0 } == [.damaged("parcel \(bad): member_badges, column 0")])
            let replies = await world.stores.parcels.settle(parcels.map { $0.settlingAll() }, now: dawn)
            #expect(replies == [.success(.settled), .success(.settled)])
            // The lease lapses. In a lease of its own, the damage is thrown as an error.
            #expect(try await world.stores.parcels.rescue(now: dawn + .seconds(62)) == 1)
            #expect(await fault(of: world) == .damaged("parcel \(bad): member_badges, column 0"))
        }
    }

    @Test("waits alone for a moment if another transaction has locked its device's row")
    func lockedBadge() async throws {
        try await withStores { world in
            try await world.register(1...4)
            try await world.sendEach(["i1", "i2", "i3", "i4"], badge: .increment)
            let held = try await world.device("i3").id.value
            try await world.holding("registration_pulse WHERE registration_id = \(held)") { () async throws in
                #expect(try await world.leaseGroup().map(\.message) == [1, 2].map(StoreWorld.message))
                #expect(await fault(of: world) == .contended)
                #expect(try await world.leaseGroup().map(\.message) == [StoreWorld.message(4)])
            }
            #expect(try await world.leaseGroup().isEmpty)
            let later = try await world.leaseGroup(at: dawn + .seconds(2))
            #expect(later.map(\.message) == [StoreWorld.message(3)])
            #expect(later.first?.members.map(\.badge) == [1])
        }
    }

    @Test("fails alone if its settlement violates a constraint; the others are settled")
    func refusedSettle() async throws {
        try await withStores { world in
            try await world.register(1...3)
            try await world.sendEach(["i1", "i2", "i3"])
            let settlements = try await world.leaseGroup().map { $0.settlingAll() }
            // The row looks as if no member had been planned.
            try await world.pool.script(
                """
                UPDATE messages SET planned_members = 0, audience = 0 WHERE id = '\(StoreWorld.message(2).value.text)'
                """)
            let replies = await world.stores.parcels.settle(settlements, now: dawn)
            #expect(
                replies == [
                    .success(.settled), .failure(.invalid(constraint: "members_were_planned")), .success(.settled),
                ])
            #expect(try await world.number("SELECT count(*) FROM parcels WHERE state = 2") == 1)
        }
    }

    @Test(
        "fails alone if another transaction has locked its row; the others are settled",
        arguments: ["messages", "parcels"])
    func lockedSettle(table: String) async throws {
        try await withStores { world in
            try await world.register(1...3)
            try await world.sendEach(["i1", "i2", "i3"])
            let settlements = try await world.leaseGroup().map { $0.settlingAll() }
            let row =
                table == "messages"
                ? "messages WHERE id = '\(StoreWorld.message(2).value.text)'"
                : "parcels WHERE id = \(settlements[1].parcel.value)"
            let parcels = world.stores.parcels
            let replies = try await world.holding(row) { await parcels.settle(settlements, now: dawn) }
            #expect(replies == [.success(.settled), .failure(.contended), .success(.settled)])
            let again = await parcels.settle(settlements, now: dawn)
            #expect(
                again == [.success(.fenced(status: nil)), .success(.settled), .success(.fenced(status: nil))])
        }
    }

    @Test("fails quickly instead of waiting if it is settled alone and its row is locked")
    func lockedAlone() async throws {
        try await withStores { world in
            try await world.register(1...1)
            try await world.sendEach(["i1"])
            let settlement = try #require(try await world.leaseGroup().first).settlingAll()
            let parcels = world.stores.parcels
            let row = "messages WHERE id = '\(StoreWorld.message(1).value.text)'"
            for locked in [LockedRows.waitBriefly, .pass] {
                let replies = try await world.holding(row) {
                    await parcels.settle([settlement], locked: locked, now: dawn)
                }
                #expect(replies == [.failure(.contended)])
            }
            #expect(await parcels.settle([settlement], now: dawn) == [.success(.settled)])
        }
    }

    @Test("fails alone if its content is damaged; the contents of the others are read")
    func damagedContent() async throws {
        try await withStores { world in
            try await world.register(1...3)
            try await world.sendEach(["i1", "i2", "i3"])
            try await world.pool.script(
                "UPDATE messages SET kind = 99 WHERE id = '\(StoreWorld.message(2).value.text)'")
            let found = try await world.stores.messages.contents(messages(1...3))
            #expect(try [found[0], found[2]].map { try $0.get()?.id } == [1, 3].map(StoreWorld.message))
            #expect(found[1] == .failure(.damaged("message_contents_of, column 4")))
        }
    }
}
