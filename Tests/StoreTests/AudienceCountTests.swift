import Basis
import Calendar
import Model
import Store
import Testing

private let dawn = StoreWorld.dawn

/// Registers devices of several users, providers, languages and time zones, and counts audiences among them.
private struct CountedCrowd {
    let world: StoreWorld

    func register() async throws {
        typealias Device = (user: String?, tags: [String], provider: Provider, locale: String?, zone: String?)
        let devices: [Device] = [
            ("ann", ["news"], .apns, "fr-CA", "America/Toronto"), ("ann", ["news", "beta"], .fcm, "fr_FR", nil),
            ("bob", ["beta"], .apns, "iw", "Asia/Jerusalem"), ("bob", [], .fcm, nil, "Europe/Paris"),
            (nil, ["news", "sport"], .apns, "FR", "Europe/Paris"), ("cid", ["news"], .apns, "en", "Europe/Paris"),
            ("dan", ["news"], .apns, "en", nil),
        ]
        for (number, device) in devices.enumerated() {
            var registration = StoreWorld.registration("i\(number)", token: number)
            registration.provider = device.provider
            if let user = device.user { registration.profile[.user] = .set(user) }
            if let locale = device.locale { registration.profile[.locale] = .set(locale) }
            if let zone = device.zone { registration.profile[.timeZone] = .set(zone) }
            registration.profile.tags = .set(device.tags)
            try await world.register(registration)
        }
        try await world.register(StoreWorld.registration("i0", token: 90, kind: .voip))
        try await world.register(StoreWorld.registration("headset", token: 91, kind: .voip))
        try await world.pool.script(
            """
            UPDATE registrations SET state = \(RegistrationState.retired.rawValue) WHERE installation = 'i6';
            UPDATE registrations SET state = \(RegistrationState.suspected.rawValue) WHERE installation = 'i4';
            UPDATE registration_pulse SET registered_at = '2020-01-01' WHERE registration_id IN
                (SELECT id FROM registrations WHERE installation IN ('i1', 'i4', 'i6'))
            """)
    }

    func count(
        _ audience: Audience, hour: LocalHour? = nil, idsMax: Int = 100, for time: Duration = .seconds(600)
    ) async throws -> AudienceCount {
        try await world.stores.messages.count(
            CountedMessage(
                app: world.app, audience: audience, kind: audience.kind ?? .alert,
                localSending: hour.map { LocalSending(hour: $0) }),
            idsMax: idsMax, for: time, now: dawn)
    }

    /// Accepts a message and plans it to its end.
    func account(_ audience: Audience, hour: LocalHour? = nil, number: UInt64 = 1) async throws -> MessageAccount {
        var message = world.newMessage(number, audience: audience)
        if let kind = audience.kind { message.kind = kind }
        message.localSending = hour.map { LocalSending(hour: $0) }
        #expect(try await world.stores.messages.accept([message], now: dawn) == .accepted)
        while try await world.stores.messages.plan(atMost: 1, knownFormats: [1, 2, 3, 5], now: dawn) != .nothing {}
        return try await world.account(message.id)
    }
}

private func withCountedCrowd(_ body: (CountedCrowd) async throws -> Void) async throws {
    try await withStores { world in
        let crowd = CountedCrowd(world: world)
        try await crowd.register()
        try await body(crowd)
    }
}

@Suite("The count of an audience")
struct AudienceCountTests {
    private static func target(_ seed: Int, _ provider: Provider = .apns) -> InlineTarget {
        InlineTarget(
            provider: provider, environment: .production, topic: StoreWorld.topic, token: StoreWorld.token(seed))
    }

    private static let silent = [Provider.apns, .fcm].map {
        StaleCutoffs(provider: $0, instant: WallInstant(secondsSince1970: 1_609_459_200))
    }

    static let audiences: [Audience] = [
        .all, Audience(.all, providers: [.fcm]), Audience(.all, kind: .voip), Audience(.all, kind: .widget),
        .installations(["i0", "i1", "i1", "i6", "headset", "nobody"]),
        Audience(.installations(["i0", "i1", "i6", "nobody"]), providers: [.fcm]),
        .users(["ann", "bob", "ann", "dan", "nobody"]), Audience(.users(["ann", "dan"]), providers: [.apns]),
        .tags(TagExpression(any: ["news"])), .tags(TagExpression(any: ["sport", "beta"], all: ["news"])),
        .tags(TagExpression(none: ["news"])), Audience(.tags(TagExpression(any: ["news"])), providers: [.apns]),
        .filter("locale == 'en' or tags has 'beta'"), Audience(.filter("user == 'ann'"), providers: [.fcm]),
        .stale(silent), Audience(.stale(silent), providers: [.fcm]), .stale([]),
        .tokens([target(0), target(1, .fcm), target(0), target(6), target(70), target(70, .fcm), target(90)]),
        Audience(.tokens([target(0), target(1, .fcm), target(71, .fcm)]), providers: [.fcm]),
    ]

