import Model
import QueueRules

// Devices change hands while messages wait, and a push must not reach the next owner.
extension SimulatedWorld {
    mutating func scheduleChangeOfHands() {
        guard let every = plan.handsChangeEvery else { return }
        let next = after(.zero...every + every)
        if next < plan.faultsEnd { queue.put(.changeOfHands, at: next) }
    }

    /// Signs another user in on a device, or nobody; or changes the device's tags.
    mutating func changeHands() {
        scheduleChangeOfHands()
        let device = random.below(devices.count)
        let phone = devices[device]
        if random.happens(perMille: 500) {
            devices[device].tags = ["half", "third"].filter { _ in random.happens(perMille: 500) }
        } else {
            devices[device].user = random.pick([nil, "user-0", "user-1", "user-\(phone.number)"])
        }
        trail.add("\(phone.installation) of app \(phone.app.value), \(phone.kind), has another owner or other tags")
        if let row = row(of: device) {
            ledger.changeHands(row.id, to: .user(devices[device].user, tags: devices[device].tags), at: now)
        }
        register(device)
    }

    /// Checks that a lease excludes the registrations that its message's audience no longer includes, and no others.
    mutating func checkAudience(_ parcel: LeasedParcel, _ message: MessageRow) {
        for member in parcel.members {
            guard let row = store.registration(member.registration), row.isLive,
                let isIncluded = includes(row, message)
            else { continue }
            judge(.audience)
            if case .excluded = member.status {
                if isIncluded { fail("P2", "a lease excludes a registration that its audience includes") }
            } else if !isIncluded {
                fail("P2", "a lease includes a registration that its audience no longer includes")
            }
        }
    }

    /// Checks that no push leaves long after its audience lost its device.
    mutating func checkConditions(of push: WirePush) {
        guard let since = lost(push.registration, from: push.message) else { return }
        judge(.withdrawn)
        // The processes' clocks drift.
        guard now - since > .seconds(10) + .milliseconds(200) else { return }
        fail("P2", "a push leaves \(now - since) after its audience lost its device")
    }

    /// The time since which the device is outside the message's audience; nil: it is in it, or left it in another way.
    /// Ends of subscriptions are not recorded.
    private func lost(_ registration: RegistrationID, from message: MessageID) -> SimulatedTime? {
        let audience = store.message(message)?.audienceWanted
        return ledger.owners.lost(registration) { owner in
            switch owner {
            case .user(let user, let tags): audience?.includes(user: user, tags: tags) ?? true
            case .otherInstallation, .removed: false
            }
        }
    }

    private func includes(_ row: RegistrationRow, _ message: MessageRow) -> Bool? {
        switch message.audienceWanted.selection {
        case .subscribers(let watch): store.subscribes(row.id, to: watch, message: message.id)
        case .revoked(let watch): !store.subscribes(row.id, to: watch)
        case .itemSubscribers(let template): !store.lacksItemSubscription(row.id, to: message, template)
        default: message.audienceWanted.includes(user: row.stored.profile[.user], tags: row.stored.profile.tags)
        }
    }
}

extension Audience {
    /// nil: it has no conditions on users or tags.
    fileprivate func includes(user: String?, tags: [String]) -> Bool? {
        switch selection {
        case .users(let names): user.map(names.contains) ?? false
        case .tags(let wanted):
            wanted.all.allSatisfy(tags.contains) && !wanted.none.contains(where: tags.contains)
                && (wanted.any.isEmpty || wanted.any.contains(where: tags.contains))
        case .all, .installations, .tokens, .filter, .stale, .subscribers, .revoked, .itemSubscribers: nil
        }
    }
}
