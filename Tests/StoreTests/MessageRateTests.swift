import Basis
import Foundation
import Model
import QueueRules
import Store
import Testing

private let dawn = StoreWorld.dawn

extension StoreWorld {
    fileprivate func rated(_ perSecond: Int32?, _ number: UInt64 = 1, badge: BadgeChange = .none) -> NewMessage {
        var message = newMessage(number, badge: badge)
        message.ratePerSecond = perSecond
        return message
    }

    fileprivate func leaseQuantum(
        owner: ProcessID = ann, passing: [MessageID] = [], at now: WallInstant = dawn
    ) async throws -> Lease {
        let order = LeaseOrder(
            route: try await route(), owner: owner, leaseFor: .seconds(60), knownFormats: [1], scope: .rateLimited,
            passing: passing)
        return try await stores.parcels.lease(order, now: now)
    }

    fileprivate func rate(_ perSecond: Int32?, at now: WallInstant = dawn) async throws -> ControlReply {
        try await stores.messages.control(.rate(perSecond), app: app, id: StoreWorld.message(1), now: now)
    }

    /// Lets two processes ask in turn, each as soon as the other was allowed to ask again.
    ///
    /// Returns when each quantum was leased, and its number of pushes.
    fileprivate func drain(from start: WallInstant, for time: Duration) async throws -> [(at: WallInstant, pushes: Int)]
    {
        var shares: [(at: WallInstant, pushes: Int)] = []
        var now = start
        while now < start + time {
            let owner = shares.count % 2 == 0 ? StoreWorld.ann : StoreWorld.bob
            let lease = try await leaseQuantum(owner: owner, at: now)
            if let parcel = lease.parcel {
                shares.append((now, parcel.members.count))
                #expect(try await stores.parcels.settle([parcel.settlingAll()], now: now)[0].get() == .settled)
            }
            guard let again = lease.again else { break }
            now = now + max(again, .milliseconds(1))
        }
        return shares
    }
}

@Suite("A message with a rate limit")
struct MessageRateTests {
    @Test("divides its rate between two processes in quanta of a tenth of a second")
    func shares() async throws {
        try await withStores { world in
            try await world.register(1...100)
            try await world.send(world.rated(50))
            let shares = try await world.drain(from: dawn, for: .seconds(10))
            #expect(shares.allSatisfy { $0.pushes == 5 })
            #expect(shares.count == 20)
            // The message saves up nothing before its start, and later at most two tenths of a second.
            for (place, leaseQuantum) in shares.enumerated() {
                #expect(leaseQuantum.at == dawn + .milliseconds(100 * place))
            }
            let account = try await world.account()
            #expect(account.state == .finished && account.count(.accepted) == 100 && account.ratePerSecond == 50)
        }
    }

    @Test("catches up by at most two tenths of a second when no process leased it in time")
    func slack() async throws {
        try await withStores { world in
            try await world.register(1...100)
            try await world.send(world.rated(50))
            let shares = try await world.drain(from: dawn + .seconds(60), for: .milliseconds(50))
            #expect(shares.map(\.pushes) == [5, 5, 5])
        }
    }

    @Test("sends its pushes one by one when its rate allows less than one push per quantum")
    func slow() async throws {
        try await withStores { world in
            try await world.register(1...4)
            try await world.send(world.rated(2))
            let shares = try await world.drain(from: dawn, for: .seconds(5))
            #expect(shares.map(\.pushes) == [1, 1, 1, 1])
            #expect(shares.last?.at == dawn + .milliseconds(1_500))
        }
    }

    @Test("uses quanta of a twenty-fifth of a second when its rate is high")
    func fine() async throws {
        try await withStores { world in
            try await world.register(1...1_300)
            try await world.send(world.rated(15_000))
            let shares = try await world.drain(from: dawn, for: .seconds(1))
            #expect(shares.map(\.pushes) == [600, 600, 100])
            #expect(shares.map(\.at) == [0, 40, 80].map { dawn + .milliseconds($0) })
        }
    }

