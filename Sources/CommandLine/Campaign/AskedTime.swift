import Basis
import Calendar
import Foundation

/// The time of `--at`, before it is known whose clock shows it.
package enum AskedTime: Equatable {
    case now
    /// A time with a zone of its own, as RFC 3339 writes it.
    case instant(WallInstant, text: String)
    /// A time on some clock, as if that clock were in UTC.
    case local(WallInstant)

    private static let secondsPerDay: Int64 = 86_400

    /// Reads "9:00", "tomorrow 9:00", "2026-11-27T09:00", "2026-11-27T09:00:00Z" or "now".
    ///
    /// - Parameter zone: decides which day it is now.
    package init(_ given: String, now: WallInstant, zone: TimeZone) throws(CommandFault) {
        if given.lowercased() == "now" {
            self = .now
        } else if let instant = RFC3339.parse(given) {
            self = .instant(instant, text: given)
        } else if let local = Self.dateAndTime(given) {
            self = .local(local)
        } else if let local = Self.timeOfDay(given.lowercased(), now, zone) {
            self = .local(local)
        } else {
            throw CommandFault(
                .usage,
                "--at \(given) is not a time. Use 9:00, \"tomorrow 9:00\", 2026-11-27T09:00 or 2026-11-27T09:00:00+01:00"
            )
        }
    }

    private static func dateAndTime(_ given: String) -> WallInstant? {
        let text = given.replacing(" ", with: "T", maxReplacements: 1)
        return RFC3339.parseLocal(text) ?? RFC3339.parseLocal(text + ":00")
    }

    private static func timeOfDay(_ given: String, _ now: WallInstant, _ zone: TimeZone) -> WallInstant? {
        let words = given.split(separator: " ")
        guard let time = words.last?.wholeMatch(of: #/([0-9]{1,2}):([0-9]{2})/#), let hour = Int64(time.1),
            let minute = Int64(time.2), hour < 24, minute < 60
        else { return nil }
        let today = ClockText.day(of: ClockText.local(now, in: zone))
        func local(_ day: Int64) -> WallInstant {
            WallInstant(secondsSince1970: day * secondsPerDay + hour * 3_600 + minute * 60)
        }
        switch words.dropLast() {
        case []: return ClockText.instant(ofLocal: local(today), in: zone) > now ? local(today) : local(today + 1)
        case ["tomorrow"]: return local(today + 1)
        default: return nil
        }
    }

    /// The message's `send_at`; nil: at once.
    ///
    /// - Parameter zone: the zone of the person who sends. It decides unless each device's own clock does.
    package func sendAt(isDeviceLocal: Bool, zone: TimeZone) -> String? {
        switch self {
        case .now: nil
        case .instant(_, let text): text
        case .local(let local):
            isDeviceLocal ? RFC3339.formatLocal(local) : RFC3339.format(ClockText.instant(ofLocal: local, in: zone))
        }
    }
}
