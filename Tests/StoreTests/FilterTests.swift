import Basis
import Expressions
import Model
import Postgres
import Store
import TestSupport
import Testing

private let now = RandomFilter.now

/// An app whose registrations have random profiles.
private struct FilterFixture {
    let world: StoreWorld
    /// The devices in ascending order of their ids.
    private(set) var devices: [DeviceRecord] = []

    init(_ world: StoreWorld) { self.world = world }

    mutating func populate(_ count: Int, seed: UInt64) async throws {
        var maker = RandomFilter(random: SeededGenerator(seed: seed))
        for number in 0..<count {
            let registration = Self.registration(number, &maker)
            try await world.register(registration, at: maker.pick(RandomFilter.instants))
            let created = maker.pick(RandomFilter.instants)
            try await world.pool.script(
                """
                UPDATE registrations SET created_at = '2000-01-01Z'::timestamptz
                    + \(created.microseconds - 946_684_800_000_000) * interval '1 microsecond'
                WHERE installation = '\(registration.installation.replacing("'", with: "''"))'
                """)
            devices.append(try await world.device(registration.installation))
        }
        devices.sort { $0.id < $1.id }
    }

    private static func registration(_ number: Int, _ maker: inout RandomFilter) -> DeviceRegistration {
        let texts = RandomFilter.texts.filter { !$0.isEmpty }
        func perhaps(_ texts: [String], _ maker: inout RandomFilter) -> DeviceRegistration.Change<String> {
            Bool.random(using: &maker.random) ? .set(maker.pick(texts)) : .clear
        }
        let name = number < texts.count ? texts[number] : "i\(number)"
        var registration = StoreWorld.registration(name, token: number)
        registration.environment = maker.pick(PushEnvironment.allCases)
        registration.topic = maker.pick(["", "ann", StoreWorld.topic])
        if number.isMultiple(of: 3) {
            (registration.provider, registration.topic, registration.environment) = (.fcm, "", .production)
        }
        registration.profile[.user] = perhaps(texts, &maker)
        registration.profile[.locale] = perhaps(["de-AT", "an", "10"], &maker)
        registration.profile[.timeZone] = perhaps(["ann", "4.2"], &maker)
        registration.profile[.appVersion] = perhaps(RandomFilter.versionTexts + RandomFilter.otherVersionTexts, &maker)
        registration.profile.tags = .set(maker.list { $0.pick(RandomFilter.tags) })
        registration.profile.attributes = .set(Array(attributes(&maker, depth: 2).utf8))
        return registration
    }

    /// Makes an object with some of the names that filters use, and with values of every type.
    private static func attributes(_ maker: inout RandomFilter, depth: Int) -> String {
        var members: [String] = []
        for name in RandomFilter.names where Bool.random(using: &maker.random) {
            members.append(quoted(name) + ":" + value(&maker, depth: depth))
        }
        return "{" + members.joined(separator: ",") + "}"
    }

    private static func value(_ maker: inout RandomFilter, depth: Int) -> String {
        switch Int.random(in: depth > 0 ? 0..<8 : 0..<6, using: &maker.random) {
        case 0: "null"
        case 1: maker.pick(["true", "false"])
        case 2: maker.pick(RandomFilter.numberTexts + ["1.50", "1e1", "-0.0", "15e-1", "1e308", "1e-300"])
        case 3...5: quoted(maker.pick(RandomFilter.texts))
        case 6: "[" + maker.list { value(&$0, depth: depth - 1) }.joined(separator: ",") + "]"
        default: attributes(&maker, depth: depth - 1)
        }
    }

