import Basis
import Model
import QueueRules

// Limits of apps (quiet hours, daily caps), and whether pushes keep them.
extension SimulatedWorld {
    /// The world begins at eight in Greenwich, in minutes.
    private static let beginning = 480

    mutating func limit(_ app: AppID) {
        var row = LimitRow(app: app)
        // Its clock shows three minutes before midnight.
        if app.value == 2 { row.timeZone = "GMT-08:03" }
        row.dailyCap = plan.dailyCap
        if let from = plan.quietFrom {
            // Hours on the app's clock, which most phones share.
            let east = Int(SimulatedZones.minutesEast(row.timeZone))
            let begin = Self.beginning + from + east + 1_440
            row.quietHours = QuietHours(from: begin % 1_440, to: (begin + plan.quietMinutes) % 1_440)
        }
        guard row != LimitRow(app: app) else { return }
        store.setLimits(row, now: wall)
    }

    /// The zone that a phone reports: for some a few minutes off the app's, for some none, for some an unknown one.
    func timeZone(of phone: SimulatedDevice) -> DeviceRegistration.Change<String> {
        let isLate = phone.app.value == 2
        switch phone.number % 5 {
        case 0: return .set(isLate ? "GMT-08:01" : "GMT+00:02")
        case 1: return .set(isLate ? "GMT-08:06" : "GMT-00:03")
        case 2: return .set("Mars/Olympus_Mons")
        default: return .keep
        }
    }

    /// Limits apply only to what a user sees.
    mutating func drawIgnored(_ content: SimulatedContent) -> AppLimits {
        guard content == .alert else { return [.quietHours, .dailyCap] }
        guard plan.unsparing > 0, random.happens(perMille: plan.unsparing) else { return [] }
        return random.pick([[.quietHours], [.dailyCap], [.quietHours, .dailyCap]])
    }

    /// Whether limits of its app apply to the message.
    func hasLimits(_ message: MessageRow) -> Bool {
        let limits = store.limits(of: message.app)
        return limits.quietHours != nil && !message.ignored.contains(.quietHours)
            || limits.dailyCap != nil && !message.ignored.contains(.dailyCap)
    }

    /// Checks that a member free to be sent is outside quiet hours and below the cap, and that a deferred one has a
    /// reason.
    mutating func checkSpared(_ parcel: LeasedParcel, _ message: MessageRow) {
        let limits = store.limits(of: parcel.app)
        guard parcel.leasedAt < parcel.expiresAt else { return }
        for (place, member) in parcel.members.enumerated()
        where member.status != .deleted && member.status != .retired && !member.status.isExcluded {
            let deferral = parcel.deferrals.isEmpty ? .none : parcel.deferrals[place]
            checkHours(member, deferral, message, limits, parcel.leasedAt)
            checkCap(member, deferral, message, limits)
        }
    }

    private mutating func checkHours(
        _ member: LeasedMember, _ deferral: MemberDeferral, _ message: MessageRow, _ limits: LimitRow,
        _ now: WallInstant
    ) {
        let hours = message.ignored.contains(.quietHours) ? nil : limits.quietHours
        let zone = store.registration(member.registration)?.stored.profile[.timeZone]
        let east = SimulatedZones.minutesEast(zone, else: limits.timeZone)
        let quiet = hours.map { $0.isQuiet(now, east) } ?? false
        if hours != nil { judge(.quietHours) }
        guard case .quietHours(let until, _) = deferral else {
            if quiet, deferral == .none { fail("P2", "a push may leave in its device's quiet hours") }
            return
        }
        incidents.note(.quiet)
        let isOver = hours.map { !$0.isQuiet(until, east) && $0.isQuiet(until + .microseconds(-1), east) } ?? false
        if !quiet || !isOver { fail("P2", "a push is deferred outside of quiet hours, or not until their end") }
    }

    private mutating func checkCap(
        _ member: LeasedMember, _ deferral: MemberDeferral, _ message: MessageRow, _ limits: LimitRow
    ) {
        guard !message.ignored.contains(.dailyCap), let cap = limits.dailyCap, let who = store.who(member.registration)
        else { return }
        judge(.dailyCap)
        let day = UserDay(app: message.app, who: who, day: store.day(of: message.app, wall))
        switch deferral {
        case .quietHours: break
        case .none:
            let had = ledger.spend(PushPair(message: message.id, registration: member.registration), day)
            if had > cap { fail("P2", "\(who) gets \(had) messages on a day; the cap is \(cap)") }
        case .dailyCap:
            incidents.note(.capped)
            let had = ledger.messages(day)
            if had.count < cap || had.contains(message.id) {
                fail("P2", "\(who) is capped after \(had.count) messages")
            }
        }
    }
}

extension QuietHours {
    /// Whether the clock's minute lies in the quiet hours.
    fileprivate func isQuiet(_ now: WallInstant, _ minutesEast: Int64) -> Bool {
        let minutes = now.microseconds / 60_000_000 + minutesEast
        let shown = Int(minutes % 1_440)
        return from < to ? (from..<to).contains(shown) : !(to..<from).contains(shown)
    }
}
