import Basis
import Model
import Store
import Testing

private let dawn = StoreWorld.dawn

/// A group of devices. It registers "i<n>" for the given user and tags.
private struct Crowd {
    let world: StoreWorld
    private(set) var ids: [RegistrationID] = []

    mutating func add(
        user: String? = nil, tags: [String] = [], provider: Provider = .apns, kind: TokenKind = .alert
    ) async throws {
        var registration = StoreWorld.registration("i\(ids.count)", token: ids.count, kind: kind)
        registration.provider = provider
        if let user { registration.profile[.user] = .set(user) }
        registration.profile.tags = .set(tags)
        ids.append(try await world.register(registration).record.id)
    }

    func retire(_ place: Int) async throws {
        try await world.pool.script("UPDATE registrations SET state = 3 WHERE id = \(ids[place].value)")
    }

    func change(_ place: Int, user: String? = nil, tags: [String]? = nil) async throws {
        var registration = StoreWorld.registration("i\(place)", token: place)
        if let user { registration.profile[.user] = .set(user) }
        if let tags { registration.profile.tags = .set(tags) }
        try await world.register(registration)
    }

    /// Plans a message for an audience to its end and returns the places of the devices that it reached.
    func reached(_ number: UInt64, _ audience: Audience, idsMax: Int = 100) async throws -> [Int] {
        _ = try await world.stores.messages.accept(world.newMessage(number, audience: audience), now: dawn)
        while try await world.plan(idsMax: idsMax) != nil {}
        return try await world.members(of: StoreWorld.message(number)).map { id in
            try #require(ids.firstIndex { $0.value == id })
        }
    }
}

extension StoreWorld {
    fileprivate func plan(idsMax: Int) async throws -> PlannedSlice? {
        let reply = try await stores.messages.plan(
            atMost: 1, idsMax: idsMax, knownFormats: [1, 2, 3], now: StoreWorld.dawn)
        guard let slice = reply.slice else {
            #expect(reply == .nothing)
            return nil
        }
        return slice
    }
}

private func withCrowd(_ body: (inout Crowd) async throws -> Void) async throws {
    try await withStores { world in
        var crowd = Crowd(world: world)
        try await body(&crowd)
    }
}

@Suite("A message for users")
struct UserAudienceTests {
    @Test("reaches every live registration of these users and of its kind once")
    func everyRegistration() async throws {
        try await withCrowd { crowd in
            for user in ["ann", "bob", "ann", "cid", nil] { try await crowd.add(user: user) }
            try await crowd.add(user: "ann", kind: .voip)
            try await crowd.add(user: "ann")
            try await crowd.retire(2)
            #expect(try await crowd.reached(1, .users(["ann", "cid", "ann"])) == [0, 3, 6])
            let account = try await crowd.world.account()
            #expect(account.audience == 3 && account.reasons.isEmpty)
        }
    }

