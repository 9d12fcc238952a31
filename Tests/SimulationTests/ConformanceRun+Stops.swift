import Basis
import Model
import Store
import Worlds

// Pauses, cancellations and rates.
extension ConformanceRun {
    static let rates: [Int32] = [1, 3, 10, 25, 1_000]

    mutating func control() async throws -> String? {
        guard !messages.isEmpty else { return nil }
        // Mostly picks a message that has ready parcels to stop.
        let waiting = simulated.parcels.filter(\.isReady)
        let id = waiting.isEmpty || random.happens(perMille: 300) ? random.pick(messages) : random.pick(waiting).message
        let control = random.pick([
            ControlRequest.pause, .pause, .resume, .resume, .cancel, .rate(random.pick(Self.rates)),
            .rate(random.pick(Self.rates)), .rate(nil),
        ])
        pushHistory.append("\(control) \(id.text)")
        let app = simulated.message(id)?.app ?? apps[0]
        let real = try await stores.messages.control(control, app: app, id: id, now: now)
        let difference = differ("wish", real, simulated.control(control, id, now: now))
        if let difference { return difference }
        let stopped = try await stores.messages.stopped(among: messages)
        let rated = try await stores.messages.rates(among: messages)
        let unlike =
            differ("stopped", stopped, simulated.stopped(among: messages))
            ?? differ("rated", rated, simulated.rates(among: messages))
        // A stopped message's parcels are still in state ready until `carryOut`. No lease may take them.
        return unlike == nil && random.happens(perMille: 500) ? try await lease() : unlike
    }

    /// Postpones the next quantum, as if the clock had been set back since, or a lease had not waited.
    mutating func postpone(_ id: MessageID) async throws {
        guard let place = simulated.rates.firstIndex(where: { $0.message == id }) else { return }
        let pause: Duration = .seconds(random.pick([1, 59, 60, 3_600]))
        pushHistory.append("the next share of \(id.text) is \(pause) later")
        simulated.rates[place].nextAt = simulated.rates[place].nextAt + pause
        try await pool.script(
            """
            UPDATE message_rates SET next_at = next_at + interval '\(pause.components.seconds) s'
            WHERE message_id = '\(id.value.text)'
            """)
    }

    mutating func fallDue() async throws -> String? {
        pushHistory.append("fall due at \(now.microseconds)")
        let real = try await stores.messages.fallDue(now: now)
        return differ("fall due", real, simulated.maintain(.fallDue, under: Self.rule, now: now))
    }

    mutating func carryOut() async throws -> String? {
        // The production limits, or limits so small that most controls take several transactions.
        let limits = random.pick([
            UpkeepLimits(), UpkeepLimits(movedMax: 1, endedMax: 1), UpkeepLimits(movedMax: 2, endedMax: 3),
        ])
        pushHistory.append("carry out what was said, \(limits.movedMax) at a time, at \(now.microseconds)")
        let stops = StopStore(
            pool: pool, notifier: stores.notifier, movedMax: Int64(limits.movedMax), endedMax: Int64(limits.endedMax))
        let real = try await stops.carryOut(now: now)
        return differ("carry out", real, simulated.maintain(.stops, limits, under: Self.rule, now: now))
    }
}
