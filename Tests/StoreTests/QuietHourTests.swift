import Basis
import Model
import Postgres
import QueueRules
import Store
import TestSupport
import Testing

// Saturday, 31 October 2026, noon in UTC.
private let dawn = StoreWorld.dawn
private let hour: Duration = .seconds(3_600)

/// Quiet hours of one night in Paris, and the hours in UTC that are quiet.
struct ClockNight: Sendable, CustomTestStringConvertible {
    let day: String
    let from: String
    let to: String
    let quiet: (from: String, to: String)

    init(_ day: String, _ from: String, _ to: String, quiet: (String, String)) {
        (self.day, self.from, self.to, self.quiet) = (day, from, to, quiet)
    }

    var testDescription: String { "\(from) to \(to) on \(day)" }
}

@Suite("An app with quiet hours")
struct QuietHourTests {
    /// Sends three messages to one device; all of them wait until one o'clock.
    private func letWait(_ world: StoreWorld) async throws {
        try await world.register(zones: [nil])
        try await world.spare(quiet: (11, 13))
        for number in 1...3 as ClosedRange<UInt64> {
            try await world.send(world.newMessage(number, lifetime: hour * 24))
        }
        #expect(try await world.deliverAll() == [])
    }

    @Test("defers a push and its badge until quiet hours end on the device's own clock")
    func waits() async throws {
        try await withStores { world in
            // Noon in UTC is 13:00 in Paris, 17:30 in India and 02:00 on Kiritimati.
            try await world.register(zones: [
                nil, "Europe/Paris", "GMT+05:30", "Pacific/Kiritimati", "Mars/Olympus_Mons",
            ])
            try await world.spare(quiet: (22, 13))
            try await world.send(world.newMessage(badge: .increment, lifetime: hour * 48))
            #expect(try await world.deliverAll() == [2, 3])
            #expect(try await world.badges() == [0, 1, 1, 0, 0])
            #expect(try await world.account().pending == 3)
            #expect(try await world.deliverAll(at: dawn + hour + .seconds(-1)) == [])
            #expect(try await world.deliverAll(at: dawn + hour) == [1, 5])
            #expect(try await world.deliverAll(at: dawn + hour * 11 + .seconds(-1)) == [])
            #expect(try await world.deliverAll(at: dawn + hour * 11) == [4])
            #expect(try await world.badges() == [1, 1, 1, 1, 1])
            #expect(try await world.account().state == .finished)
        }
    }

