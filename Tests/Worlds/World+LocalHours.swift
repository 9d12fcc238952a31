import Basis
import Model
import QueueRules

// Messages that leave at an hour of each device's own clock, checked by the devices and not by the store's rows.
extension SimulatedWorld {
    private func ahead(_ device: SimulatedDevice) -> Duration {
        var zone: String?
        if case .set(let name) = timeZone(of: device) { zone = name }
        return .seconds(60 * SimulatedZones.minutesEast(zone, else: store.limits(of: device.app).timeZone))
    }

    private func ahead(_ app: AppID) -> Duration {
        .seconds(60 * SimulatedZones.minutesEast(store.limits(of: app).timeZone))
    }

    /// Draws the hour from a generator of its own, so that other worlds stay the same.
    mutating func drawLocalHour(of number: Int, sentAt: SimulatedTime) {
        var fate = SeededRandom(seed: plan.seed &* 37 &+ UInt64(number))
        guard plan.local > 0, fate.happens(perMille: plan.local) else { return }
        // For some devices the hour has passed.
        let shown = Self.wall(at: sentAt) + ahead(messages[number].app)
        let hour = shown + .seconds(Int64(fate.within(-120...600)))
        messages[number].localSending = LocalSending(
            hour: LocalHour(inUTC: hour), sendsPassed: fate.happens(perMille: 500))
    }

    /// The instant at which a registration's device shows a message's hour; nil: the message has no local hour, or the
    /// device is gone.
    private func instant(_ message: MessageRow, _ registration: RegistrationID) -> WallInstant? {
        guard let sending = message.localSending else { return nil }
        if store.inlineTarget(registration) != nil { return sending.hour.inUTC + (.zero - ahead(message.app)) }
        guard let row = store.registration(registration) else { return nil }
        let device = devices.first { $0.app == row.app && $0.installation == row.stored.installation }
        return device.map { sending.hour.inUTC + (.zero - ahead($0)) }
    }

    /// Checks that all members of a parcel leave at one instant, from which their lifetime counts.
    mutating func checkHour(of parcel: ParcelRow) {
        guard let message = store.message(parcel.message), let sending = message.localSending else { return }
        let lifetime = message.expiresAt - sending.hour.last
        for member in parcel.members {
            guard let shown = instant(message, member) else { continue }
            judge(.localHour)
            let sentAt = max(shown, message.acceptedAt)
            if shown < message.acceptedAt, !sending.sendsPassed {
                fail("rule 9", "a push is planned after its local time")
            }
            if parcel.dueAt != max(sentAt, wall) { fail("rule 9", "a push is not due at its device's local time") }
            if parcel.expiresAt != sentAt + lifetime {
                fail("rule 9", "a push's lifetime does not begin at its local time")
            }
        }
    }

    /// Checks that no push leaves before its hour. A clock that was set back may show a minute twice.
    mutating func checkHour(of push: WirePush) {
        if let hour = hours[push.message], plan.clockStepEvery == nil {
            judge(.sendHour)
            if wall < hour { fail("rule 9", "a push leaves \(hour - wall) before its message is due") }
        }
        guard plan.clockStepEvery == nil, let message = store.message(push.message),
            let shown = instant(message, push.registration), wall < max(shown, message.acceptedAt)
        else { return }
        fail("rule 9", "a push leaves \(shown - wall) before its local time")
    }

    /// Checks that only members whose hour had passed were suppressed for it.
    mutating func checkTooLate(_ message: MessageRow) {
        for row in store.history where row.message == message.id {
            guard row.entry.event == .ended(TerminalStatus(.suppressed, TerminalReason.localTimePassed)) else {
                continue
            }
            for member in row.entry.members {
                guard let shown = instant(message, member) else { continue }
                judge(.tooLate)
                if shown >= message.acceptedAt || message.localSending?.sendsPassed != false {
                    fail("rule 9", "a push is suppressed before its local time")
                }
            }
        }
    }
}
