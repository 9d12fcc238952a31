import Postgres

/// Lists of devices by their properties, one bounded scan at a time.
///
/// Each scan goes along an index from a position on and says of each row whether it is asked for. A page never costs
/// more than its scan, however few of the rows match. All run under `PlannerSQL.throughKeys`, and in the order of their
/// index, as `AudienceSQL` does.
enum DeviceListSQL {
    // - $1 app, $2 user, $3 tag, $4 provider, $5 state, $6 kind (each null: any).
    // - $7 providers, and $8 times before which their live registrations are stale.
    // - $9 rows at most; $10 id, $11 kind and $12 installation to go on behind; $13 whether stale ones are asked for.
    private static let columns = """
        r.id, r.kind, r.installation, ($2 IS NULL OR r.user_id = $2) AND ($3 IS NULL OR $3 = ANY (r.tags))
            AND ($4 IS NULL OR r.provider = $4) AND ($5 IS NULL OR r.state = $5) AND ($6 IS NULL OR r.kind = $6)
            AND (NOT $13 OR r.state < 3 AND EXISTS (
                SELECT FROM registration_pulse p, unnest($7, $8) AS silent (provider, since)
                WHERE p.registration_id = r.id AND silent.provider = r.provider AND p.registered_at < silent.since))
        """

    static func statement(_ scan: DeviceScan) -> Statement {
        Statement("devices_\(scan.name)", "SELECT \(columns) FROM \(rows(along: scan))")
    }

    /// The same with a filter, whose parameters come behind. The statement is not prepared: there are as many as
    /// filters.
    static func statement(_ scan: DeviceScan, filteredBy filter: FilterSQL) -> Statement {
        Statement(
            unprepared: """
                SELECT \(columns) AND \(filter.condition) FROM \(rows(along: scan)) \(filter.joins)
                """)
    }

    private static func rows(along scan: DeviceScan) -> String {
        switch scan {
        // Every registration, by name.
        case .named:
            """
            (SELECT * FROM registrations WHERE app_id = $1 AND (installation, kind) > ($12, $11)
                ORDER BY installation, kind LIMIT $9) AS r
            """
        // Live registrations, by kind and id.
        case .live:
            """
            (SELECT * FROM registrations
                WHERE app_id = $1 AND (kind, id) > ($11, $10) AND kind <= coalesce($6, 32767::int2) AND state < 3
                ORDER BY kind, id LIMIT $9) AS r
            """
        // Suspected or retired registrations.
        case .notActive:
            """
            (SELECT * FROM registrations
                WHERE app_id = $1 AND (state, id) > ($5, $10) AND state <= $5 AND state > 1
                ORDER BY state, id LIMIT $9) AS r
            """
        case .ofUser:
            """
            (SELECT * FROM registrations WHERE app_id = $1 AND (user_id, id) > ($2, $10) AND user_id <= $2
                ORDER BY user_id, id LIMIT $9) AS r
            """
        case .tagged:
            """
            (SELECT registration_id FROM registration_tags
                WHERE app_id = $1 AND (tag, registration_id) > ($3, $10) AND tag <= $3
                ORDER BY tag, registration_id LIMIT $9) AS t
            CROSS JOIN LATERAL (SELECT * FROM registrations WHERE id = t.registration_id LIMIT 1) AS r
            """
        }
    }

    /// $1 app, $2 ids. Returns a row for each one that is still there, in this order.
    static let records = Statement(
        "devices_records",
        """
        SELECT \(RegistrationSQL.recordColumns)
        FROM unnest($2) WITH ORDINALITY AS said (id, place)
        CROSS JOIN LATERAL (SELECT * FROM registrations WHERE id = said.id AND app_id = $1 LIMIT 1) AS r
        \(RegistrationSQL.activity)
        CROSS JOIN LATERAL (SELECT * FROM routes WHERE id = r.route_id LIMIT 1) AS routes
        ORDER BY said.place
        """)

    /// $1 app, $2 places, $3 providers, $4 tokens. Returns their holders, with the place behind the record's columns.
    static let holders = Statement(
        "devices_holders",
        """
        SELECT \(RegistrationSQL.recordColumns), said.place
        FROM unnest($2, $3, $4) AS said (place, provider, token)
        \(RegistrationSQL.holding)
        \(RegistrationSQL.activity)
        CROSS JOIN LATERAL (SELECT * FROM routes WHERE id = r.route_id LIMIT 1) AS routes
        ORDER BY said.place
        """)
}
