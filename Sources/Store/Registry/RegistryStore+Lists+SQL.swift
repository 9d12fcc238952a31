import Model
import Postgres

/// Lists of devices by their properties, one bounded scan at a time.
///
/// Each scan goes along an index from a position on and says of each row whether it is asked for. A page never costs
/// more than its scan, however few of the rows match. All run under `PlannerSQL.throughKeys`, and in the order of their
/// index, as `AudienceSQL` does.
enum DeviceListSQL {
    // Whether the row is asked for. Each value may be null: any. What only subscriptions made is no device of the app's.
    private static let isAskedFor = """
        (:user IS NULL OR r.user_id = :user) AND (:tag IS NULL OR :tag = ANY (r.tags))
            AND (:provider IS NULL OR r.provider = :provider) AND (:state IS NULL OR r.state = :state)
            AND (:kind IS NULL OR r.kind = :kind) AND r.kind <> \(TokenKind.wakeUp.sql)
            AND (NOT :is_stale OR r.state < \(RegistrationState.retired.sql) AND EXISTS (
                SELECT FROM registration_pulse p, unnest(:stale_providers, :stale_since) AS silent (provider, since)
                WHERE p.registration_id = r.id AND silent.provider = r.provider AND p.registered_at < silent.since))
        """
    private static let position = "r.id, r.kind, r.installation"

    static func statement(_ scan: DeviceScan) -> Statement {
        Statement("devices_\(scan.name)", "SELECT \(isAskedFor), \(position) FROM \(rows(along: scan))")
    }

    /// The same with a filter. The statement is not prepared: there are as many as filters.
    static func statement(_ scan: DeviceScan, filteredBy filter: FilterSQL) -> Statement {
        Statement(
            unprepared: """
                SELECT \(isAskedFor) AND \(filter.condition), \(position) FROM \(rows(along: scan)) \(filter.joins)
                """)
    }

    private static func rows(along scan: DeviceScan) -> String {
        switch scan {
        // Every registration, by name.
        case .named:
            """
            (SELECT * FROM registrations
                WHERE app_id = :app AND (installation, kind) > (:after_installation, :after_kind)
                ORDER BY installation, kind LIMIT :limit) AS r
            """
        // Live registrations, by kind and id.
        case .live:
            """
            (SELECT * FROM registrations
                WHERE app_id = :app AND (kind, id) > (:after_kind, :after_id) AND kind <= coalesce(:kind, 32767::int2)
                    AND state < \(RegistrationState.retired.sql)
                ORDER BY kind, id LIMIT :limit) AS r
            """
        // Suspected or retired registrations.
        case .notActive:
            """
            (SELECT * FROM registrations
                WHERE app_id = :app AND (state, id) > (:state, :after_id) AND state <= :state
                    AND state > \(RegistrationState.active.sql)
                ORDER BY state, id LIMIT :limit) AS r
            """
        case .ofUser:
            """
            (SELECT * FROM registrations
                WHERE app_id = :app AND (user_id, id) > (:user, :after_id) AND user_id <= :user
                ORDER BY user_id, id LIMIT :limit) AS r
            """
        case .tagged:
            """
            (SELECT registration_id FROM registration_tags
                WHERE app_id = :app AND (tag, registration_id) > (:tag, :after_id) AND tag <= :tag
                ORDER BY tag, registration_id LIMIT :limit) AS t
            CROSS JOIN LATERAL (SELECT * FROM registrations WHERE id = t.registration_id LIMIT 1) AS r
            """
        }
    }

    /// Returns a row for each registration that is still there, in this order.
    static let records = Statement(
        "devices_records",
        """
        SELECT \(RegistrationSQL.recordColumns)
        FROM unnest(:registrations) WITH ORDINALITY AS input (id, place)
        CROSS JOIN LATERAL (SELECT * FROM registrations WHERE id = input.id AND app_id = :app LIMIT 1) AS r
        \(RegistrationSQL.activity)
        CROSS JOIN LATERAL (SELECT * FROM routes WHERE id = r.route_id LIMIT 1) AS routes
        ORDER BY input.place
        """)

    /// Returns the holders of tokens, with the token's place behind the record's columns.
    static let holders = Statement(
        "devices_holders",
        """
        SELECT \(RegistrationSQL.recordColumns), input.place
        FROM unnest(:places, :providers, :tokens) AS input (place, provider, token)
        \(RegistrationSQL.holding)
        \(RegistrationSQL.activity)
        CROSS JOIN LATERAL (SELECT * FROM routes WHERE id = r.route_id LIMIT 1) AS routes
        ORDER BY input.place
        """)
}
