import Postgres

/// Local hours: which time zones exist, and when a clock in one of them shows an hour. The server knows the zones and
/// their daylight saving (`instant_of_hour`).
enum LocalHourSQL {
    /// Whether a zone is known: any hour would do.
    static let isZone = Statement(
        "zone_is_known", "SELECT instant_of_hour(timestamp '2000-01-01 12:00', :name) IS NOT NULL")

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

    /// The instants at which the members' clocks show the hour; each zone is evaluated once. A member without a zone,
    /// with an unknown one, or without a row goes by the app's.
    ///
    /// Finding that a zone is unknown takes a tenth of a millisecond, and phones may send any name. If a slice has too
    /// many names, they are first compared with the list of all zones, which takes some ten milliseconds to read.
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
        )
        SELECT coalesce(CASE WHEN (SELECT count(*) FROM zones) <= \(zonesMax) OR zones.name ~* '^(gmt|utc)[+-]'
                    OR lower(zones.name) IN (SELECT lower(name) FROM pg_timezone_names)
                THEN instant_of_hour(hour.shown, zones.name) END, own.instant), zones.members
        FROM zones CROSS JOIN hour CROSS JOIN own
        """)
}
