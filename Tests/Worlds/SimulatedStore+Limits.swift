import Basis
import Model
import QueueRules

/// The limits of an app: its quiet hours and its daily cap.
package struct LimitRow: Equatable, Sendable {
    package let app: AppID
    package var timeZone = TimeZoneName.utc
    package var quietHours: QuietHours?
    package var dailyCap: Int32?

    package init(app: AppID) { self.app = app }
}

/// The messages that a user got on a day of the app's clock.
package struct UserDayRow: Equatable, Sendable {
    /// Days since 1970.
    package let day: Int64
    package let app: AppID
    package let who: String
    package var messages: [MessageID]
}

extension QuietHours {
    private static let minute: Int64 = 60_000_000
    private static let day = 1_440 * minute

    /// The end of the quiet hours; nil where they have not begun on a clock so many minutes east of UTC.
    package func until(_ now: WallInstant, minutesEast: Int64) -> WallInstant? {
        let (begin, end) = (Int64(from) * Self.minute, Int64(to) * Self.minute)
        let local = now.microseconds + minutesEast * Self.minute
        let clock = local - local.daysDown * Self.day
        let isInside = begin < end ? clock >= begin && clock < end : clock >= begin || clock < end
        guard isInside else { return nil }
        return now + .microseconds((end > clock ? end : end + Self.day) - clock)
    }
}

extension Int64 {
    /// The day since 1970 of an instant in microseconds, rounded down.
    fileprivate var daysDown: Int64 {
        let day: Int64 = 86_400_000_000
        return self >= 0 ? self / day : (self - day + 1) / day
    }
}

extension SimulatedStore {
    package func limits(of app: AppID) -> LimitRow { limits.first { $0.app == app } ?? LimitRow(app: app) }

    /// Replaces an app's limits. Parcels that wait for the end of quiet hours become due, to be judged again. So do all
    /// held pushes.
    package mutating func setLimits(_ row: LimitRow, now: WallInstant) {
        limits.removeAll { $0.app == row.app }
        limits.append(row)
        for place in parcels.indices where parcels[place].app == row.app && parcels[place].lease == nil {
            guard parcels[place].waitsFor == .quietHours, parcels[place].dueAt > now else { continue }
            parcels[place].dueAt = now
        }
        for place in heldPushes.indices where heldPushes[place].app == row.app {
            heldPushes[place].dueAt = min(heldPushes[place].dueAt, now)
        }
    }

    /// The app's day at this instant, since 1970.
    package func day(of app: AppID, _ now: WallInstant) -> Int64 {
        let east = SimulatedZones.minutesEast(limits(of: app).timeZone)
        return (now.microseconds + east * 60_000_000).daysDown
    }

    /// Applies the app's limits to each open member of a parcel that is being leased, before its badge mark is set. It
    /// counts the members that are free to be sent, and raises their badges. nil: nothing applies.
    mutating func judge(_ place: Int, _ now: WallInstant) -> [MemberDeferral]? {
        let parcel = parcels[place]
        guard let message = message(parcel.message), now < parcel.expiresAt else { return nil }
        let limits = limits(of: parcel.app)
        let quiet = message.ignored.contains(.quietHours) ? nil : limits.quietHours
        let cap = message.ignored.contains(.dailyCap) ? nil : limits.dailyCap
        let open = parcel.members.indices.filter { !parcel.settled[$0] }
        let excluded = open.filter { isExcluded(parcel.members[$0], from: parcel) }
        guard quiet != nil || cap != nil || parcel.uncounted != nil || !excluded.isEmpty else { return nil }
        let fresh = open.filter { !parcel.isBadgeMarked || parcel.uncounted?[$0] ?? false }
        var holds = [MemberDeferral](repeating: .none, count: parcel.members.count)
        for index in open {
            guard let until = quiet?.until(now, minutesEast: minutesEast(parcel.members[index], limits)) else {
                continue
            }
            holds[index] = .quietHours(until: until, isCounted: !fresh.contains(index))
        }
        if let cap {
            let day = day(of: parcel.app, now)
            for index in fresh where holds[index] == .none && !excluded.contains(index) {
                guard let who = who(parcel.members[index]) else { continue }
                if !count(message.id, who, day, parcel.app, cap) { holds[index] = .dailyCap }
            }
        }
        parcels[place].isBadgeMarked = true
        // A retired member is sent nothing now, but may be live again at the next lease.
        let isAsked = quiet != nil || cap != nil
        let left = fresh.filter {
            holds[$0] != .none || excluded.contains($0) || isAsked && isRetired(parcel.members[$0])
        }
        parcels[place].uncounted = left.isEmpty ? nil : parcel.members.indices.map(left.contains)
        for index in fresh where !left.contains(index) { raiseBadge(parcel.members[index], message.badge) }
        return open.map { holds[$0] }
    }

    func minutesEast(_ member: RegistrationID, _ limits: LimitRow) -> Int64 {
        SimulatedZones.minutesEast(registration(member)?.stored.profile[.timeZone], else: limits.timeZone)
    }

    private func isExcluded(_ member: RegistrationID, from parcel: ParcelRow) -> Bool {
        if case .subscribers(let watch) = message(parcel.message)?.audienceWanted.selection {
            // Deleted and retired members, too.
            return !subscribes(member, to: watch, message: parcel.message)
        }
        return registration(member).map { $0.isLive && excluded($0, from: parcel) != nil } ?? false
    }

    private func isRetired(_ member: RegistrationID) -> Bool { registration(member).map { !$0.isLive } ?? false }

    /// The user or device whose daily cap counts; nil where no live registration has this id.
    package func who(_ member: RegistrationID) -> String? {
        guard let row = registration(member), row.isLive else { return nil }
        return row.stored.profile[.user].map { "user:" + $0 } ?? "device:\(member.value)"
    }

    /// Counts the message for the user's day. False: the cap is reached without it.
    private mutating func count(
        _ message: MessageID, _ who: String, _ day: Int64, _ app: AppID, _ cap: Int32
    ) -> Bool {
        let known = userDays.firstIndex { $0.day == day && $0.app == app && $0.who == who }
        guard let known else {
            userDays.append(UserDayRow(day: day, app: app, who: who, messages: [message]))
            return true
        }
        if userDays[known].messages.contains(message) { return true }
        guard userDays[known].messages.count < cap else { return false }
        userDays[known].messages.append(message)
        return true
    }
}