    private static func quoted(_ text: String) -> String {
        "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }

    /// Returns the names of the devices in the list.
    func listed(_ expression: FilterExpression, _ change: (inout DeviceFilter) -> Void = { _ in }) async throws
        -> [String]
    {
        var filter = DeviceFilter()
        filter.condition = DeviceCondition(expression, now: now)
        change(&filter)
        var names: [String] = []
        var cursor: DeviceCursor?
        repeat {
            let registry = world.stores.registry
            let page = try #require(try await registry.devices(app: world.app, filter, after: cursor, limit: 40))
            names += page.devices.map(\.installation)
            cursor = page.next
        } while cursor != nil
        return names
    }

    /// Plans a message for an audience to its end and returns the registrations that it reached.
    func reached(_ number: UInt64, _ audience: Audience, idsMax: Int = 100) async throws -> [RegistrationID] {
        let messages = world.stores.messages
        _ = try await messages.accept(world.newMessage(number, audience: audience), now: now)
        var later = now
        while case .planned = try await messages.plan(
            atMost: 1, idsMax: idsMax, knownFormats: [1], now: later)
        { later = later + .seconds(86_400) }
        return try await world.members(of: StoreWorld.message(number)).map { RegistrationID($0) }
    }
}

@Suite("A filter in the database")
struct FilterTests {
    @Test("matches the same devices as the reference evaluation, for 600 random expressions")
    func agrees() async throws {
        try await withStores { world in
            var fixture = FilterFixture(world)
            try await fixture.populate(120, seed: 11)
            var maker = RandomFilter(random: SeededGenerator(seed: 12))
            var (fitting, others) = (0, 0)
            for _ in 0..<600 {
                let expression = maker.expression()
                let expected = fixture.devices.filter { $0.isTrue(expression) }.map(\.installation)
                let listed = try await fixture.listed(expression)
                #expect(Set(listed) == Set(expected) && listed.count == expected.count, "\(expression.text)")
                fitting += expected.count
                others += fixture.devices.count - expected.count
            }
            #expect(min(fitting, others) > 10_000)
        }
    }

    @Test("selects the audience slice by slice, with now as the time of acceptance")
    func audience() async throws {
        try await withStores { world in
            var fixture = FilterFixture(world)
            try await fixture.populate(60, seed: 21)
            var maker = RandomFilter(random: SeededGenerator(seed: 22))
            let recent = try FilterExpression(parsing: "registered_at >= now - 1h and registered_at <= now")
            for number in 1...40 {
                let expression = number == 1 ? recent : maker.expression()
                let expected = fixture.devices.filter { $0.isTrue(expression) }.map(\.id)
                let reached = try await fixture.reached(
                    UInt64(number), .filter(expression.text), idsMax: maker.pick([1, 7, 100]))
                #expect(reached == expected, "\(expression.text)")
            }
        }
    }

