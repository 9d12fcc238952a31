import Basis
import Calendar
import Foundation

/// Times on the clock of the person who reads them.
package enum ClockText {
    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let secondsPerDay: Int64 = 86_400

    /// "Fri 2026-11-27 09:00 (Europe/Paris)".
    package static func text(_ instant: WallInstant, in zone: TimeZone) -> String {
        "\(text(local: local(instant, in: zone))) (\(zone.identifier))"
    }

    /// "Fri 2026-11-27 09:00", without seconds if they are 0.
    ///
    /// - Parameter local: the time on some clock, as if that clock were in UTC.
    package static func text(local: WallInstant) -> String {
        "\(weekdays[CivilDate(daysSince1970: Int(day(of: local))).weekday]) \(cell(local: local))"
    }

    /// "2026-11-27 09:00", for a table.
    package static func cell(_ instant: WallInstant, in zone: TimeZone) -> String {
        cell(local: local(instant, in: zone))
    }

    package static func cell(local: WallInstant) -> String {
        let parts = RFC3339.formatLocal(local).prefix("2026-11-27T09:00:00".count).split(separator: "T")
        let time = parts.last ?? ""
        return "\(parts.first ?? "") \(time.hasSuffix(":00") ? time.dropLast(":00".count) : time)"
    }

    /// The API's text of an instant as a person reads it; an unknown form stays as it is.
    static func text(_ value: String, in zone: TimeZone) -> String {
        RFC3339.parse(value).map { text($0, in: zone) } ?? TerminalText.clean(value)
    }

    /// The API's text of an instant or of a local time, for a table.
    static func cell(_ value: String, in zone: TimeZone) -> String {
        if let instant = RFC3339.parse(value) { return cell(instant, in: zone) }
        return RFC3339.parseLocal(value).map { cell(local: $0) } ?? TerminalText.clean(value)
    }

    /// The days since 1970.
    static func day(of local: WallInstant) -> Int64 {
        let seconds = local.secondsSince1970
        return seconds / secondsPerDay - (seconds % secondsPerDay < 0 ? 1 : 0)
    }

    /// A zone's time at an instant, as if its clock were in UTC.
    static func local(_ instant: WallInstant, in zone: TimeZone) -> WallInstant {
        instant + .seconds(offset(of: zone, at: instant))
    }

    /// The instant at which a zone's clock shows a time. A time that a clock skips is taken as its later neighbour.
    static func instant(ofLocal local: WallInstant, in zone: TimeZone) -> WallInstant {
        let instants = [-secondsPerDay, secondsPerDay].map { day in
            local + .seconds(-offset(of: zone, at: local + .seconds(day)))
        }
        // A skipped time is shown by neither: the offset before the change makes the later one.
        return instants.first { Self.local($0, in: zone) == local } ?? instants[0]
    }

    private static func offset(of zone: TimeZone, at instant: WallInstant) -> Int {
        zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(instant.secondsSince1970)))
    }
}
