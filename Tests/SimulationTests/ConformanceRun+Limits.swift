import Model
import Store
import Worlds

// Changes of an app's limits (quiet hours, daily cap, time zone) while messages are under way.
extension ConformanceRun {
    mutating func changeLimits() async throws -> String? { try await changeLimits(of: random.pick(apps)) }

    mutating func changeLimits(of app: AppID) async throws -> String? {
        var row = simulated.limits(of: app)
        if random.happens(perMille: 300) { row.timeZone = random.pick(["UTC", "GMT+11:55", "GMT-00:04"]) }
        if random.happens(perMille: 700) {
            // Quiet hours that begin within three minutes of now on the app's clock, past midnight where they reach it.
            let east = Int(SimulatedZones.minutesEast(row.timeZone))
            let minute = Int(now.microseconds / 60_000_000 % 1_440)
            let from = (minute + east + random.within(-3...3) + 1_440) % 1_440
            row.quietHours =
                random.happens(perMille: 250)
                ? nil : QuietHours(from: from, to: (from + random.within(1...8)) % 1_440)
        }
        if random.happens(perMille: 700) { row.dailyCap = random.pick([nil, 1, 1, 2]) }
        pushHistory.append("limits of app \(app.value): \(row)")
        simulated.setLimits(row, now: now)
        var change = AppChange()
        change.timeZone = row.timeZone
        change.limits.quietHours = row.quietHours.map { .set($0) } ?? .clear
        change.limits.dailyCap = row.dailyCap.map { .set($0) } ?? .clear
        let settings = try await stores.registry.changeApp(app, change, now: now)?.settings
        return differ("quiet hours", settings?.quietHours, row.quietHours)
            ?? differ("daily cap", settings?.dailyCap, row.dailyCap)
            ?? differ("time zone", settings?.timeZone, row.timeZone)
    }
}