    @Test("blocks no message without a rate limit, and no such message blocks it")
    func neighbours() async throws {
        try await withStores { world in
            try await world.register(1...20)
            try await world.send(world.rated(10))
            try await world.send(world.newMessage(2))
            #expect(try await world.lease()?.message == StoreWorld.message(2))
            #expect(try await world.lease() == nil)
            #expect(try await world.stores.parcels.readyRoutes(knownFormats: [1], now: dawn).routes.isEmpty)
            let routes = try await world.stores.parcels.rateLimitedRoutes(knownFormats: [1], limit: 9, now: dawn)
            #expect(routes.map(\.quantumAfter) == [.zero])
            let first = try await world.leaseQuantum()
            #expect(first.parcel?.message == StoreWorld.message(1) && first.again == .milliseconds(100))
            let none = try await world.leaseQuantum(owner: StoreWorld.bob)
            #expect(none.parcel == nil && none.again == .milliseconds(100))
            #expect(
                try await world.leaseQuantum(passing: [StoreWorld.message(1)], at: dawn + .seconds(1)) == Lease())
        }
    }

    @Test("raises each badge once and keeps its totals right, however its parcels are cut")
    func badges() async throws {
        try await withStores { world in
            try await world.register(1...23)
            try await world.send(world.rated(50, badge: .increment), parcelMembersMax: 9)
            let first = try #require(try await world.leaseQuantum().parcel)
            #expect(first.members.map(\.badge) == [1, 1, 1, 1, 1] && first.memberCount == 5 && first.epoch == 1)
            #expect(try await world.number("SELECT sum(badge) FROM registration_pulse") == 5)
            // A member that is handed back waits for the rate again, and its badge counts as raised.
            let back = Remainder(
                route: first.route, dueAfter: .zero, attempt: 0, lapses: 0, retrySpent: .zero, answerLost: false,
                cause: .handedBack, members: first.members.map(\.registration))
            #expect(
                try await world.stores.parcels.settle([first.settling([], remainders: [back])], now: dawn)[0].get()
                    == .settled)
            #expect(try await world.number("SELECT count(*) FROM parcels WHERE state = 4") == 4)
            _ = try await world.drain(from: dawn + .seconds(1), for: .seconds(9))
            #expect(try await world.number("SELECT sum(badge) FROM registration_pulse") == 23)
            #expect(try await world.account().count(.accepted) == 23)
        }
    }

    @Test("charges its rate for a lapsed parcel that is sent again without waiting")
    func charged() async throws {
        try await withStores { world in
            try await world.register(1...50)
            try await world.send(world.rated(100))
            let first = try #require(try await world.leaseQuantum().parcel)
            // This is the second process whose lease of it lapses: the parcel is leased alone, and at once.
            try await world.pool.script("UPDATE parcels SET lapses = 1 WHERE id = \(first.id.value)")
            let later = dawn + .seconds(61)
            #expect(try await world.stores.parcels.rescue(now: later) == 1)
            let alone = try #require(try await world.lease(scope: .lapsed, at: later))
            #expect(alone.members.count == 10)
            // Three quanta would be free now; the lapsed parcel used up one of them.
            #expect(try await world.leaseQuantum(at: later).parcel?.members.count == 10)
            #expect(try await world.leaseQuantum(at: later).parcel?.members.count == 10)
            #expect(try await world.leaseQuantum(at: later) == Lease(again: .milliseconds(100)))
        }
    }

    @Test("charges nothing for a parcel that lapsed so often that it is only cut in two")
    func bisected() async throws {
        try await withStores { world in
            try await world.register(1...50)
            try await world.send(world.rated(100))
            let first = try #require(try await world.leaseQuantum().parcel)
            try await world.pool.script("UPDATE parcels SET lapses = 2 WHERE id = \(first.id.value)")
            let later = dawn + .seconds(61)
            #expect(try await world.stores.parcels.rescue(now: later) == 1)
            #expect(try await world.lease(scope: .lapsed, at: later)?.lapses == 3)
            for _ in 1...3 { #expect(try await world.leaseQuantum(at: later).parcel?.members.count == 10) }
            #expect(try await world.leaseQuantum(at: later) == Lease(again: .milliseconds(100)))
        }
    }

    @Test("fills one quantum from many small parcels")
    func gathered() async throws {
        try await withStores { world in
            try await world.register(1...40)
            try await world.send(world.rated(100, badge: .increment), parcelMembersMax: 3)
            // Some parcels are settled in part, and others wait for their quiet hours.
            try await world.pool.script(
                """
                UPDATE parcels SET waits_for = 'quiet_hours' WHERE id % 7 = 2;
                UPDATE parcels SET settled = '\\x01', pending = 2, handed_over = 1 WHERE id % 7 = 3
                """)
            let first = try await world.leaseQuantum()
            #expect(first.parcel?.members.count == 9 && first.again == .milliseconds(90))
            let members = first.parcel?.members.map(\.registration.value) ?? []
            #expect(members == [1, 2, 3, 10, 11, 12, 13, 14, 15])
            #expect(first.parcel?.memberCount == 9 && first.parcel?.members.map(\.index) == Array(0..<9))
            #expect(first.parcel?.members.allSatisfy { $0.badge == 1 } == true)
            #expect(try await world.number("SELECT sum(badge) FROM registration_pulse") == 9)
            let asleep = try await world.leaseQuantum(at: dawn + .milliseconds(90))
            let others = asleep.parcel?.members.map(\.registration.value)
            #expect(others == [4, 5, 6, 25, 26, 27] && asleep.again == .milliseconds(60))
            for parcel in [first.parcel, asleep.parcel].compactMap(\.self) {
                #expect(try await world.stores.parcels.settle([parcel.settlingAll()], now: dawn)[0].get() == .settled)
            }
            let remaining = try await world.drain(from: dawn + .milliseconds(150), for: .seconds(1))
            #expect(remaining.reduce(0) { $0 + $1.pushes } == 40 - 15 - 2)
        }
    }

    @Test("keeps exactly to its rate when quiet hours end at many different times")
    func morning() async throws {
        try await withStores { world in
            let zones = (0..<60).map { String(format: "GMT+%02d:%02d", $0 % 6, $0 % 12 / 6 * 30) }
            try await world.register(zones: zones)
            try await world.spare(quiet: (6, 20))
            var message = world.rated(200)
            message.lifetime = .seconds(86_400)
            try await world.send(message)
            while let parcel = try await world.leaseQuantum().parcel { try await world.deliver(parcel) }
            // Each quantum contains devices that wake at twelve different times.
            #expect(try await world.number("SELECT count(*) FROM parcels WHERE state = 4") > 20)
            let late = dawn + .seconds(8 * 3_600)
            var shares: [Int] = []
            for tick in 0... {
                guard let parcel = try await world.leaseQuantum(at: late + .milliseconds(100 * tick)).parcel else {
                    break
                }
                shares.append(parcel.members.count)
                try await world.deliver(parcel)
            }
            #expect(shares == [20, 20, 20])
        }
    }

    @Test("waits at most a minute for its next quantum after the database's clock was set back")
    func clockSetBack() async throws {
        try await withStores { world in
            try await world.register(1...100)
            try await world.send(world.rated(50))
            #expect(try await world.leaseQuantum(at: dawn + .seconds(3_600 - 1)).parcel?.members.count == 5)
            let back = try await world.leaseQuantum()
            #expect(back.parcel?.members.count == 5 && back.again == .milliseconds(100))
            try await world.pool.script("UPDATE message_rates SET next_at = next_at + interval '59.9 s'")
            #expect(try await world.leaseQuantum() == Lease(again: .seconds(60)))
            let routes = try await world.stores.parcels.rateLimitedRoutes(knownFormats: [1], limit: 9, now: dawn)
            #expect(routes.map(\.quantumAfter) == [.seconds(60)])
            try await world.pool.script("UPDATE message_rates SET next_at = next_at + interval '1 us'")
            let sooner = try await world.stores.parcels.rateLimitedRoutes(knownFormats: [1], limit: 9, now: dawn)
            #expect(sooner.map(\.quantumAfter) == [.zero])
            #expect(try await world.leaseQuantum().parcel?.members.count == 5)
        }
    }

    @Test("waits at most a minute after a lapsed parcel has overdrawn its rate")
    func charge() async throws {
        try await withStores { world in
            try await world.register(1...200)
            try await world.send(world.newMessage(), parcelMembersMax: 100)
            #expect(try await world.rate(1) == .done)
            try await world.pool.script(
                "UPDATE parcels SET state = 1, lapses = 2 WHERE id = (SELECT min(id) FROM parcels)")
            #expect(try await world.lease(scope: .lapsed)?.members.count == 100)
            #expect(try await world.lease() == nil)
            #expect(try await world.leaseQuantum() == Lease(again: .seconds(60)))
        }
    }
}