    @Test("rejects users without a registration and counts fully retired users as unregistered")
    func nobodys() async throws {
        try await withCrowd { crowd in
            for user in ["ann", "bob", "bob"] { try await crowd.add(user: user) }
            try await crowd.add(user: "dora", kind: .voip)
            for place in 1...2 { try await crowd.retire(place) }
            #expect(try await crowd.reached(1, .users(["ann", "bob", "dora", "nobody"])) == [0])
            let account = try await crowd.world.account()
            #expect(account.audience == 4)
            #expect(
                account.reasons == [
                    TerminalTotal(terminalStatus: TerminalStatus(.rejected, "no_registration_of_kind"), count: 1),
                    TerminalTotal(terminalStatus: TerminalStatus(.rejected, "unknown_user"), count: 1),
                    TerminalTotal(terminalStatus: TerminalStatus(.unregistered, "retired"), count: 1),
                ])
        }
    }

    @Test("reaches a device once even if it changes its user between two planning slices")
    func changesHands() async throws {
        try await withCrowd { crowd in
            for user in ["ann", "bob", "ann", "bob", "ann"] { try await crowd.add(user: user) }
            let world = crowd.world
            _ = try await world.stores.messages.accept(world.newMessage(audience: .users(["ann", "bob"])), now: dawn)
            #expect(try await world.plan(idsMax: 2)?.members == 2)
            try await crowd.change(0, user: "bob")
            try await crowd.change(3, user: "ann")
            while try await world.plan(idsMax: 2) != nil {}
            #expect(try await world.members(of: StoreWorld.message(1)) == crowd.ids.map(\.value))
        }
    }

    @Test(
        "reaches each device once in slices of any size, even if some users have many devices",
        arguments: [5, 8, 30])
    func unequal(idsMax: Int) async throws {
        try await withCrowd { crowd in
            let users = Array(repeating: "ann", count: 30) + ["bob", "cid", "bob"] + Array(repeating: "cid", count: 25)
            for user in users + ["dan", "ann", "eve"] { try await crowd.add(user: user) }
            let reached = try await crowd.reached(1, .users(["ann", "bob", "cid", "dan"]), idsMax: idsMax)
            #expect(reached == Array(0..<users.count + 2))
        }
    }

    @Test("leaves out devices that registered after it was accepted")
    func horizon() async throws {
        try await withCrowd { crowd in
            try await crowd.add(user: "ann")
            let world = crowd.world
            _ = try await world.stores.messages.accept(world.newMessage(audience: .users(["ann", "bob"])), now: dawn)
            try await crowd.add(user: "ann")
            try await crowd.add(user: "bob")
            while try await world.plan(idsMax: 10) != nil {}
            #expect(try await world.members(of: StoreWorld.message(1)) == [crowd.ids[0].value])
            #expect(try await world.account().reasons.map(\.terminalStatus.reason) == ["unknown_user"])
        }
    }
}

@Suite("A message for tags")
struct TagAudienceTests {
    private static let crowd: [[String]] = [
        ["news"], ["news", "beta"], ["sport"], [], ["sport", "beta"], ["news", "sport", "beta"], ["beta"],
    ]

    static let expressions: [(TagExpression, [Int])] = [
        (TagExpression(any: ["news"]), [0, 1, 5]),
        (TagExpression(any: ["news", "sport", "news"]), [0, 1, 2, 4, 5]),
        (TagExpression(all: ["news", "beta"]), [1, 5]),
        (TagExpression(all: ["beta", "beta"]), [1, 4, 5, 6]),
        (TagExpression(any: ["news", "sport"], all: ["beta"]), [1, 4, 5]),
        (TagExpression(any: ["sport"], all: ["beta", "news"]), [5]),
        (TagExpression(any: ["news", "sport"], none: ["beta"]), [0, 2]),
        (TagExpression(all: ["beta"], none: ["news", "sport"]), [6]),
        (TagExpression(none: ["news", "sport"]), [3, 6]),
        (TagExpression(any: ["unheard"]), []),
        (TagExpression(all: ["beta", "unheard"]), []),
        (TagExpression(any: ["unheard"], all: ["beta"]), []),
    ]

    @Test(
        "reaches each matching device once, whatever the size of a planning slice", arguments: 0..<expressions.count,
        [1, 2, 100])
    func fits(place: Int, idsMax: Int) async throws {
        try await withCrowd { crowd in
            for tags in Self.crowd { try await crowd.add(tags: tags) }
            try await crowd.add(tags: ["news", "beta", "sport"], kind: .voip)
            try await crowd.add(tags: ["news", "beta", "sport"])
            try await crowd.retire(Self.crowd.count + 1)
            let (expression, expected) = Self.expressions[place]
            #expect(try await crowd.reached(1, .tags(expression), idsMax: idsMax) == expected)
            let account = try await crowd.world.account()
            #expect(account.audience == Int64(expected.count) && account.reasons.isEmpty)
        }
    }

    @Test("plans along the rarest of several tags, beginning with a small slice")
    func rarest() async throws {
        try await withStores { world in
            let batch = (1...4_100).map { number in
                var registration = StoreWorld.registration("i\(number)", token: number)
                registration.profile.tags = .set(number.isMultiple(of: 2) ? ["all", "rare"] : ["all"])
                return registration
            }
            _ = await world.stores.registry.register(batch, app: world.app, now: dawn)
            let both = world.newMessage(audience: .tags(TagExpression(all: ["all", "rare"])))
            _ = try await world.stores.messages.accept(both, now: dawn)
            #expect(try await world.plan(idsMax: 20_000)?.members == 2_000)
            #expect(try await world.plan(idsMax: 20_000)?.members == 50)
        }
    }

