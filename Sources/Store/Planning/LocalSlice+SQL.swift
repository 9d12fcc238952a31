import Postgres

/// Local hours: which time zones exist, and when a clock in one of them shows an hour. The server knows the zones and
/// their daylight saving (`instant_of_hour`).
enum LocalHourSQL {
    /// Whether a zone is known: any hour would do. Parameters: $1 name.
    static let isZone = Statement(
        "zone_is_known", "SELECT instant_of_hour(timestamp '2000-01-01 12:00', $1) IS NOT NULL")

    /// Stores a message's local hour, in the transaction that writes the message. Few messages have one, so the
    /// statement of the others stays as it is. Parameters: $1 message, $2 its hour in UTC, $3 whether late devices get
    /// it at once, $4 when the last clock shows it, $5 lifetime in microseconds.
    static let write = Statement(
        "message_local_hour",
        """
        UPDATE messages SET local_hour = $2 AT TIME ZONE 'UTC', late_at_once = $3,
            expires_at = $4 + $5 * interval '1 microsecond'
        WHERE id = $1
        """)

    /// More zones than there are in the world: some of them are made up.
    private static let zonesMax = 2_000

    /// The instants at which the members' clocks show the hour; each zone is evaluated once. A member without a zone,
    /// with an unknown one, or without a row goes by the app's. Parameters: $1 app, $2 hour as it is in UTC, $3 members
    /// of a slice.
    ///
    /// Finding that a zone is unknown takes a tenth of a millisecond, and phones may send any name. If a slice has too
    /// many names, they are first compared with the list of all zones, which takes some ten milliseconds to read.
    static let instants = Statement(
        "plan_local_instants",
        """
        WITH hour AS MATERIALIZED (SELECT $2 AT TIME ZONE 'UTC' AS shown),
        own AS MATERIALIZED (
            SELECT coalesce((SELECT instant_of_hour(hour.shown, settings ->> 'time_zone') FROM apps WHERE id = $1), $2)
                AS instant
            FROM hour
        ), zones AS MATERIALIZED (
            SELECT r.time_zone AS name, array_agg(member.id) AS members
            FROM unnest($3) AS member (id) LEFT JOIN registrations r ON r.id = member.id GROUP BY r.time_zone
        )
        SELECT coalesce(CASE WHEN (SELECT count(*) FROM zones) <= \(zonesMax) OR zones.name ~* '^(gmt|utc)[+-]'
                    OR lower(zones.name) IN (SELECT lower(name) FROM pg_timezone_names)
                THEN instant_of_hour(hour.shown, zones.name) END, own.instant), zones.members
        FROM zones CROSS JOIN hour CROSS JOIN own
        """)
}
