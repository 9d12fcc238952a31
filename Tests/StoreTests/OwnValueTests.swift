import Basis
import Content
import Encodings
import Model
import QueueRules
import Store
import Testing

private let dawn = StoreWorld.dawn

extension StoreWorld {
    /// A value that no other member has.
    fileprivate static func ownValue(_ member: RegistrationID, bytes: Int = 2_048) -> [UInt8] {
        var value = Array("for \(member.value) alone; ".utf8)
        while value.count < bytes { value += value }
        return Array(value.prefix(bytes))
    }

    /// Writes a message with a value of each member's own.
    @discardableResult
    fileprivate func sendValued(
        _ members: [RegistrationID], number: UInt64 = 1, bytes: Int = 2_048, membersMax: Int = 5_000
    ) async throws -> MessageID {
        let message = newMessage(number)
        let route = try await route()
        // The order of the receivers does not matter.
        let receivers = members.reversed().map {
            ValuedReceiver($0, on: route, value: Self.ownValue($0, bytes: bytes))
        }
        let written = try await stores.messages.write(
            message, to: receivers, parcelMembersMax: membersMax, now: Self.dawn)
        #expect(written.ready.map(\.route) == [route])
        return message.id
    }

    fileprivate func ownValues(
        of members: [RegistrationID], in message: MessageID = message(1)
    ) async throws -> [[UInt8]] {
        let values = try await stores.parcels.values(of: members, [.own], in: message, bytesMax: 1 << 30)
        #expect(values.readCount == members.count)
        return (0..<values.readCount).map { Array(values.bytes[values.range(of: $0, field: 0)]) }
    }

    /// Registers many devices, in batches that a server takes at once.
    fileprivate func registerMany(_ count: Int) async throws -> [RegistrationID] {
        var ids: [RegistrationID] = []
        for start in stride(from: 1, through: count, by: 2_000) {
            ids += try await register(start...min(start + 1_999, count))
        }
        return ids.sorted()
    }

