import Basis
import Model
import QueueRules

// Messages that leave at an hour of each device's own clock.
extension SimulatedStore {
    /// Gives each member the instant at which it is sent. Members whose hour has passed end here.
    func sort(
        _ query: inout SimulatedAudienceQuery, by sending: LocalSending, of message: MessageRow,
        groupsOf membersMax: Int
    ) {
        var left: [SimulatedMember] = []
        var gone: [SimulatedMember] = []
        for var member in query.members {
            let instant = instant(of: sending.hour, for: member.id, app: message.app)
            if let sentAt = sending.sends(at: instant, acceptedAt: message.acceptedAt) {
                member.sentAt = sentAt
                left.append(member)
            } else {
                gone.append(member)
            }
        }
        query.members = left
        let terminalStatus = TerminalStatus(.suppressed, TerminalReason.localTimePassed)
        for route in routes.map(\.id) {
            let ids = gone.filter { $0.route == route }.map(\.id.value)
            for start in stride(from: 0, to: ids.count, by: membersMax) {
                let group = Array(ids[start..<min(start + membersMax, ids.count)])
                query.early.append(
                    SimulatedAudienceQuery.EarlyGroup(terminalStatus: terminalStatus, route: route, members: group))
            }
        }
    }

    /// The instant at which a device's clock shows the hour, or the app's clock where the device has no known zone.
    package func instant(of hour: LocalHour, for registration: RegistrationID, app: AppID) -> WallInstant {
        let zone = self.registration(registration)?.stored.profile[.timeZone]
        return hour.inUTC + .seconds(-60 * SimulatedZones.minutesEast(zone, else: limits(of: app).timeZone))
    }
}

/// Time zones without daylight saving. StoreTests compare the database's daylight saving with the calendar.
package enum SimulatedZones {
    /// The time by which its clocks are ahead of UTC; nil: the zone is unknown.
    package static func ahead(of name: String) -> Duration? {
        switch name {
        case "UTC": .zero
        case "Asia/Kathmandu": .seconds(20_700)
        case "Pacific/Kiritimati": .seconds(50_400)
        case "Pacific/Pago_Pago": .seconds(-39_600)
        default: offset(name)
        }
    }

    /// Minutes east of UTC in the named zone, or in the other zone where the name is nil or unknown.
    package static func minutesEast(_ name: String?, else other: String = TimeZoneName.utc) -> Int64 {
        (name.flatMap(ahead) ?? ahead(of: other) ?? .zero).components.seconds / 60
    }

    /// The offset of a zone like `GMT+00:05`, which a phone reports whose clock was set by hand.
    private static func offset(_ name: String) -> Duration? {
        let bytes = Array(name.utf8)
        guard bytes.count == 9, name.hasPrefix("GMT"), bytes[6] == UInt8(ascii: ":") else { return nil }
        let digits = [4, 5, 7, 8].map { Int64(bytes[$0]) - 48 }
        let minutes = digits[0] * 600 + digits[1] * 60 + digits[2] * 10 + digits[3]
        return .seconds(bytes[3] == UInt8(ascii: "-") ? -60 * minutes : 60 * minutes)
    }
}

extension MessageRow {
    /// The expiration of a push sent at `instant`; nil: it expires with its message.
    package func expires(sentAt instant: WallInstant) -> WallInstant? {
        localSending.map { instant + (expiresAt - $0.hour.last) }
    }
}
