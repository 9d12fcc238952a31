import Basis
import Calendar
import Model
import Store
import Testing

/// Reads a time in UTC.
private func time(_ text: String) throws -> WallInstant { try #require(RFC3339.parse(text + "Z")) }

extension LocalHourTests {
    @Test("counts a clock that showed the hour before the start as passed, whenever the device came")
    func earlierClocks() async throws {
        for sendsPassed in [false, true] {
            try await withStores { world in
                try await register(world, ["UTC", "Africa/Lagos"])
                let now = try time("2026-12-01T02:00:00")
                let noon = try time("2026-12-01T12:00:00")
                var message = try message(world, "2026-12-01T12:00:00", sendsPassed: sendsPassed, acceptedAt: now)
                let start = noon + .seconds(-3_600 - 600)
                message.dueAt = start
                _ = try await world.stores.messages.accept([message], now: now)
                // One device comes with an earlier clock, and another one travels east.
                var tokyo = StoreWorld.registration("Asia/Tokyo", token: 10)
                tokyo.profile[.timeZone] = .set("Asia/Tokyo")
                try await world.register(tokyo)
                try await world.pool.script(
                    "UPDATE registrations SET time_zone = 'Asia/Dubai' WHERE installation = 'Africa/Lagos'")
                #expect(try await world.stores.messages.fallDue(now: start + .microseconds(-1)) == 0)
                #expect(try await world.stores.messages.fallDue(now: start + .seconds(60)) == 1)
                _ = try await plan(world, at: start + .seconds(60))
                let parcels = try await parcels(world)
                let late = [["Africa/Lagos", "Asia/Tokyo"]]
                #expect(parcels.map(\.names) == (sendsPassed ? late : []) + [["UTC"]])
                #expect(try await world.account().count(.suppressed) == (sendsPassed ? 0 : 2))
            }
        }
    }

    @Test("knows its first device, slice by slice, unless time is over or nobody is left")
    func firstDevice() async throws {
        try await withStores { world in
            try await register(
                world, ["America/New_York", nil, "Europe/Paris", "Asia/Tokyo", "UTC", "America/Chicago"])
            let noon = try time("2026-12-01T12:00:00")
            func first(
                _ audience: Audience = .all, at now: WallInstant, sendsPassed: Bool = false,
                for time: Duration = .seconds(60)
            ) async throws -> WallInstant? {
                let sending = LocalSending(hour: LocalHour(inUTC: noon), sendsPassed: sendsPassed)
                let message = CountedMessage(app: world.app, audience: audience, kind: .alert, localSending: sending)
                return try await world.stores.messages.firstDevice(
                    of: message, soon: now, idsMax: 1, for: time, now: now)
            }
            let (early, late) = (try time("2026-12-01T02:00:00"), try time("2026-12-01T11:30:00"))
            #expect(try await first(at: early) == noon + .seconds(-9 * 3_600))
            #expect(try await first(at: late) == noon)
            #expect(try await first(at: late, sendsPassed: true) == late)
            #expect(try await first(.installations(["America/New_York"]), at: early) == noon + .seconds(5 * 3_600))
            #expect(try await first(.installations(["nobody"]), at: early) == nil)
            #expect(try await first(at: noon + .seconds(7 * 3_600)) == nil)
            #expect(try await first(at: early, for: .zero) == nil)
            let token = InlineTarget(
                provider: .apns, environment: .production, topic: StoreWorld.topic, token: StoreWorld.token(99))
            #expect(try await first(.tokens([token]), at: early) == noon)
        }
    }
}
