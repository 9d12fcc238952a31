import Postgres

/// Hours of the clocks on many walls: which zones there are, and when a clock in one of them shows an hour. The server
/// knows the zones and their daylight saving (`instant_of_hour`, migration 0018).
enum LocalHourSQL {
    /// $1 name. Any hour would do.
    static let isZone = Statement(
        "zone_is_known", "SELECT instant_of_hour(timestamp '2000-01-01 12:00', $1) IS NOT NULL")
}