    /// The number of chunks that have some bytes anywhere.
    fileprivate func chunks(with bytes: [UInt8]) async throws -> Int {
        try await number(
            #"""
            SELECT count(*) FROM own_values
            WHERE position('\x\#(Hexadecimal.text(bytes))'::bytea IN value_bytes) > 0
            """#)
    }

    /// The remainder that tries all members in the other environment.
    fileprivate func crossEnvironment(_ parcel: LeasedParcel) async throws -> Remainder {
        let origin = OriginRejection(
            route: try await route(), generation: TokenGeneration(1), reason: "BadDeviceToken", asOf: Self.dawn,
            until: Self.dawn + .seconds(300))
        return Remainder(
            route: try await route(.sandbox), dueAfter: .zero, attempt: 1, lapses: 0, retrySpent: .zero,
            answerLost: false, cause: .otherEnvironment, origin: origin, members: parcel.members.map(\.registration))
    }
}

@Suite("Members' own values in a message")
struct OwnValueTests {
    @Test("reach 10,000 devices over remainders, the other environment, a dead owner and a bisection")
    func everywhere() async throws {
        try await withStores { world in
            let ids = try await world.registerMany(10_000)
            try await world.sendValued(ids)
            // A mebibyte holds 512 values of 2 KiB.
            #expect(try await world.number("SELECT count(*) FROM parcels") == 20)
            #expect(try await world.number("SELECT max(member_count) FROM parcels") == 512)
            var received: [RegistrationID: [UInt8]] = [:]
            func receive(_ parcel: LeasedParcel, _ range: Range<Int>) async throws {
                let members = parcel.members.map(\.registration)
                let values = try await world.ownValues(of: members, in: parcel.message)
                for place in range {
                    let earlier = received.updateValue(values[place], forKey: members[place])
                    #expect(earlier == nil)
                }
            }
            let partial = try #require(try await world.lease())
            try await receive(partial, 0..<212)
            try await world.settle(
                partial.settling(
                    [(0..<212, TerminalStatus(.accepted))], remainders: [partial.remainder(212..<512)]))
            let refused = try #require(try await world.lease())
            try await world.settle(refused.settling([], remainders: [try await world.crossEnvironment(refused)]))
            let poisoned = try #require(try await world.lease())
            #expect(try await world.lease(owner: StoreWorld.bob) != nil)
            try await world.pool.script("UPDATE parcels SET lapses = 2 WHERE id = \(poisoned.id.value)")
            let later = dawn + .seconds(61)
            #expect(try await world.stores.parcels.rescue(now: later) == 2)
            let bisected = try #require(try await world.lease(scope: .lapsed, at: later))
            #expect(bisected.id == poisoned.id)
            var run = ParcelRun(
                parcel: bisected, leasedAt: MonotonicInstant(nanoseconds: 0), policy: RetryPolicy(), isRepeatable: true)
            let settlement = run.takeSettlement()?.settlement
            let halves = try #require(settlement)
            #expect(halves.remainders.map(\.members.count) == [256, 256])
            try await world.settle(halves, at: later)
            let last = later + .seconds(5)
            let rounds: [(PushEnvironment, LeaseScope)] = [
                (.production, .ordinary), (.production, .lapsed), (.sandbox, .ordinary),
            ]
            for (environment, scope) in rounds {
                while let parcel = try await world.lease(on: environment, scope: scope, at: last) {
                    try await receive(parcel, 0..<parcel.members.count)
                }
            }
            #expect(received.count == ids.count)
            for id in ids { #expect(received[id] == StoreWorld.ownValue(id)) }
        }
    }

    @Test("come from as many chunks as the members lie in, far apart or close together")
    func sparse() async throws {
        try await withStores { world in
            let ids = try await world.registerMany(2_000)
            let members = Array(ids.prefix(1_500))
            try await world.sendValued(members)
            // 32 values of 2 KiB share a chunk, and a query returns 16 chunks.
            #expect(try await world.number("SELECT count(*) FROM own_values") == 47)
            for step in [1, 7, 40, 100] {
                let asked = stride(from: 0, to: members.count, by: step).map { members[$0] }
                #expect(try await world.ownValues(of: asked) == asked.map { StoreWorld.ownValue($0) })
            }
            let others = Array(ids.suffix(500))
            #expect(try await world.ownValues(of: others) == others.map { _ in [] })
            let mixed = [members[1_499], others[0], others[499]]
            #expect(try await world.ownValues(of: mixed) == [StoreWorld.ownValue(mixed[0]), [], []])
            #expect(try await world.ownValues(of: mixed, in: StoreWorld.message(2)) == [[], [], []])
        }
    }

    @Test("stand in the order of the requested fields, beside those of the devices")
    func besideFields() async throws {
        try await withStores { world in
            let ids = try await world.register(1...3)
            try await world.sendValued(ids, bytes: 16)
            #expect(try await world.stores.registry.removeDevice(app: world.app, installation: "i2") == 1)
            let fields: [DeviceField] = [.text(.installation), .own, .text(.profile(.user))]
            let values = try await world.stores.parcels.values(of: ids, fields, in: StoreWorld.message(1))
            #expect(values.readCount == 3)
            for (place, id) in ids.enumerated() {
                let texts = (0..<3).map { Array(values.bytes[values.range(of: place, field: $0)]) }
                let name: [UInt8] = place == 1 ? [] : Array("i\(place + 1)".utf8)
                #expect(texts == [name, StoreWorld.ownValue(id, bytes: 16), []])
            }
        }
    }

    @Test("all fit into the read of their parcel, and a larger parcel's read stops at the limit")
    func bounded() async throws {
        try await withStores { world in
            let ids = try await world.registerMany(600)
            try await world.sendValued(ids, bytes: 4_096)
            #expect(try await world.number("SELECT count(*) FROM parcels WHERE member_count = 256") == 2)
            let parcel = try #require(try await world.lease())
            #expect(parcel.members.count == 256)
            _ = try await world.ownValues(of: parcel.members.map(\.registration))
            // 600 × 128 bytes and a mebibyte: 274.75 values of 4 KiB.
            let values = try await world.stores.parcels.values(of: ids, [.own], in: StoreWorld.message(1))
            #expect(values.readCount == 275)
        }
    }

    @Test("make a read fail with the message's id if they are damaged")
    func damaged() async throws {
        try await withStores { world in
            let ids = try await world.register(1...2)
            let message = try await world.sendValued(ids, bytes: 16)
            try await world.pool.script(#"UPDATE own_values SET value_bytes = '\x0001'"#)
            let found = await fault { () async throws(StoreFault) in
                try await world.stores.parcels.values(of: ids, [.own], in: message)
            }
            #expect(found == .damaged("own_values of message \(message.value.text): endsEarly"))
        }
    }
}

@Suite("The end of members' own values")
struct OwnValueEndTests {
    @Test("comes for an erased user's devices alone, in every message of the app")
    func erased() async throws {
        try await withStores { world in
            var registration = StoreWorld.registration("phone", token: 1)
            registration.profile[.user] = .set("ada")
            let ada = try await world.register(registration).record.id
            let others = try await world.register(2...3)
            let neighbour = try await world.neighbour()
            let stranger = try await neighbour.register(StoreWorld.registration("phone", token: 1)).record.id
            let members = ([ada] + others).sorted()
            for number in UInt64(1)...3 { try await world.sendValued(members, number: number) }
            try await world.sendValued(others, number: 4)
            try await neighbour.sendValued([stranger], number: 5)
            #expect(try await world.chunks(with: Array("for \(ada.value) alone".utf8)) == 3)
            #expect(try await world.stores.registry.erase(user: "ada", app: world.app).registrations == 1)
            #expect(try await world.chunks(with: Array("for \(ada.value) alone".utf8)) == 0)
            for number in UInt64(1)...3 {
                let values = try await world.ownValues(of: members, in: StoreWorld.message(number))
                #expect(values == members.map { $0 == ada ? [] : StoreWorld.ownValue($0) })
            }
            #expect(
                try await world.ownValues(of: others, in: StoreWorld.message(4))
                    == others.map { StoreWorld.ownValue($0) })
            #expect(
                try await world.ownValues(of: [stranger], in: StoreWorld.message(5)) == [StoreWorld.ownValue(stranger)])
        }
    }

    @Test("comes with the next sweep once a message has finished, and not before")
    func finished() async throws {
        try await withStores { world in
            let ids = try await world.registerMany(100)
            for number in UInt64(1)...2 { try await world.sendValued(ids, number: number) }
            let first = try #require(try await world.lease())
            #expect(first.message == StoreWorld.message(1))
            _ = try await world.stores.sweeper.sweep(now: dawn)
            // 32 values of 2 KiB share a chunk.
            #expect(try await world.number("SELECT count(*) FROM own_values") == 8)
            try await world.settle(first.settlingAll())
            _ = try await world.stores.sweeper.sweep(now: dawn)
            #expect(try await world.number("SELECT count(*) FROM own_values") == 4)
            let left = try await world.ownValues(of: ids, in: StoreWorld.message(2))
            #expect(left == ids.map { StoreWorld.ownValue($0) })
            #expect(try await world.number("SELECT count(*) FROM messages WHERE has_own_values") == 1)
        }
    }

    @Test("waits for the pushes of a cancelled message that are on their way")
    func cancelled() async throws {
        try await withStores { world in
            let ids = try await world.register(1...3)
            let message = try await world.sendValued(ids)
            let parcel = try #require(try await world.lease())
            #expect(
                try await world.stores.messages.control(.cancel, app: world.app, id: message, now: dawn) == .done)
            _ = try await world.stores.sweeper.sweep(now: dawn)
            #expect(try await world.ownValues(of: ids) == ids.map { StoreWorld.ownValue($0) })
            try await world.settle(parcel.settlingAll())
            _ = try await world.stores.sweeper.sweep(now: dawn)
            #expect(try await world.number("SELECT count(*) FROM own_values") == 0)
            #expect(try await world.number("SELECT count(*) FROM messages WHERE has_own_values") == 0)
        }
    }

    @Test("comes with the message itself")
    func deleted() async throws {
        try await withStores { world in
            let ids = try await world.register(1...3)
            for number in UInt64(1)...2 { try await world.sendValued(ids, number: number) }
            try await world.pool.script("DELETE FROM messages WHERE id = '\(StoreWorld.message(1).value.text)'")
            #expect(try await world.number("SELECT count(*) FROM own_values") == 1)
            #expect(try await world.ownValues(of: ids, in: StoreWorld.message(1)) == [[], [], []])
        }
    }
}
