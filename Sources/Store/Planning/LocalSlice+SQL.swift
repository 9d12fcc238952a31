import Postgres

/// Local hours: which time zones exist, and when a clock in one of them shows an hour. The server knows the zones and
/// their daylight saving (`instant_of_hour`).
enum LocalHourSQL {
    /// Whether a zone is known: any hour would do.
    static let isZone = Statement(
        "zone_is_known", "SELECT instant_of_hour(timestamp '2000-01-01 12:00', :name) IS NOT NULL")

    /// The zones of registrations that are not known, in all apps. It reads all registrations, so only the doctor asks.
    static let unknownZones = Statement(
        "zones_unknown",
        """
        WITH used AS MATERIALIZED (
            SELECT time_zone AS name, count(*) AS registrations FROM registrations
            WHERE time_zone IS NOT NULL GROUP BY time_zone
        )
        SELECT name, registrations FROM used WHERE instant_of_hour(timestamp '2000-01-01 12:00', name) IS NULL
        ORDER BY registrations DESC, name LIMIT \(zonesMax)
        """)

    /// Stores a message's local hour, in the transaction that writes the message. Few messages have one, so the
    /// statement of the others stays as it is. `:last` is when the last clock shows the hour.
    static let write = Statement(
        "message_local_hour",
        """
        UPDATE messages SET local_hour = :hour AT TIME ZONE 'UTC', late_at_once = :late_at_once,
            expires_at = :last + :lifetime_us * interval '1 microsecond'
        WHERE id = :message
        """)

    /// More zones than there are in the world: some of them are made up.
    private static let zonesMax = 2_000

    /// The instants at which the members' clocks show the hour, and whether a zone is unknown. Each zone is evaluated
    /// once. A member without a zone, with an unknown one, or without a row goes by the app's.
    ///
    /// Finding that a zone is unknown takes a tenth of a millisecond, and phones may send many names. If a slice has too
    /// many, they are first compared with the list of all zones, which takes some ten milliseconds to read.
    static let instants = Statement(
        "plan_local_instants",
        """
        WITH hour AS MATERIALIZED (SELECT :hour AT TIME ZONE 'UTC' AS shown),
        own AS MATERIALIZED (
            SELECT coalesce(
                (SELECT instant_of_hour(hour.shown, settings ->> 'time_zone') FROM apps WHERE id = :app), :hour)
                AS instant
            FROM hour
        ), zones AS MATERIALIZED (
            SELECT r.time_zone AS name, array_agg(member.id) AS members
            FROM unnest(:members) AS member (id) LEFT JOIN registrations r ON r.id = member.id GROUP BY r.time_zone
        ), shown AS MATERIALIZED (
            SELECT zones.name, zones.members,
                CASE WHEN (SELECT count(*) FROM zones) <= \(zonesMax) OR zones.name ~* '^(gmt|utc)[+-]'
                    OR zone_links() ? lower(zones.name)
                    OR lower(zones.name) IN (SELECT lower(name) FROM pg_timezone_names)
                THEN instant_of_hour(hour.shown, zones.name) END AS instant
            FROM zones CROSS JOIN hour
        )
        SELECT coalesce(shown.instant, own.instant), shown.members, shown.name IS NOT NULL AND shown.instant IS NULL
        FROM shown CROSS JOIN own
        """)
}
