import Basis
import Model
import QueueRules

// Messages that leave at an hour of each device's own clock.
extension SimulatedStore {
    /// Who leaves when; whom it comes too late for ends here.
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

    /// When a device's clock shows it; the app's, where it has none that is known.
    package func instant(of hour: LocalHour, for registration: RegistrationID, app: AppID) -> WallInstant {
        let zone = self.registration(registration)?.stored.timeZone
        return hour.inUTC + .seconds(-60 * SimulatedZones.minutesEast(zone, else: limits(of: app).timeZone))
    }
}

/// Zones without daylight saving: what the database makes of that is held against the calendar in StoreTests.
package enum SimulatedZones {
    /// How far its clocks stand ahead of UTC; nil: no such zone is known.
    package static func ahead(of name: String) -> Duration? {
        switch name {
        case "UTC": .zero
        case "Asia/Kathmandu": .seconds(20_700)
        case "Pacific/Kiritimati": .seconds(50_400)
        case "Pacific/Pago_Pago": .seconds(-39_600)
        default: offset(name)
        }
    }

    /// The other zone's where there is none, or nobody knows it.
    package static func minutesEast(_ name: String?, else other: String = TimeZoneName.utc) -> Int64 {
        (name.flatMap(ahead) ?? ahead(of: other) ?? .zero).components.seconds / 60
    }

    /// Of `GMT+00:05`, as a phone has it whose clock was set by hand.
    private static func offset(_ name: String) -> Duration? {
        let bytes = Array(name.utf8)
        guard bytes.count == 9, name.hasPrefix("GMT"), bytes[6] == UInt8(ascii: ":") else { return nil }
        let digits = [4, 5, 7, 8].map { Int64(bytes[$0]) - 48 }
        let minutes = digits[0] * 600 + digits[1] * 60 + digits[2] * 10 + digits[3]
        return .seconds(bytes[3] == UInt8(ascii: "-") ? -60 * minutes : 60 * minutes)
    }
}

extension MessageRow {
    /// When a push is worth nothing any more that is sent at `instant`; nil: when the message isn't.
    package func expires(sentAt instant: WallInstant) -> WallInstant? {
        localSending.map { instant + (expiresAt - $0.hour.last) }
    }
}