    @Test("excludes other providers, kinds and apps, and retired devices")
    func narrowed() async throws {
        try await withStores { world in
            var fixture = FilterFixture(world)
            try await fixture.populate(12, seed: 31)
            let other = try await world.stores.registry.createApp(slug: "other", name: "Other").id
            try await world.register(StoreWorld.registration("elsewhere", token: 900), app: other)
            try await world.register(StoreWorld.registration("caller", token: 901, kind: .voip))
            try await world.pool.script("UPDATE registrations SET state = 3 WHERE id = \(fixture.devices[3].id.value)")
            let everybody = Audience(.filter("not user == \"nobody\""), providers: [.fcm])
            let expected = fixture.devices.filter { $0.provider == .fcm && $0.id != fixture.devices[3].id }
            #expect(try await fixture.reached(1, everybody, idsMax: 5) == expected.map(\.id))
            let account = try await world.account()
            #expect(account.audience == Int64(expected.count) && account.reasons.isEmpty)
            #expect(
                account.form?.asked
                    == JSONText(
                        bytes: Array(
                            #"{"filter":"not user == \"…\"","providers":["fcm"]}"#.utf8)))
        }
    }

    @Test("passes its texts as values, so that none becomes SQL")
    func injection() async throws {
        try await withStores { world in
            var fixture = FilterFixture(world)
            try await fixture.populate(5, seed: 41)
            let hostile = [
                "' OR true --", "'); DROP TABLE registrations; --", "$1", "\\'; SELECT pg_sleep(60) --", "{}\",'x'}",
                "%", "_", "NULL", "\"}'::jsonb OR true OR '",
            ]
            let fields = ["user", "installation", "attributes.x", "attributes['%'].y", "topic"]
            for text in hostile {
                let literal = "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
                for field in fields {
                    let named = field.replacing("'%'", with: literal)
                    for test in ["== \(literal)", "in [\(literal), 'x']", "starts_with \(literal)"] {
                        #expect(try await fixture.listed(try FilterExpression(parsing: "\(named) \(test)")).isEmpty)
                    }
                }
                #expect(try await fixture.listed(try FilterExpression(parsing: "tags has \(literal)")).isEmpty)
            }
            #expect(try await world.number("SELECT count(*) FROM registrations") == 5)
        }
    }

    @Test("combines with every other condition of a device list")
    func lists() async throws {
        try await withStores { world in
            var fixture = FilterFixture(world)
            try await fixture.populate(30, seed: 51)
            let expression = try FilterExpression(parsing: "environment == 'production'")
            let fitting = fixture.devices.filter { $0.environment == .production }
            func names(_ devices: [DeviceRecord]) -> [String] { devices.map(\.installation) }
            #expect(try await fixture.listed(expression).count == fitting.count)
            let active = try await fixture.listed(expression) { $0.state = .active }
            #expect(active == names(fitting))
            let tagged = try await fixture.listed(expression) { $0.tag = "news" }
            #expect(tagged == names(fitting.filter { $0.profile.tags.contains("news") }))
            let users = try await fixture.listed(expression) { $0.user = "ann" }
            #expect(users == names(fitting.filter { $0.profile[.user] == "ann" }))
            #expect(try await fixture.listed(expression) { $0.state = .retired } == [])
        }
    }

    @Test("leaves no prepared statement behind")
    func unprepared() async throws {
        var pool = PoolSettings()
        pool.connectionsMax = 1
        try await withStores(pool: pool) { world in
            var fixture = FilterFixture(world)
            try await fixture.populate(2, seed: 61)
            let count = "SELECT count(*) FROM pg_prepared_statements"
            var prepared: [Int] = []
            for number in 1...3 {
                let expression = try FilterExpression(parsing: "app_version >= '\(number)' or user exists")
                _ = try await fixture.listed(expression)
                _ = try await fixture.reached(UInt64(number), .filter(expression.text))
                prepared.append(try await world.number(count))
            }
            #expect(prepared[1] == prepared[0] && prepared[2] == prepared[0])
        }
    }

    @Test("holds up no other message if its stored text is damaged")
    func damaged() async throws {
        try await withStores { world in
            try await world.register(1...2)
            let audience = Audience.filter("installation == \"i2\"")
            _ = try await world.stores.messages.accept(world.newMessage(1, audience: audience), now: now)
            _ = try await world.stores.messages.accept(world.newMessage(2, audience: audience), now: now)
            try await world.pool.script(
                """
                UPDATE message_contents SET audience = '{"filter":"installation =="}'
                WHERE message_id = '\(StoreWorld.message(1).value.text)'
                """)
            let messages = world.stores.messages
            let first = try await messages.plan(atMost: 1, knownFormats: [1], now: now)
            guard case .putAside = first else { return #expect(Bool(false), "\(first)") }
            let second = try await messages.plan(atMost: 1, knownFormats: [1], now: now)
            guard let slice = second.slice else { return #expect(Bool(false), "\(second)") }
            #expect(slice.message == StoreWorld.message(2) && slice.members == 1)
        }
    }
}

extension DeviceRecord {
    fileprivate func isTrue(_ expression: FilterExpression) -> Bool { expression.isTrue(of: self, now: now) }
}