    @Test("reaches no device of another app with the same tag")
    func perApp() async throws {
        try await withCrowd { crowd in
            try await crowd.add(tags: ["news"])
            let other = try await crowd.world.stores.registry.createApp(slug: "other", name: "Other").id
            var registration = StoreWorld.registration("x", token: 900)
            registration.profile.tags = .set(["news"])
            try await crowd.world.register(registration, app: other)
            #expect(try await crowd.reached(1, .tags(TagExpression(any: ["news"]))) == [0])
            #expect(try await crowd.reached(2, .tags(TagExpression(none: ["sport"]))) == [0])
        }
    }

    @Test("reaches no device that got the tag after planning passed it, nor one registered later")
    func late() async throws {
        try await withCrowd { crowd in
            for tags in [[], ["news"], [], ["news"]] { try await crowd.add(tags: tags) }
            let world = crowd.world
            let audience = Audience.tags(TagExpression(any: ["news"]))
            _ = try await world.stores.messages.accept(world.newMessage(audience: audience), now: dawn)
            #expect(try await world.plan(idsMax: 1)?.members == 1)
            try await crowd.change(0, tags: ["news"])
            try await crowd.change(2, tags: ["news"])
            try await crowd.add(tags: ["news"])
            while try await world.plan(idsMax: 1) != nil {}
            #expect(try await world.members(of: StoreWorld.message(1)) == crowd.ids[1...3].map(\.value))
        }
    }
}

@Suite("An audience limited to some providers")
struct NarrowedAudienceTests {
    @Test(
        "includes and counts only the devices of these providers",
        arguments: [
            Audience.Selection.all, .installations(["i0", "i1", "i2", "i3", "i4"]), .users(["ann", "bob"]),
            .tags(TagExpression(any: ["news"])), .tags(TagExpression(none: ["sport"])),
        ], [1, 100])
    func narrowed(selection: Audience.Selection, idsMax: Int) async throws {
        try await withCrowd { crowd in
            for (user, provider) in [
                ("ann", Provider.apns), ("bob", .fcm), ("ann", .fcm), ("bob", .fcm), ("bob", .fcm),
            ] {
                try await crowd.add(user: user, tags: ["news"], provider: provider)
            }
            try await crowd.retire(4)
            let apns = try await crowd.reached(1, Audience(selection, providers: [.apns]), idsMax: idsMax)
            let fcm = try await crowd.reached(2, Audience(selection, providers: [.fcm]), idsMax: idsMax)
            let both = try await crowd.reached(3, Audience(selection, providers: [.apns, .fcm]), idsMax: idsMax)
            #expect(apns == [0] && fcm == [1, 2, 3] && both == [0, 1, 2, 3])
            #expect(try await crowd.world.account(StoreWorld.message(1)).audience == 1)
        }
    }
}

@Suite("A message for stale devices")
struct StaleAudienceTests {
    @Test("reaches live devices whose last renewal is before their provider's cutoff", arguments: [1, 2, 100])
    func silent(idsMax: Int) async throws {
        try await withCrowd { crowd in
            for provider in [Provider.apns, .apns, .fcm, .fcm, .fcm] { try await crowd.add(provider: provider) }
            try await crowd.retire(3)
            try await crowd.world.pool.script(
                """
                UPDATE registration_pulse SET registered_at = '2020-01-01'
                WHERE registration_id IN (\([0, 2, 3].map { "\(crowd.ids[$0].value)" }.joined(separator: ", ")))
                """)
            let year = WallInstant(secondsSince1970: 1_609_459_200)
            let both = [Provider.apns, .fcm].map { StaleCutoffs(provider: $0, instant: year) }
            #expect(try await crowd.reached(1, Audience(.stale(both)), idsMax: idsMax) == [0, 2])
            #expect(try await crowd.reached(2, Audience(.stale([both[1]])), idsMax: idsMax) == [2])
            #expect(try await crowd.reached(3, Audience(.stale(both), providers: [.apns]), idsMax: idsMax) == [0])
            #expect(try await crowd.reached(4, Audience(.stale([])), idsMax: idsMax) == [])
        }
    }
}
