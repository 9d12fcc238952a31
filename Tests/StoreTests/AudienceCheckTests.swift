import Basis
import Content
import Encodings
import Model
import QueueRules
import Store
import Testing

private let dawn = StoreWorld.dawn
private let hour: Duration = .seconds(3_600)
private let changed = "audience_changed"

/// A change of device i1, which belongs to "ada", has the tag "vip" and is in Berlin; i2 and i3 stay as they are.
private enum Change: CaseIterable {
    case anotherUser, nobodySignedIn, tagTaken, attributeChanged

    func happen(_ world: StoreWorld, at now: WallInstant = dawn) async throws {
        switch self {
        case .anotherUser:
            var registration = StoreWorld.registration("i1", token: 1)
            registration.profile[.user] = .set("eve")
            try await world.register(registration, at: now)
        case .nobodySignedIn: try await patch(world) { $0.profile[.user] = .clear }
        case .tagTaken: try await patch(world) { $0.tagsRemoved = ["vip"] }
        case .attributeChanged:
            try await patch(world) { $0.profile.attributes = .set(Array(#"{"city":"Paris"}"#.utf8)) }
        }
    }

    private func patch(_ world: StoreWorld, _ change: (inout DevicePatch) -> Void) async throws {
        var patch = DevicePatch()
        change(&patch)
        let limits = DevicePatchLimits(tagsMax: 4, attributesBytesMax: 100, attributesMembersMax: 4)
        let reply = try await world.stores.registry.patch(
            patch, app: world.app, installation: "i1", kind: nil, limits: limits)
        guard case .patched = reply else { throw StoreFault.contended }
    }
}

/// A way of holding a message's parcels back for an hour.
private enum Hold: CaseIterable {
    case pause, quietHours, rate, localHour, retry
}

extension StoreWorld {
    /// Registers i1 and i2 for ada, and i3 for bob.
    fileprivate func registerOwners() async throws {
        for (place, user) in ["ada", "ada", "bob"].enumerated() {
            var registration = StoreWorld.registration("i\(place + 1)", token: place + 1)
            registration.profile[.user] = .set(user)
            registration.profile.tags = .set(user == "ada" ? ["vip"] : ["guest"])
            registration.profile.attributes = .set(
                Array((user == "ada" ? #"{"city":"Berlin"}"# : #"{"city":"Rome"}"#).utf8))
            try await register(registration)
        }
    }

    fileprivate var ada: Audience { Audience(.users(["ada"])) }

    fileprivate func control(_ control: ControlRequest, at now: WallInstant) async throws {
        #expect(try await stores.messages.control(control, app: app, id: StoreWorld.message(1), now: now) == .done)
        try await stores.stops.carryOut(now: now)
    }

    /// Accepts a message and plans everything that can be planned.
    fileprivate func accept(_ message: NewMessage) async throws {
        #expect(try await stores.messages.accept(message, now: StoreWorld.dawn) == .accepted)
        try await plan(at: StoreWorld.dawn)
    }

    fileprivate func plan(at now: WallInstant) async throws {
        while case .planned = try await stores.messages.plan(
            atMost: 1, parcelMembersMax: 5_000, knownFormats: [1], now: now)
        {}
    }
}

@Suite("A push whose device changed while the push was waiting")
struct AudienceCheckTests {
    @Test(
        "ends as unregistered if its audience no longer includes the device",
        arguments: [
            (Change.anotherUser, Audience.Selection.users(["ada"]), "user_changed"),
            (.nobodySignedIn, .users(["ada"]), "user_changed"),
            (.tagTaken, .tags(TagExpression(any: ["vip", "gold"])), "audience_changed"),
            (.tagTaken, .tags(TagExpression(all: ["vip"], none: ["guest"])), "audience_changed"),
            (.anotherUser, .filter("user == \"ada\""), "audience_changed"),
            (.attributeChanged, .filter("attributes.city == \"Berlin\" and tags has \"vip\""), "audience_changed"),
        ])
    private func ends(change: Change, selection: Audience.Selection, reason: String) async throws {
        try await withStores { world in
            try await world.registerOwners()
            try await world.accept(world.newMessage(badge: .increment, audience: Audience(selection)))
            try await change.happen(world)
            #expect(try await world.deliverAll() == [2])
            let account = try await world.account()
            #expect(account.audience == 2 && account.pending == 0 && account.count(.accepted) == 1)
            #expect(account.reasons == [TerminalTotal(terminalStatus: TerminalStatus(.unregistered, reason), count: 1)])
            #expect(try await world.badges() == [0, 1, 0], "the badge of the token's next owner is not raised")
        }
    }

    @Test(
        "reaches the device if the audience has no conditions or the device still meets them",
        arguments: [
            (Change.anotherUser, Audience.Selection.all, [1, 2, 3]),
            (.anotherUser, .installations(["i1", "i2"]), [1, 2]),
            (.anotherUser, .users(["ada", "eve"]), [1, 2]),
            (.tagTaken, .users(["ada"]), [1, 2]),
            (.anotherUser, .tags(TagExpression(any: ["vip"])), [1, 2]),
            (.tagTaken, .filter("attributes.city == \"Berlin\""), [1, 2]),
        ])
    private func goesOn(change: Change, selection: Audience.Selection, sent: [Int64]) async throws {
        try await withStores { world in
            try await world.registerOwners()
            try await world.accept(world.newMessage(audience: Audience(selection)))
            try await change.happen(world)
            #expect(try await world.deliverAll() == sent)
        }
    }

    @Test(
        "ends at the next lease, after every way of waiting and for every form of audience",
        arguments: Hold.allCases,
        [
            (Change.anotherUser, Audience.Selection.users(["ada"]), "user_changed"),
            (.nobodySignedIn, .users(["ada"]), "user_changed"),
            (.tagTaken, .tags(TagExpression(any: ["vip"])), changed),
            (.attributeChanged, .filter("attributes.city == \"Berlin\""), changed),
        ])
    private func held(by hold: Hold, chosen: (change: Change, selection: Audience.Selection, reason: String))
        async throws
    {
        try await withStores { world in
            try await world.registerOwners()
            var message = world.newMessage(audience: Audience(chosen.selection), lifetime: hour * 24)
            switch hold {
            case .pause, .retry: try await world.accept(message)
            case .quietHours:
                try await world.spare(quiet: (11, 13))
                try await world.accept(message)
                #expect(try await world.deliverAll() == [])
            case .rate:
                message.ratePerSecond = 1
                try await world.accept(message)
            case .localHour:
                let sending = LocalSending(hour: LocalHour(inUTC: dawn + hour), sendsPassed: true)
                message.localSending = sending
                message.dueAt = try SendTime.due(.local(sending), now: dawn)
                try await world.accept(message)
                // The easternmost time zones reach that hour long before.
                _ = try await world.stores.messages.fallDue(now: dawn)
                try await world.plan(at: dawn)
            }
            if hold == .pause { try await world.control(.pause, at: dawn) }
            if hold == .retry {
                let parcel = try #require(try await world.lease())
                let settlement = parcel.settling([], remainders: [parcel.remainder(0..<2, after: hour)])
                #expect(try await world.stores.parcels.settle([settlement], now: dawn)[0].get() == .settled)
            }
            try await chosen.change.happen(world)
            let later = dawn + hour + hour
            if hold == .pause { try await world.control(.resume, at: later) }
            if hold == .rate {
                #expect(try await world.lease(at: later) == nil)
                let order = LeaseOrder(
                    route: try await world.route(), owner: StoreWorld.ann, leaseFor: .seconds(60), knownFormats: [1],
                    scope: .rateLimited)
                var sent: [Int64] = []
                for second in 0..<4 {
                    let lease = try await world.stores.parcels.lease(
                        order, now: later + .seconds(Int64(second)))
                    if let parcel = lease.parcel { sent += try await world.deliver(parcel).map(\.value) }
                }
                #expect(sent == [2])
            } else {
                #expect(try await world.deliverAll(at: later) == [2])
            }
            #expect(
                try await world.account().reasons
                    == [TerminalTotal(terminalStatus: TerminalStatus(.unregistered, chosen.reason), count: 1)])
        }
    }

    @Test("ends in a lease of several parcels without using the next owner's daily cap")
    func together() async throws {
        try await withStores { world in
            try await world.registerOwners()
            try await world.spare(cap: 1)
            try await world.accept(
                world.newMessage(1, urgency: .transactional, badge: .increment, audience: world.ada))
            try await world.accept(
                world.newMessage(
                    2, urgency: .transactional, badge: .increment, audience: Audience(.installations(["i1"]))))
            try await world.accept(
                world.newMessage(
                    3, urgency: .transactional, badge: .increment, audience: Audience(.filter("user == \"ada\""))))
            try await Change.anotherUser.happen(world)
            let order = LeaseOrder(
                route: try await world.route(), owner: StoreWorld.ann, leaseFor: .seconds(60), knownFormats: [1])
            let parcels = try await world.stores.parcels.lease(order, now: dawn).parcels
            #expect(
                parcels.map { $0.members.map(\.status) } == [
                    [.excluded(.user), .present], [.present], [.excluded(.condition), .present],
                ])
            #expect(parcels.map { $0.deferrals.filter { $0 == .dailyCap }.count } == [0, 0, 1])
            #expect(try await world.badges() == [1, 1, 0])
        }
    }

    @Test("ends without being handed to another route if the device moved as well")
    func moved() async throws {
        try await withStores { world in
            try await world.registerOwners()
            try await world.accept(world.newMessage(audience: world.ada))
            var registration = StoreWorld.registration("i1", token: 1, environment: .sandbox)
            registration.profile[.user] = .set("eve")
            try await world.register(registration)
            #expect(try await world.deliverAll() == [2])
            #expect(try await world.account().count(.unregistered) == 1)
        }
    }

    @Test("raises the device's badge if the device returned to its user before the next lease")
    func cameBack() async throws {
        try await withStores { world in
            try await world.registerOwners()
            try await world.accept(world.newMessage(badge: .increment, audience: world.ada))
            try await Change.nobodySignedIn.happen(world)
            #expect(try await world.lease()?.members.map(\.status) == [.excluded(.user), .present])
            // The owner of the lease dies before it settles.
            let later = dawn + .seconds(61)
            #expect(try await world.stores.parcels.rescue(now: later) == 1)
            var registration = StoreWorld.registration("i1", token: 1)
            registration.profile[.user] = .set("ada")
            try await world.register(registration, at: later)
            let parcel = try #require(try await world.lease(at: later))
            #expect(parcel.members.map(\.status) == [.present, .present])
            #expect(parcel.members.map(\.badge) == [1, 1])
        }
    }
}
