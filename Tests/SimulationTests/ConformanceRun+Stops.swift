import PushModel
import Store

// Pauses and cancels.
extension ConformanceRun {
    mutating func wish() async throws -> String? {
        guard !messages.isEmpty else { return nil }
        let id = random.pick(messages)
        let wish = random.pick([LifeWish.pause, .pause, .resume, .resume, .cancel])
        story.append("\(wish) \(id.text)")
        let app = simulated.message(id)?.app ?? apps[0]
        let real = try await stores.messages.wish(wish, app: app, id: id, now: now)
        let difference = differ("wish", real, simulated.wish(wish, id, now: now))
        if let difference { return difference }
        let stopped = try await stores.messages.stopped(among: messages)
        return differ("stopped", stopped, simulated.stopped(among: messages))
    }

    mutating func fallDue() async throws -> String? {
        story.append("fall due at \(now.microseconds)")
        let real = try await stores.messages.fallDue(now: now)
        return differ("fall due", real, simulated.fallDue(now: now))
    }

    mutating func carryOut() async throws -> String? {
        story.append("carry out what was said, at \(now.microseconds)")
        let real = try await stores.stops.carryOut(now: now)
        return differ("carry out", real, simulated.carryOut(now: now).parcels)
    }
}
