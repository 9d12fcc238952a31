import Postgres

/// A leased parcel's members, under `PlannerSQL.inKeyOrder`: their badges, and behind them their rows.
///
/// Two statements of one transaction, whose answers are put together by id; joined in one they took the server nearly
/// twice as long. Whose row is found by the second had a badge at the first: ids are not given twice.
enum MemberSQL {
    /// $1 badge change, $2 badge value.
    ///
    /// For every row that is there, whatever its state and route: the mark speaks for the whole parcel, and a member
    /// that was retired or lives on another route at the first lease may be sent to after all (it registers again
    /// before the settle; its remainder goes there).
    static let raiseBadges = MemberStatement("member_badges_raise", key: "registration_id", after: 2) {
        """
        UPDATE registration_pulse
        SET badge = CASE WHEN $1 = 2 THEN $2 ELSE badge + (badge < 2147483647)::integer END
        WHERE \($0) RETURNING registration_id, badge
        """
    }

    /// As they stand.
    static let badges = MemberStatement("member_badges", key: "registration_id", after: 0) {
        "SELECT registration_id, badge FROM registration_pulse WHERE \($0) ORDER BY registration_id"
    }

    /// $1 ids. What is in several parcels of one lease is raised for each of them, and so read before: `writeBadges`
    /// follows.
    static let lockBadges = Statement(
        "member_badges_lock",
        """
        SELECT registration_id, badge FROM registration_pulse WHERE registration_id = ANY ($1)
        ORDER BY registration_id FOR UPDATE
        """)

    /// $1 ids, $2 badges. Of rows that are locked.
    static let writeBadges = Statement(
        "member_badges_write",
        """
        UPDATE registration_pulse AS own SET badge = new.badge FROM unnest($1, $2) AS new (id, badge)
        WHERE own.registration_id = new.id
        """)

    /// $1 the route where they are thought to live.
    ///
    /// Null is what most members have: the route of $1, the state `active`. A null costs neither side anything. What comes
    /// behind the token in a row is not looked at: the way there leads through all that a device says of itself.
    static let rows = MemberStatement("member_rows", key: "id", after: 1) { rows(with: "", of: $0) }

    /// The same, and their locales.
    static let rowsWithLocales = MemberStatement("member_rows_locales", key: "id", after: 1) {
        rows(with: ", locale", of: $0)
    }

    private static func rows(with more: String, of isMember: String) -> String {
        """
        SELECT id, nullif(route_id, $1), nullif(state, 1::smallint), generation, token\(more)
        FROM registrations WHERE \(isMember) ORDER BY id
        """
    }

    /// Those of them that were looked for in both environments as they are registered now. Few, in an index of their own.
    static let compared = MemberStatement("member_compared", key: "id", after: 0) {
        "SELECT id, generation FROM registrations WHERE environments_compared = generation AND \($0) ORDER BY id"
    }

    /// The members that are no registrations, for a message that has such: $1 ids.
    static let inline = Statement(
        "parcel_read_inline", "SELECT id, token FROM inline_targets WHERE id = ANY ($1) ORDER BY id")
}
