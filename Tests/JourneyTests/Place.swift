import Basis
import Foundation

/// A place whose clocks are never changed: what they show is right in every season.
struct Place: Sendable {
    static let phoenix = Place(zone: "America/Phoenix", aheadOfUTC: -7)
    static let lagos = Place(zone: "Africa/Lagos", aheadOfUTC: 1)
    static let dubai = Place(zone: "Asia/Dubai", aheadOfUTC: 4)
    static let tokyo = Place(zone: "Asia/Tokyo", aheadOfUTC: 9)

    let zone: String
    /// The offset from UTC in hours.
    private let aheadOfUTC: Int

    private init(zone: String, aheadOfUTC: Int) {
        self.zone = zone
        self.aheadOfUTC = aheadOfUTC
    }

    /// The local time as a message names it: `2026-12-01T12:00:00`.
    func shows(_ instant: WallInstant) -> String {
        let utc = Date(timeIntervalSince1970: Double(instant.secondsSince1970 + Int64(aheadOfUTC) * 3_600))
        return String(ISO8601DateFormatter().string(from: utc).dropLast())
    }

    /// The local time as an app names the ends of its quiet hours: `22:00`.
    func minute(at instant: WallInstant) -> String { String(shows(instant).dropFirst(11).prefix(5)) }

    /// A place where a day neither begins nor ends for hours.
    static func farFromMidnight(at instant: WallInstant) -> Place {
        let hour = Int(lagos.minute(at: instant).prefix(2)) ?? 0
        return (3..<20).contains(hour) ? lagos : tokyo
    }
}

extension WallInstant {
    /// The beginning of a minute that is at least this far away.
    func nextMinute(notWithin lead: Duration) -> WallInstant {
        let minutes = (self + lead).secondsSince1970 / 60 + 1
        return WallInstant(secondsSince1970: minutes * 60)
    }
}