    @Test(
        "agrees with the audience that a message gets, for each form and size of a slice",
        arguments: audiences.indices, [1, 2, 100])
    func agrees(place: Int, idsMax: Int) async throws {
        try await withCountedCrowd { crowd in
            let count = try await crowd.count(Self.audiences[place], idsMax: idsMax)
            #expect(!count.isCutShort && count.passed == nil)
            let account = try await crowd.account(Self.audiences[place])
            #expect(count.count == account.pending)
            #expect(count.unknown == account.count(.rejected) + account.count(.unregistered))
            #expect(count.count + count.unknown == account.audience)
            let providers = account.providers.filter { $0.pending > 0 }.map {
                AudienceCount.Part($0.provider.name, $0.pending)
            }
            #expect(count.byProvider.sorted { $0.name < $1.name } == providers)
            for parts in [count.byLanguage, count.byTimeZone] {
                #expect(parts.reduce(0) { $0 + $1.count } == count.count)
            }
        }
    }

    @Test("has the parts of each provider, language and time zone, the largest first")
    func parts() async throws {
        try await withCountedCrowd { crowd in
            let count = try await crowd.count(.all)
            typealias Part = AudienceCount.Part
            #expect(count.count == 6)
            #expect(count.byProvider == [Part("apns", 4), Part("fcm", 2)])
            #expect(count.byLanguage == [Part("fr", 3), Part("en", 1), Part("he", 1), Part("none", 1)])
            #expect(
                count.byTimeZone == [
                    Part("Europe/Paris", 3), Part("America/Toronto", 1), Part("Asia/Jerusalem", 1), Part("none", 1),
                ])
        }
    }

    @Test("lists the fifty most frequent time zones, and the sum of the others")
    func manyZones() async throws {
        try await withStores { world in
            try await world.register(1...54)
            try await world.pool.script(
                """
                UPDATE registrations SET time_zone =
                    CASE WHEN installation IN ('i1', 'i2') THEN 'Europe/Paris' ELSE 'Area/' || installation END
                """)
            let zones = try await CountedCrowd(world: world).count(.all).byTimeZone
            #expect(zones.count == 51)
            #expect(zones.first == AudienceCount.Part("Europe/Paris", 2))
            #expect(zones.last == AudienceCount.Part("other", 3))
        }
    }

    @Test(
        "says how many devices are too late for a local hour, as the planner finds them",
        arguments: ["2026-10-31T12:00", "2026-10-31T19:00", "2026-11-01T02:00", "2026-10-31T08:00"])
    func passed(hour: String) async throws {
        try await withCountedCrowd { crowd in
            let hour = LocalHour(inUTC: try #require(RFC3339.parseLocal(hour + ":00")))
            let tokens = Audience.tokens([Self.target(0), Self.target(70)])
            for (number, audience) in [.all, Audience(.all, providers: [.fcm]), tokens].enumerated() {
                let count = try await crowd.count(audience, hour: hour, idsMax: number + 1)
                let account = try await crowd.account(audience, hour: hour, number: UInt64(number) + 1)
                #expect(count.passed == account.count(.suppressed))
                #expect(count.count == account.audience)
            }
        }
    }

    @Test("ends when its time is over, and never counts too many")
    func cutShort() async throws {
        try await withCountedCrowd { crowd in
            let count = try await crowd.count(.all, idsMax: 2, for: .zero)
            #expect(count.isCutShort && count.count == 2)
            #expect(try await !crowd.count(.all, idsMax: 100, for: .zero).isCutShort)
        }
    }

    @Test("leaves nothing behind")
    func readsOnly() async throws {
        try await withCountedCrowd { crowd in
            let last = "SELECT last_value FROM registrations_id_seq"
            let before = try await crowd.world.number(last)
            _ = try await crowd.count(.tokens([Self.target(70)]))
            #expect(try await crowd.world.number(last) == before)
            #expect(
                try await crowd.world.number(
                    "(SELECT count(*) FROM messages) + (SELECT count(*) FROM inline_targets)") == 0)
        }
    }
}