@Suite("The rate limit of a message")
struct RateChangeTests {
    @Test("applies a raised rate from the next quantum on")
    func raised() async throws {
        try await withStores { world in
            try await world.register(1...100)
            try await world.send(world.rated(1))
            #expect(try await world.leaseQuantum().parcel?.members.count == 1)
            #expect(try await world.rate(500) == .done)
            let shares = try await world.drain(from: dawn + .seconds(1), for: .milliseconds(150))
            #expect(shares.map(\.pushes) == [50, 49])
        }
    }

    @Test("shrinks the next quantum when the rate is lowered, and reaches the sending processes")
    func lowered() async throws {
        try await withStores { world in
            try await world.register(1...100)
            let id = try await world.send(world.rated(100))
            #expect(try await world.leaseQuantum().parcel?.ratePerSecond == 100)
            #expect(try await world.rate(20) == .done)
            #expect(try await world.stores.messages.rates(among: [id]) == [RatedMessage(message: id, perSecond: 20)])
            let leaseQuantum = try await world.leaseQuantum(at: dawn + .milliseconds(100))
            #expect(leaseQuantum.parcel?.members.count == 2 && leaseQuantum.again == .milliseconds(100))
        }
    }

    @Test("makes ready parcels wait when a message that had no rate gets one")
    func set() async throws {
        try await withStores { world in
            try await world.register(1...100)
            try await world.send(world.newMessage(), parcelMembersMax: 30)
            #expect(try await world.lease()?.ratePerSecond == nil)
            #expect(try await world.rate(50) == .done)
            let order = LeaseOrder(
                route: try await world.route(), owner: StoreWorld.ann, leaseFor: .seconds(60), knownFormats: [1])
            #expect(try await world.stores.parcels.lease(order, now: dawn) == Lease(again: .zero))
            #expect(try await world.number("SELECT count(*) FROM parcels WHERE state = 4 AND epoch = 0") == 3)
            #expect(try await world.stores.parcels.lease(order, now: dawn) == Lease(), "it is known by now")
            #expect(try await world.leaseQuantum().parcel?.members.count == 5)
        }
    }

