import Basis
import Encodings
import Model
import Postgres
import QueueRules
import Store
import Testing

private let dawn = StoreWorld.dawn

@Suite("A leased parcel")
struct LeaseTests {
    @Test("contains every member with its token, generation and status")
    func members() async throws {
        try await withStores { world in
            let ids = try await world.register(1...5)
            try await world.send(world.newMessage())
            try await world.register(2...2, environment: .sandbox)
            _ = try await world.stores.registry.removeDevice(app: world.app, installation: "i3")
            try await world.pool.script(
                """
                UPDATE registrations SET state = 3 WHERE id = \(ids[3].value);
                UPDATE registrations SET state = 2 WHERE id = \(ids[4].value)
                """)
            let parcel = try #require(try await world.lease(at: dawn + .seconds(5)))
            #expect(parcel.members.map(\.registration) == ids)
            #expect(parcel.indices == [0, 1, 2, 3, 4])
            let sandbox = try await world.route(.sandbox)
            #expect(
                parcel.members.map(\.status) == [.present, .moved(to: sandbox), .deleted, .retired, .present])
            #expect(parcel.members.map(\.isSuspected) == [false, false, false, false, true])
            #expect(parcel.members.map(\.generation.value) == [1, 2, 0, 1, 1])
            for (member, seed) in [(parcel.members[0], 1), (parcel.members[4], 5)] {
                let start = Int(member.tokenStart)
                let bytes = Array(parcel.tokens[start..<start + Int(member.tokenCount)])
                #expect(bytes == StoreWorld.token(seed).bytes)
            }
            #expect(parcel.epoch == 1 && parcel.settles == 0 && parcel.attempt == 0 && parcel.lapses == 0)
            #expect(parcel.leasedAt == dawn + .seconds(5))
            #expect(parcel.expiresAt == dawn + .seconds(3_600))
            #expect(parcel.memberCount == 5 && parcel.settledBits.isEmpty)
        }
    }

    @Test("cannot be leased by another process")
    func exclusive() async throws {
        try await withStores { world in
            try await world.register(1...3)
            try await world.send(world.newMessage())
            let own = try await world.lease()
            let theirs = try await world.lease(owner: StoreWorld.bob)
            #expect(own != nil)
            #expect(theirs == nil)
        }
    }

    @Test("comes from the transactional message that is longest due if the lane is full")
    func urgent() async throws {
        try await withStores { world in
            try await world.register(1...3)
            try await world.send(world.newMessage(1))
            #expect(try await world.lease(scope: .urgent) == nil)
            for number in UInt64(2)...3 {
                try await world.send(
                    world.newMessage(number, urgency: .transactional, badge: .increment),
                    at: dawn + .seconds(Int64(number)))
            }
            let later = dawn + .seconds(3)
            for number in UInt64(2)...3 {
                let parcel = try #require(try await world.lease(scope: .urgent, at: later))
                #expect(parcel.message == StoreWorld.message(number) && parcel.urgency == .transactional)
                #expect(parcel.members.map(\.badge) == [Int32](repeating: Int32(number) - 1, count: 3))
            }
            #expect(try await world.lease(scope: .urgent, at: later) == nil)
            let bulk = try await world.lease(at: later)
            #expect(bulk?.message == StoreWorld.message(1) && bulk?.urgency == .bulk)
        }
    }

    @Test("reaches exactly one process if many processes lease at the same time")
    func race() async throws {
        try await withStores { world in
            try await world.register(1...60)
            try await world.send(world.newMessage(badge: .increment), parcelMembersMax: 3)
            let route = try await world.route()
            let leased = try await withThrowingTaskGroup(of: [ParcelID].self) { group in
                for number in 1...8 as ClosedRange<UInt64> {
                    group.addTask {
                        let order = LeaseOrder(
                            route: route, owner: ProcessID(UniversalID(high: 9, low: number)), leaseFor: .seconds(60),
                            knownFormats: [1])
                        var own: [ParcelID] = []
                        while let parcel = try await world.stores.parcels.lease(order, now: dawn).parcel {
                            own.append(parcel.id)
                        }
                        return own
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(leased.count == 20)
            #expect(Set(leased).count == 20)
            #expect(try await world.number("SELECT count(*) FROM registration_pulse WHERE badge = 1") == 60)
        }
    }

    @Test("comes from a transactional message before a bulk one, the longest due first")
    func order() async throws {
        try await withStores { world in
            try await world.register(1...2)
            try await world.send(world.newMessage(1), at: dawn)
            try await world.send(world.newMessage(2), at: dawn + .seconds(-5))
            try await world.send(world.newMessage(3, urgency: .transactional), at: dawn)
            var order: [MessageID] = []
            while let parcel = try await world.lease() { order.append(parcel.message) }
            #expect(order == [3, 2, 1].map(StoreWorld.message))
        }
    }

    @Test("requires a due time that has come and a content format that the process knows")
    func dueAndKnown() async throws {
        try await withStores { world in
            try await world.register(1...1)
            let message = world.newMessage(format: 7)
            _ = try await world.stores.messages.accept([message], now: dawn)
            _ = try await world.stores.messages.plan(atMost: 1, knownFormats: [7], now: dawn)
            #expect(try await world.lease(formats: [1]) == nil)
            let early = try await world.lease(formats: [7], at: dawn + .microseconds(-1))
            #expect(early == nil)
            #expect(try await world.lease(formats: [1, 7]) != nil)
        }
    }

    @Test("can be leased only in the lapsed scope after two lapses")
    func lapsed() async throws {
        try await withStores { world in
            try await world.register(1...1)
            try await world.send(world.newMessage(1))
            for lapse in Int64(0)...1 {
                let now = dawn + .seconds(lapse * 100)
                let routes = try await world.stores.parcels.readyRoutes(knownFormats: [1], now: now).routes
                #expect(routes.map { [$0.hasOrdinary, $0.hasLapsed] } == [[true, false]])
                #expect(try await world.lease(scope: .lapsed, at: now) == nil)
                #expect(try await world.lease(at: now) != nil)
                #expect(try await world.stores.parcels.rescue(now: now + .seconds(61)) == 1)
            }
            let now = dawn + .seconds(300)
            let routes = try await world.stores.parcels.readyRoutes(knownFormats: [1], now: now).routes
            #expect(routes.map { [$0.hasOrdinary, $0.hasLapsed] } == [[false, true]])
            #expect(try await world.lease(at: now) == nil)
            #expect(try await world.lease(scope: .lapsed, at: now)?.lapses == 2)
        }
    }

    @Test("comes from an expired message if the lease asks for expired ones only")
    func expiredOnly() async throws {
        try await withStores { world in
            try await world.register(1...1)
            try await world.send(world.newMessage(1, lifetime: .seconds(3_600)))
            try await world.send(world.newMessage(2, lifetime: .seconds(10)))
            let early = try await world.lease(scope: .expired, at: dawn + .seconds(9))
            #expect(early == nil)
            let late = try await world.lease(scope: .expired, at: dawn + .seconds(10))
            #expect(late?.message == StoreWorld.message(2))
            let another = try await world.lease(owner: StoreWorld.bob, scope: .expired, at: dawn + .seconds(10))
            #expect(another == nil)
        }
    }

    @Test("becomes ready after its lease lapses, and keeps what was settled before")
    func rescued() async throws {
        try await withStores { world in
            try await world.register(1...3)
            try await world.send(world.newMessage())
            let first = try #require(try await world.lease())
            let part = first.settling([(1..<2, TerminalStatus(.accepted))])
            #expect(try await world.stores.parcels.settle([part], now: dawn)[0].get() == .settled)
            #expect(try await world.stores.parcels.rescue(now: dawn + .seconds(60)) == 0)
            #expect(try await world.stores.parcels.rescue(now: dawn + .seconds(61)) == 1)
            let second = try #require(try await world.lease(owner: StoreWorld.bob, at: dawn + .seconds(61)))
            #expect(second.id == first.id)
            #expect(second.epoch == 2 && second.lapses == 1 && second.settles == 1)
            #expect(second.indices == [0, 2])
            #expect(second.settledBits == part.settledBits)
        }
    }

    @Test("with a single push is leased again after a pause that grows with its lapses")
    func pauses() async throws {
        try await withStores { world in
            try await world.register(1...1)
            try await world.send(world.newMessage())
            var now = dawn
            for lapses in Int16(0)...10 {
                let scope: LeaseScope = lapses < PoisonRule.quarantineFrom ? .ordinary : .lapsed
                let pause = PoisonRule.pause(1, afterLapses: lapses)
                if pause > .zero {
                    #expect(try await world.lease(scope: scope, at: now + (pause - .milliseconds(1))) == nil)
                }
                now = now + pause
                #expect(try await world.lease(scope: scope, at: now)?.lapses == lapses)
                now = now + .seconds(61)
                #expect(try await world.stores.parcels.rescue(now: now) == 1)
            }
        }
    }

    @Test("with several pushes is leased again at once after its third lapse, to be split")
    func bisectedAtOnce() async throws {
        try await withStores { world in
            try await world.register(1...2)
            try await world.send(world.newMessage())
            let first = try #require(try await world.lease())
            try await world.pool.script("UPDATE parcels SET lapses = 2 WHERE id = \(first.id.value)")
            let later = dawn + .seconds(61)
            #expect(try await world.stores.parcels.rescue(now: later) == 1)
            #expect(try await world.lease(scope: .lapsed, at: later)?.lapses == 3)
        }
    }

    @Test("with a single push does not wait past its expiry, however often it lapsed")
    func pausedExpires() async throws {
        try await withStores { world in
            try await world.register(1...1)
            try await world.send(world.newMessage(lifetime: .seconds(70)))
            let first = try #require(try await world.lease())
            try await world.pool.script("UPDATE parcels SET lapses = 8 WHERE id = \(first.id.value)")
            #expect(try await world.stores.parcels.rescue(now: dawn + .seconds(61)) == 1)
            #expect(try await world.lease(scope: .lapsed, at: dawn + .seconds(69)) == nil)
            let expired = try await world.lease(scope: .expired, at: dawn + .seconds(70))
            #expect(expired?.lapses == 9)
        }
    }

    @Test("fails by name if its bytes are damaged, and the parcels behind it are leased")
    func damaged() async throws {
        try await withStores { world in
            try await world.register(1...1)
            try await world.send(world.newMessage(1))
            let members = try await world.pool.read(query("SELECT encode(members, 'hex') FROM parcels"))
                .one(String.init)
            let bad = try await world.number("SELECT id FROM parcels")
            try await world.pool.script(#"UPDATE parcels SET members = '\xff'"#)
            try await world.send(world.newMessage(2), at: dawn + .seconds(1))
            let now = dawn + .seconds(1)
            let found = await fault { () async throws(StoreFault) in try await lease(world, at: now) }
            #expect(found == .damaged("parcel \(bad): parcel_claim, column 12"))
            #expect(try await lease(world, at: now)?.message == StoreWorld.message(2))
            #expect(try await lease(world, at: now) == nil)
            let again = await fault { () async throws(StoreFault) in try await lease(world, at: now + .seconds(60)) }
            #expect(again == found)
            try await world.pool.script("UPDATE parcels SET members = '\\x\(members)' WHERE id = \(bad)")
            #expect(try await lease(world, at: now + .seconds(120))?.message == StoreWorld.message(1))
        }
    }

    private func lease(_ world: StoreWorld, at now: WallInstant) async throws(StoreFault) -> LeasedParcel? {
        let order = LeaseOrder(
            route: RouteID(1), owner: StoreWorld.ann, leaseFor: .seconds(600), knownFormats: [1])
        return try await world.stores.parcels.lease(order, now: now).parcel
    }
}

@Suite("A badge in a leased parcel")
struct LeaseBadgeTests {
    @Test("rises by one at the parcel's first lease and is only read at the next")
    func once() async throws {
        try await withStores { world in
            try await world.register(1...3)
            try await world.send(world.newMessage(badge: .increment))
            let first = try #require(try await world.lease())
            #expect(first.members.map(\.badge) == [1, 1, 1])
            #expect(try await world.stores.registry.setBadge(7, app: world.app, installation: "i2") == 7)
            #expect(try await world.stores.parcels.rescue(now: dawn + .seconds(61)) == 1)
            let second = try #require(try await world.lease(at: dawn + .seconds(61)))
            #expect(second.members.map(\.badge) == [1, 7, 1])
            #expect(try await world.device("i1").badge == 1)
        }
    }

    @Test("takes the number that the message sets")
    func value() async throws {
        try await withStores { world in
            try await world.register(1...2)
            _ = try await world.stores.registry.setBadge(3, app: world.app, installation: "i1")
            try await world.send(world.newMessage(badge: .value(0)))
            let parcel = try #require(try await world.lease())
            #expect(parcel.members.map(\.badge) == [0, 0])
            #expect(try await world.device("i1").badge == 0)
        }
    }

    @Test("keeps its value if the message does not mention badges")
    func untouched() async throws {
        try await withStores { world in
            try await world.register(1...1)
            _ = try await world.stores.registry.setBadge(3, app: world.app, installation: "i1")
            try await world.send(world.newMessage())
            _ = try await world.lease()
            #expect(try await world.device("i1").badge == 3)
        }
    }

    @Test("rises for moved and retired members too, since one mark covers the parcel")
    func everyMember() async throws {
        try await withStores { world in
            let ids = try await world.register(1...3)
            try await world.send(world.newMessage(badge: .increment))
            try await world.register(2...2, environment: .sandbox)
            try await world.pool.script("UPDATE registrations SET state = 3 WHERE id = \(ids[2].value)")
            let parcel = try #require(try await world.lease())
            let sandbox = try await world.route(.sandbox)
            let settlement = parcel.settling([], remainders: [parcel.remainder(1..<2, route: sandbox)])
            #expect(try await world.stores.parcels.settle([settlement], now: dawn)[0].get() == .settled)
            let moved = try #require(try await world.lease(owner: StoreWorld.bob, on: .sandbox))
            #expect(moved.members.map(\.badge) == [1])
            #expect(try await world.number("SELECT sum(badge) FROM registration_pulse") == 3)
        }
    }

    @Test("keeps its value if the parcel expired before its first lease")
    func expired() async throws {
        try await withStores { world in
            try await world.register(1...2)
            try await world.send(world.newMessage(badge: .increment, lifetime: .seconds(10)))
            let parcel = try #require(try await world.lease(at: dawn + .seconds(10)))
            #expect(parcel.members.count == 2)
            #expect(try await world.number("SELECT sum(badge) FROM registration_pulse") == 0)
        }
    }

    @Test("stays at the largest number if it cannot rise further")
    func largest() async throws {
        try await withStores { world in
            try await world.register(1...1)
            _ = try await world.stores.registry.setBadge(.max, app: world.app, installation: "i1")
            try await world.send(world.newMessage(badge: .increment))
            let parcel = try #require(try await world.lease())
            #expect(parcel.members.map(\.badge) == [.max])
        }
    }

    @Test("rises once per message under concurrent leases and registrations")
    func contended() async throws {
        try await withStores { world in
            try await world.register(1...200)
            for number in 1...6 as ClosedRange<UInt64> {
                try await world.send(world.newMessage(number, badge: .increment))
            }
            let route = try await world.route()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<6 {
                    group.addTask {
                        let order = LeaseOrder(
                            route: route, owner: StoreWorld.ann, leaseFor: .seconds(60), knownFormats: [1])
                        while try await !world.stores.parcels.lease(order, now: dawn).parcels.isEmpty {}
                    }
                }
                for _ in 0..<4 {
                    group.addTask {
                        let batch = (1...200).reversed().map { StoreWorld.registration("i\($0)", token: $0) }
                        for answer in await world.stores.registry.register(batch, app: world.app) {
                            _ = try answer.get()
                        }
                    }
                }
                try await group.waitForAll()
            }
            while try await world.lease() != nil {}
            #expect(try await world.number("SELECT count(*) FROM registration_pulse WHERE badge = 6") == 200)
        }
    }
}
