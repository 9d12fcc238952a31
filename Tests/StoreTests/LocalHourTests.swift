import Basis
import Calendar
import Content
import Encodings
import Model
import Postgres
import Store
import Testing

/// The time is 2026-10-31T12:00:00Z.
private let dawn = StoreWorld.dawn

/// Reads a time in UTC.
private func time(_ text: String) throws -> WallInstant { try #require(RFC3339.parse(text + "Z")) }

@Suite("A message sent at a local hour of each device")
struct LocalHourTests {
    private static let formats: [Int16] = [1]

    func message(
        _ world: StoreWorld, _ hour: String, sendsPassed: Bool = false, audience: Audience = .all,
        acceptedAt now: WallInstant
    ) throws -> NewMessage {
        var message = world.newMessage(1, audience: audience, lifetime: .seconds(600))
        let sending = LocalSending(
            hour: LocalHour(inUTC: try #require(RFC3339.parseLocal(hour))), sendsPassed: sendsPassed)
        message.localSending = sending
        message.dueAt = try SendTime.due(.local(sending), now: now)
        return message
    }

    /// Registers a device for each zone, named after the zone; nil registers a device without one.
    func register(_ world: StoreWorld, _ zones: [String?]) async throws {
        for (place, zone) in zones.enumerated() {
            var registration = StoreWorld.registration(zone ?? "none", token: place + 1)
            registration.profile[.timeZone] = zone.map { .set($0) } ?? .keep
            try await world.register(registration)
        }
    }

    func plan(
        _ world: StoreWorld, idsMax: Int = 20_000, parcelMembersMax: Int = 5_000, at now: WallInstant
    ) async throws -> [PlannedSlice] {
        var slices: [PlannedSlice] = []
        while let slice = try await world.stores.messages.plan(
            atMost: 1, idsMax: idsMax, parcelMembersMax: parcelMembersMax, knownFormats: Self.formats, now: now
        ).slice {
            slices.append(slice)
        }
        return slices
    }

    /// Returns for each parcel its devices' names, its due time, and the lifetime from then on.
    func parcels(_ world: StoreWorld) async throws -> [(
        names: [String], dueAt: WallInstant, lifetime: Duration
    )] {
        let rows = try await world.pool.read(query("SELECT members, due_at, expires_at FROM parcels ORDER BY id")).map {
            row throws(PostgresError) in
            (members: try row.bytes(), dueAt: try row.instant(), expiresAt: try row.instant())
        }
        var parcels: [(names: [String], dueAt: WallInstant, lifetime: Duration)] = []
        for row in rows {
            let ids = try MemberList.decode(row.members)
            let names = try await world.pool.read(
                query("SELECT installation FROM registrations WHERE id = ANY (:members) ORDER BY id") {
                    $0.int64Array("members", ids)
                })
            parcels.append((try names.map(String.init), row.dueAt, row.expiresAt - row.dueAt))
        }
        return parcels
    }

    /// Returns the due times in UTC, by zone, of a message that was accepted two days before.
    private func instants(of hour: String, in zones: [String]) async throws -> [String] {
        var found: [String: String] = [:]
        try await withStores { world in
            try await register(world, zones)
            let accepted = try time(hour) + .seconds(-2 * 86_400)
            let message = try message(world, hour, acceptedAt: accepted)
            #expect(try await world.stores.messages.accept([message], now: accepted) == .accepted)
            let due = try #require(message.dueAt)
            #expect(try await world.stores.messages.fallDue(now: due) == 1)
            _ = try await plan(world, at: due)
            for parcel in try await parcels(world) {
                #expect(parcel.lifetime == .seconds(600))
                for name in parcel.names { found[name] = RFC3339.formatLocal(parcel.dueAt) }
            }
        }
        return zones.map { found[$0] ?? "never" }
    }

    @Test("becomes due when the device's clock shows the hour, in every time zone")
    func instants() async throws {
        let zones = [
            "Pacific/Kiritimati", "Pacific/Apia", "Asia/Kathmandu", "Europe/Paris", "UTC", "America/New_York",
            "Pacific/Pago_Pago", "Etc/GMT+12", "GMT+05:30", "GMT-0930", "IST", "Nowhere/Land",
        ]
        let instants = try await instants(of: "2026-12-01T12:00:00", in: zones)
        #expect(
            instants == [
                "2026-11-30T22:00:00", "2026-11-30T23:00:00", "2026-12-01T06:15:00", "2026-12-01T11:00:00",
                "2026-12-01T12:00:00", "2026-12-01T17:00:00", "2026-12-01T23:00:00", "2026-12-02T00:00:00",
                "2026-12-01T06:30:00", "2026-12-01T21:30:00", "2026-12-01T12:00:00", "2026-12-01T12:00:00",
            ])
    }

    @Test(
        "moves a skipped hour later and uses the second of two equal hours at daylight saving",
        arguments: [
            // In 2026, Europe changes its clocks on March 29 and October 25, and New York on March 8 and November 1.
            // Lord Howe changes by half an hour, on April 5 and October 4.
            ("2026-03-29T01:30:00", "Europe/Paris", "2026-03-29T00:30:00"),
            ("2026-03-29T02:30:00", "Europe/Paris", "2026-03-29T01:30:00"),
            ("2026-03-29T03:30:00", "Europe/Paris", "2026-03-29T01:30:00"),
            ("2026-10-25T02:30:00", "Europe/Paris", "2026-10-25T01:30:00"),
            ("2026-10-25T12:00:00", "Europe/Paris", "2026-10-25T11:00:00"),
            ("2026-10-24T12:00:00", "Europe/Paris", "2026-10-24T10:00:00"),
            ("2026-03-08T02:30:00", "America/New_York", "2026-03-08T07:30:00"),
            ("2026-11-01T01:30:00", "America/New_York", "2026-11-01T06:30:00"),
            ("2026-10-04T02:15:00", "Australia/Lord_Howe", "2026-10-03T15:45:00"),
            ("2026-10-04T12:00:00", "Australia/Lord_Howe", "2026-10-04T01:00:00"),
            ("2026-04-05T12:00:00", "Australia/Lord_Howe", "2026-04-05T01:30:00"),
        ])
    func daylightSaving(hour: String, zone: String, instant: String) async throws {
        #expect(try await instants(of: hour, in: [zone]) == [instant])
    }

    @Test("uses the app's time zone if a device has none or an unknown one")
    func ofApp() async throws {
        try await withStores { world in
            var change = AppChange()
            change.timeZone = "America/New_York"
            _ = try await world.stores.registry.changeApp(world.app, change)
            try await register(world, [nil, "Nowhere/Land", "America/New_York", "Europe/Paris"])
            let targets = [77, 4].map {
                InlineTarget(
                    provider: .apns, environment: .production, topic: StoreWorld.topic, token: StoreWorld.token($0))
            }
            for (number, audience) in [Audience.all, Audience(.tokens(targets))].enumerated() {
                var message = try message(world, "2026-12-01T12:00:00", audience: audience, acceptedAt: dawn)
                message.id = StoreWorld.message(UInt64(number) + 1)
                _ = try await world.stores.messages.accept([message], now: dawn)
            }
            let first = try time("2026-11-30T22:00:00")
            #expect(try await world.stores.messages.fallDue(now: first) == 2)
            _ = try await plan(world, at: first)
            let parcels = try await parcels(world)
            let ofApp = ["none", "Nowhere/Land", "America/New_York"]
            #expect(parcels.map(\.names) == [["Europe/Paris"], ofApp, ["Europe/Paris"], []])
            #expect(
                parcels.map { RFC3339.formatLocal($0.dueAt) } == [
                    "2026-12-01T11:00:00", "2026-12-01T17:00:00", "2026-12-01T11:00:00", "2026-12-01T17:00:00",
                ])
        }
    }

    @Test("waits for the first time zone, and reaches devices that registered until then")
    func horizon() async throws {
        try await withStores { world in
            let messages = world.stores.messages
            let first = try time("2026-11-30T22:00:00")
            try await register(world, ["Europe/Paris"])
            _ = try await messages.accept([try message(world, "2026-12-01T12:00:00", acceptedAt: dawn)], now: dawn)
            let waiting = try await world.account()
            #expect(waiting.state == .scheduled && waiting.localHour?.first == first)
            let lastEnd = try time("2026-12-02T00:10:00")
            #expect(waiting.expiresAt == lastEnd)
            #expect(try await messages.nextDue(now: dawn) == first - dawn)
            #expect(try await messages.fallDue(now: first + .microseconds(-1)) == 0)
            try await world.register(11...11, at: first)
            #expect(try await messages.fallDue(now: first) == 1)
            try await world.register(12...12, at: first)
            #expect(try await plan(world, at: first).map(\.isPlanned) == [true])
            let account = try await world.account()
            #expect(account.state == .sending && account.audience == 2 && account.pending == 2)
            #expect(try await world.lease(at: try time("2026-12-01T10:59:59")) == nil)
            let paris = try time("2026-12-01T11:00:00")
            let leased = try #require(try await world.lease(at: paris))
            #expect(leased.members.count == 1 && leased.expiresAt == paris + .seconds(600))
        }
    }

    @Test("ends as suppressed for devices whose hour had passed when it was accepted")
    func passed() async throws {
        try await withStores { world in
            try await register(world, ["Europe/Paris", "UTC", "Asia/Tokyo", "America/New_York", "Asia/Seoul"])
            let now = try time("2026-12-01T11:00:01")
            let names = ["nobody", "Europe/Paris", "UTC", "Asia/Tokyo", "America/New_York", "Asia/Seoul"]
            let sent = try message(world, "2026-12-01T12:00:00", audience: .installations(names), acceptedAt: now)
            #expect(sent.dueAt == nil)
            _ = try await world.stores.messages.accept([sent], now: now)
            // The names fit in one slice; groups are no larger than parcels.
            let slices = try await plan(world, idsMax: 2, parcelMembersMax: 2, at: now)
            #expect(slices.map(\.members) == [2] && slices.last?.isPlanned == true)
            let account = try await world.account()
            #expect(account.audience == 6 && account.pending == 2 && account.state == .sending)
            #expect(account.count(.suppressed) == 3 && account.count(.rejected) == 1)
            #expect(
                account.reasons == [
                    TerminalTotal(terminalStatus: TerminalStatus(.rejected, "unknown_device"), count: 1),
                    TerminalTotal(terminalStatus: TerminalStatus(.suppressed, "local_time_passed"), count: 3),
                ])
            #expect(account.providers.map { $0.count(.suppressed) } == [3] && account.providers.map(\.members) == [5])
            let failures = try await world.stores.messages.failures(
                app: world.app, id: StoreWorld.message(1), filter: FailureFilter(state: .suppressed), limit: 10)
            #expect(
                failures?.items.compactMap(\.installation).sorted() == ["Asia/Seoul", "Asia/Tokyo", "Europe/Paris"])
            let pushHistory = try await world.stores.messages.pushHistory(
                app: world.app, id: StoreWorld.message(1), installation: "Asia/Seoul")
            #expect(pushHistory?.status == .ended(TerminalStatus(.suppressed, "local_time_passed")))
            #expect(try await world.number("SELECT max(member_count) FROM push_history") == 2)
        }
    }

    @Test("finishes at once if the hour had passed for every device")
    func passedForAll() async throws {
        try await withStores { world in
            try await register(world, ["Asia/Tokyo", "Asia/Seoul"])
            let now = try time("2026-12-01T11:00:00")
            _ = try await world.stores.messages.accept(
                [try message(world, "2026-12-01T12:00:00", acceptedAt: now)], now: now)
            let slices = try await plan(world, at: now)
            #expect(slices.map(\.isFinished) == [true])
            let account = try await world.account()
            #expect(account.state == .finished && account.audience == 2 && account.count(.suppressed) == 2)
        }
    }

    @Test("reaches devices whose hour has passed at once if the sender asks for it")
    func late() async throws {
        try await withStores { world in
            try await register(world, ["Europe/Paris", "UTC", "Asia/Tokyo"])
            let now = try time("2026-12-01T11:30:00")
            _ = try await world.stores.messages.accept(
                [try message(world, "2026-12-01T12:00:00", sendsPassed: true, acceptedAt: now)], now: now)
            // The planner runs a minute later. A push overdue by then does not pass older ones of other messages.
            let later = now + .seconds(60)
            _ = try await plan(world, at: later)
            let parcels = try await parcels(world)
            #expect(parcels.map(\.names) == [["Europe/Paris", "Asia/Tokyo"], ["UTC"]])
            let noon = try time("2026-12-01T12:00:00")
            #expect(parcels.map(\.dueAt) == [later, noon])
            #expect(parcels.map(\.lifetime) == [.seconds(540), .seconds(600)])
        }
    }

    @Test("makes one parcel per route and instant, whatever the names of the time zones")
    func shared() async throws {
        try await withStores { world in
            try await register(world, ["Europe/Paris", "Europe/Berlin", "GMT+01:00", "Africa/Lagos", "UTC"])
            let now = try time("2026-12-01T02:00:00")
            _ = try await world.stores.messages.accept(
                [try message(world, "2026-12-01T12:00:00", acceptedAt: now)], now: now)
            #expect(try await plan(world, idsMax: 2, at: now).map(\.members) == [5])
            #expect(
                try await parcels(world).map(\.names) == [
                    ["Europe/Paris", "Europe/Berlin", "GMT+01:00", "Africa/Lagos"], ["UTC"],
                ])
        }
    }

    @Test("suppresses and reports devices slice by slice, however high their ids are")
    func slices() async throws {
        try await withStores { world in
            try await world.register(1...3)
            try await world.pool.script("SELECT setval('registrations_id_seq', 5000000000)")
            try await world.register(4...9)
            try await world.pool.script("UPDATE registrations SET time_zone = 'Asia/Tokyo'")
            let now = try time("2026-12-01T11:00:00")
            _ = try await world.stores.messages.accept(
                [try message(world, "2026-12-01T12:00:00", acceptedAt: now)], now: now)
            #expect(try await plan(world, idsMax: 1, parcelMembersMax: 3, at: now).count == 3)
            #expect(try await world.account().count(.suppressed) == 9)
            let pushHistory = try await world.stores.messages.pushHistory(
                app: world.app, id: StoreWorld.message(1), installation: "i9")
            #expect(pushHistory?.status == .ended(TerminalStatus(.suppressed, "local_time_passed")))
        }
    }

    @Test("finds the real time zones among thousands of invented ones")
    func madeUp() async throws {
        try await withStores { world in
            try await world.register(1...2_200)
            try await world.pool.script(
                """
                UPDATE registrations SET time_zone = CASE installation WHEN 'i1' THEN 'Europe/Paris'
                    WHEN 'i2' THEN 'america/new_york' WHEN 'i3' THEN 'GMT+03:00' WHEN 'i4' THEN NULL
                    ELSE 'Nowhere/' || translate(installation, '0123456789', 'abcdefghij') END
                """)
            let now = try time("2026-12-01T02:00:00")
            _ = try await world.stores.messages.accept(
                [try message(world, "2026-12-01T12:00:00", acceptedAt: now)], now: now)
            #expect(try await plan(world, at: now).map(\.members) == [2_200])
            let parcels = try await parcels(world)
            #expect(parcels.map(\.names.count) == [1, 1, 2_197, 1])
            #expect(parcels.map(\.names.first) == ["i3", "i1", "i4", "i2"])
            #expect(
                parcels.map { RFC3339.formatLocal($0.dueAt) } == [
                    "2026-12-01T09:00:00", "2026-12-01T11:00:00", "2026-12-01T12:00:00", "2026-12-01T17:00:00",
                ])
        }
    }

    @Test("can be paused, resumed and cancelled while it waits for later time zones")
    func stopped() async throws {
        try await withStores { world in
            try await register(world, ["Europe/Paris", "America/New_York"])
            let now = try time("2026-12-01T02:00:00")
            _ = try await world.stores.messages.accept(
                [try message(world, "2026-12-01T12:00:00", acceptedAt: now)], now: now)
            _ = try await plan(world, at: now)
            func control(_ control: ControlRequest, at now: WallInstant) async throws {
                #expect(
                    try await world.stores.messages.control(
                        control, app: world.app, id: StoreWorld.message(1), now: now)
                        == .done)
                try await world.stores.stops.carryOut(now: now)
            }
            let paris = try time("2026-12-01T11:00:00")
            try await control(.pause, at: now)
            #expect(try await world.lease(at: paris) == nil)
            try await control(.resume, at: paris)
            let leased = try #require(try await world.lease(at: paris))
            #expect(leased.members.count == 1)
            #expect(try await world.stores.parcels.settle([leased.settlingAll()], now: paris)[0].get() == .settled)
            #expect(try await world.lease(at: try time("2026-12-01T16:59:59")) == nil)
            #expect(try await world.account().state == .sending)
            try await control(.cancel, at: paris)
            let account = try await world.account()
            #expect(account.state == .cancelled && account.pending == 0)
            #expect(account.count(.accepted) == 1 && account.count(.cancelled) == 1)
        }
    }

    @Test("expires for each time zone on its own, even if it is on hold or rate-limited")
    func expiry() async throws {
        try await withStores { world in
            try await register(world, ["Europe/Paris", "America/New_York"])
            let now = try time("2026-12-01T02:00:00")
            let end = try time("2026-12-01T11:10:00")
            for number in UInt64(1)...2 {
                var message = try message(world, "2026-12-01T12:00:00", acceptedAt: now)
                message.id = StoreWorld.message(number)
                message.ratePerSecond = number == 1 ? 10 : nil
                _ = try await world.stores.messages.accept([message], now: now)
            }
            _ = try await plan(world, at: now)
            let paused = StoreWorld.message(2)
            #expect(try await world.stores.messages.control(.pause, app: world.app, id: paused, now: now) == .done)
            try await world.stores.stops.carryOut(now: now)
            #expect(try await world.stores.stops.carryOut(now: end + .microseconds(-1)) == 0)
            #expect(try await world.stores.stops.carryOut(now: end) == 2)
            let leased = try #require(try await world.lease(scope: .expired, at: end))
            #expect(leased.message == StoreWorld.message(1) && leased.members.count == 1)
            #expect(
                try await world.account(paused).reasons.map(\.terminalStatus) == [TerminalStatus(.expired, "expired")])
            #expect(try await world.number("SELECT count(*) FROM parcels WHERE state > 2") == 2)
            #expect(try await world.stores.messages.control(.resume, app: world.app, id: paused, now: end) == .done)
            try await world.stores.stops.carryOut(now: end)
            let newYork = try time("2026-12-01T17:00:00")
            #expect(try await world.lease(at: newYork)?.message == paused)
        }
    }
}