    @Test("suppresses a push that expires before quiet hours end")
    func suppressed() async throws {
        try await withStores { world in
            try await world.register(zones: [nil, "Europe/Paris"])
            try await world.spare(quiet: (11, 13))
            try await world.send(world.newMessage(badge: .increment, lifetime: hour))
            #expect(try await world.deliverAll() == [2])
            #expect(
                try await world.suppressed() == [
                    TerminalTotal(terminalStatus: TerminalStatus(.suppressed, "quiet_hours"), count: 1)
                ])
            #expect(try await world.badges() == [0, 1])
        }
    }

    @Test("spends none of a message's rate on devices in their quiet hours")
    func rate() async throws {
        try await withStores { world in
            try await world.register(zones: [nil, nil] + [String?](repeating: "Europe/Paris", count: 4))
            try await world.spare(quiet: (11, 13))
            var message = world.newMessage(lifetime: hour * 48)
            message.ratePerSecond = 20
            try await world.send(message)
            let order = LeaseOrder(
                route: try await world.route(), owner: StoreWorld.ann, leaseFor: .seconds(60), knownFormats: [1],
                scope: .rateLimited)
            for sent in [[], [RegistrationID(3), RegistrationID(4)]] {
                let share = try #require(try await world.stores.parcels.lease(order, now: dawn).parcel)
                #expect(share.members.count == 2 && share.deferredCount == 2 - sent.count)
                #expect(try await world.deliver(share) == sent)
            }
            #expect(try await world.stores.parcels.lease(order, now: dawn).parcel == nil)
            let soon = dawn + .milliseconds(100)
            #expect(try await world.stores.parcels.lease(order, now: soon).parcel?.members.count == 2)
        }
    }

    /// In Paris, 03:00 becomes 02:00 on 25 October 2026, and 02:00 becomes 03:00 on 28 March 2027.
    @Test(
        "ends quiet hours by the local clock, also in nights with a clock change",
        arguments: [
            (from: 1_792_875_600, to: 1_792_911_600), (from: 1_806_184_800, to: 1_806_213_600),
        ])
    func clockChanges(now: Int64, end: Int64) async throws {
        try await withStores { world in
            try await world.register(zones: [nil])
            try await world.spare(quiet: (22, 8), zone: "Europe/Paris")
            let night = WallInstant(secondsSince1970: now)
            let morning = WallInstant(secondsSince1970: end)
            try await world.send(world.newMessage(lifetime: hour * 24), at: night)
            let parcel = try #require(try await world.lease(at: night))
            #expect(parcel.deferrals == [.quietHours(until: morning, isCounted: false)])
        }
    }

    /// Checks each minute from noon to the next morning.
    @Test(
        "leaves no gap in quiet hours that begin or end in a repeated or skipped hour",
        arguments: [
            // The hour from 02:00 comes twice: from 00:00Z and from 01:00Z.
            ClockNight("2026-10-25", "02:30", "07:00", quiet: ("00:30", "06:00")),
            ClockNight("2026-10-25", "01:30", "02:15", quiet: ("23:30", "01:15")),
            ClockNight("2026-10-25", "03:10", "07:00", quiet: ("02:10", "06:00")),
            // The hour is skipped: 01:00Z is 03:00. Quiet hours that begin at 02:30 begin at 02:30 of summer time.
            ClockNight("2027-03-28", "02:30", "07:00", quiet: ("00:30", "05:00")),
            ClockNight("2027-03-28", "02:30", "03:15", quiet: ("00:30", "01:15")),
            ClockNight("2027-03-28", "01:30", "07:00", quiet: ("00:30", "05:00")),
            ClockNight("2027-03-28", "03:00", "07:00", quiet: ("01:00", "05:00")),
            ClockNight("2027-03-28", "22:00", "02:30", quiet: ("21:00", "01:30")),
            // No clock change in this night.
            ClockNight("2026-10-24", "02:30", "07:00", quiet: ("00:30", "05:00")),
        ])
    func changedClocks(night: ClockNight) async throws {
        try await withStores { world in
            let registration = Statement(
                unprepared: """
                    SELECT to_char(min(instant) AT TIME ZONE 'UTC', 'HH24:MI'),
                        to_char(max(instant) AT TIME ZONE 'UTC' + interval '1 minute', 'HH24:MI'), count(*),
                        (extract(epoch FROM max(instant) - min(instant)) / 60)::bigint + 1,
                        to_char(min(ended) AT TIME ZONE 'UTC', 'HH24:MI'), count(DISTINCT ended)
                    FROM generate_series(
                            :midnight::timestamptz - interval '12 hours', :midnight::timestamptz + interval '8 hours', '1 minute')
                            AS instant,
                        LATERAL (SELECT quiet_until(instant, :from::time, :to::time, 'Europe/Paris', 'UTC') AS ended) AS quiet
                    WHERE ended IS NOT NULL
                    """)
            let minutes = Query(registration) {
                $0.text("midnight", night.day + "T00:00Z")
                $0.text("from", night.from)
                $0.text("to", night.to)
            }
            let found = try await world.pool.read(minutes).one { row throws(PostgresError) in
                (
                    span: [try row.text(), try row.text()], count: try row.int64(), length: try row.int64(),
                    end: try row.text(), endCount: try row.int64()
                )
            }
            #expect(found.span == [night.quiet.from, night.quiet.to])
            #expect(found.count == found.length, "the quiet hours have no gap")
            #expect(found.end == night.quiet.to && found.endCount == 1)
        }
    }

    @Test("applies the current quiet hours at each lease, and raises no badge twice")
    func changed() async throws {
        try await withStores { world in
            try await world.register(zones: [nil, "Europe/Paris"])
            try await world.send(world.newMessage(badge: .increment, lifetime: hour * 24))
            let free = try #require(try await world.lease())
            #expect(free.deferrals.isEmpty)
            try await world.spare(quiet: (11, 13))
            #expect(try await world.stores.parcels.rescue(now: dawn + .seconds(61)) == 1)
            let held = try #require(try await world.lease(at: dawn + .seconds(61)))
            #expect(held.deferrals == [.quietHours(until: dawn + hour, isCounted: true), .none])
            try await world.deliver(held)
            try await world.spare()
            #expect(try await world.deliverAll(at: dawn + hour) == [1])
            #expect(try await world.badges() == [1, 1])
        }
    }

    @Test("releases deferred pushes when quiet hours are shortened, removed or moved to another zone")
    func moved() async throws {
        let changes: [(hours: (from: Int, to: Int)?, zone: String)] = [
            ((11, 12), "UTC"), (nil, "UTC"), ((11, 13), "Asia/Tokyo"),
        ]
        for (hours, zone) in changes {
            try await withStores { world in
                try await world.register(zones: [nil, "Europe/Paris"])
                try await world.spare(quiet: (11, 13))
                try await world.send(world.newMessage(badge: .increment, lifetime: hour * 24))
                #expect(try await world.deliverAll() == [2])
                let later = dawn + .seconds(60)
                #expect(try await world.deliverAll(at: later) == [])
                try await world.spare(quiet: hours, zone: zone, at: later)
                #expect(try await world.deliverAll(at: later) == [1])
                #expect(try await world.badges() == [1, 1])
            }
        }
    }

    @Test("releases all deferred pushes when quiet hours are removed, however small each slice is")
    func allWoken() async throws {
        try await withStores { world in
            try await letWait(world)
            try await world.spare(at: dawn + .seconds(60))
            #expect(try await world.deliverAll(at: dawn + .seconds(60)) == [1, 1, 1])
        }
    }

    @Test(
        "releases pushes that are locked or newly deferred while quiet hours are being removed",
        .timeLimit(.minutes(1)))
    func lockedMeanwhile() async throws {
        try await withStores { world in
            try await letWait(world)
            let pool = world.pool
            let waiting = """
                SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
                """
            let (change, meanwhile) = try await pool.transaction {
                transaction throws(PostgresError) -> (Task<Void, any Error>, Task<[Int64], any Error>) in
                _ = try await transaction.run(query("SELECT FROM parcels ORDER BY id LIMIT 1 FOR UPDATE"))
                let change = Task { try await world.spare(at: dawn + .seconds(60)) }
                while !Task.isCancelled, try await pool.number(waiting) < 1 { await Task.yield() }
                let meanwhile = Task {
                    try await world.send(world.newMessage(4, lifetime: hour * 24))
                    return try await world.deliverAll()
                }
                _ = await meanwhile.result
                return (change, meanwhile)
            }
            #expect(try await meanwhile.value == [], "the lease uses the quiet hours before the change")
            try await change.value
            #expect(try await world.deliverAll(at: dawn + .seconds(60)) == [1, 1, 1, 1])
        }
    }

    @Test("keeps a push deferred until the new end when changed quiet hours still apply")
    func movedOn() async throws {
        try await withStores { world in
            try await world.register(zones: [nil])
            try await world.spare(quiet: (11, 15))
            try await world.send(world.newMessage(lifetime: hour * 24))
            #expect(try await world.deliverAll() == [])
            try await world.spare(quiet: (11, 13))
            #expect(try await world.deliverAll() == [])
            #expect(try await world.deliverAll(at: dawn + (hour - .seconds(1))) == [])
            #expect(try await world.deliverAll(at: dawn + hour) == [1])
        }
    }

    @Test("ends a deferral on time, even when its settle is written late")
    func settledLate() async throws {
        try await withStores { world in
            try await world.register(zones: [nil, "Europe/Paris"])
            try await world.spare(quiet: (11, 13))
            try await world.send(world.newMessage(lifetime: hour * 24))
            let parcel = try #require(try await world.lease())
            let settlement = try world.accepted(parcel)
            let late = dawn + .milliseconds(1_800_001)
            #expect(try await world.stores.parcels.settle([settlement], now: late)[0].get() == .settled)
            #expect(try await world.deliverAll(at: dawn + hour + .microseconds(-1)) == [])
            #expect(try await world.deliverAll(at: dawn + hour) == [1])
        }
    }

    @Test("raises a deferred member's badge when it is sent to after its process has died")
    func rescued() async throws {
        try await withStores { world in
            try await world.register(zones: [nil, "Europe/Paris"])
            try await world.spare(quiet: (11, 13))
            try await world.send(world.newMessage(badge: .increment, lifetime: hour * 24))
            _ = try #require(try await world.lease())
            #expect(try await world.badges() == [0, 1])
            let later = dawn + hour + .seconds(1)
            #expect(try await world.stores.parcels.rescue(now: later) == 1)
            let parcel = try #require(try await world.lease(at: later))
            #expect(parcel.deferrals.isEmpty && parcel.members.map(\.badge) == [1, 1])
            #expect(try await world.badges() == [1, 1])
            #expect(try await world.number("SELECT count(*) FROM parcels WHERE uncounted IS NOT NULL") == 0)
        }
    }

    @Test("ignores quiet hours for exempt messages, background pushes and dry runs")
    func exempt() async throws {
        try await withStores { world in
            try await world.register(zones: [nil])
            try await world.spare(quiet: (11, 13), cap: 1)
            let changes: [(inout NewMessage) -> Void] = [
                { $0.ignoredLimits = [.quietHours, .dailyCap] }, { $0.pushType = .background },
                { $0.isDryRun = true },
            ]
            for (place, change) in changes.enumerated() {
                var message = world.newMessage(UInt64(place + 1))
                change(&message)
                try await world.send(message)
                let parcel = try #require(try await world.lease())
                #expect(parcel.deferrals.isEmpty)
                try await world.deliver(parcel)
            }
            #expect(try await world.number("SELECT count(*) FROM user_days") == 0)
        }
    }
}