    @Test("makes waiting parcels ready when the rate is removed, and leaves no row")
    func removed() async throws {
        try await withStores { world in
            try await world.register(1...100)
            try await world.send(world.rated(1), parcelMembersMax: 40)
            #expect(try await world.rate(nil) == .done)
            #expect(try await world.stores.stops.carryOut(now: dawn) == 3)
            #expect(try await world.lease()?.members.count == 40)
            #expect(try await world.number("SELECT count(*) FROM message_rates") == 0)
            #expect(try await world.account().ratePerSecond == nil)
        }
    }

    @Test("forgives all debt beyond one second when the rate is changed")
    func debt() async throws {
        try await withStores { world in
            try await world.register(1...10)
            try await world.send(world.rated(1))
            try await world.pool.script("UPDATE message_rates SET next_at = next_at + interval '1 hour'")
            _ = try await world.rate(10)
            #expect(try await world.leaseQuantum(at: dawn).again == .seconds(1))
        }
    }

    @Test("survives a pause, and its row is deleted when the message ends")
    func lifecycle() async throws {
        try await withStores { world in
            try await world.register(1...10)
            try await world.send(world.rated(10))
            let messages = world.stores.messages
            let id = StoreWorld.message(1)
            #expect(try await messages.control(.pause, app: world.app, id: id, now: dawn) == .done)
            #expect(try await world.leaseQuantum() == Lease())
            try await world.stores.stops.carryOut(now: dawn)
            #expect(try await world.number("SELECT count(*) FROM parcels WHERE state = 3") == 1)
            #expect(try await world.rate(20) == .done)
            #expect(try await messages.control(.resume, app: world.app, id: id, now: dawn) == .done)
            try await world.stores.stops.carryOut(now: dawn)
            #expect(try await world.lease() == nil)
            #expect(try await world.leaseQuantum().parcel?.members.count == 2)
            #expect(try await messages.control(.cancel, app: world.app, id: id, now: dawn) == .done)
            #expect(try await world.rate(5) == .over(.cancelled))
            _ = try await world.stores.parcels.rescue(now: dawn + .seconds(61))
            _ = try await world.lease(at: dawn + .seconds(61))
            try await world.stores.stops.carryOut(now: dawn + .seconds(61))
            #expect(try await world.account().pending == 0)
            #expect(try await world.number("SELECT count(*) FROM message_rates") == 0)
        }
    }

    @Test("delays no expired parcel: its pushes end at once")
    func expired() async throws {
        try await withStores { world in
            try await world.register(1...10)
            try await world.send(world.rated(1))
            let later = dawn + .seconds(3_601)
            try await world.stores.stops.carryOut(now: later)
            let parcel = try #require(try await world.lease(scope: .expired, at: later))
            #expect(parcel.members.count == 10)
        }
    }

    @Test("leaves no row when its message is deleted")
    func deleted() async throws {
        try await withStores { world in
            try await world.register(1...10)
            try await world.send(world.rated(1))
            try await world.pool.script("DELETE FROM messages")
            #expect(try await world.number("SELECT count(*) FROM message_rates") == 0)
        }
    }
}
