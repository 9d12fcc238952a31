import Model
import Postgres

/// The members of a leased parcel, read under `PlannerSQL.inKeyOrder`: first their badges, then their rows.
///
/// These are two statements of one transaction, whose answers are combined by id. Joined in one statement they took the
/// server nearly twice as long. A row that the second one finds had a badge at the first: ids are never used twice.
enum MemberSQL {
    private static let isSet = ":badge_change = \(BadgeChange.value(0).column)"

    /// Changes the badge of every row that exists, whatever its state and route. Returns what `badges` returns.
    ///
    /// The badge mark covers the whole parcel. A member that was retired or on another route at the first lease may be
    /// sent to after all: it registers again before the settle, and its remainder goes there.
    private static let raiseBadges = MemberStatement("member_badges_raise", key: "registration_id") {
        """
        UPDATE registration_pulse SET badge = CASE WHEN \(isSet) THEN :badge_value
            ELSE badge + (badge < 2147483647)::integer END,
            raised = CASE WHEN \(isSet) THEN 0 ELSE raised + (badge < 2147483647)::integer END,
            badge_set = CASE WHEN \(isSet) THEN \(BadgeSQL.newSet) ELSE badge_set END
        WHERE \($0) RETURNING registration_id, badge, badge_set
        """
    }

    /// - Parameter ids: rising.
    static func raiseBadges(of ids: [Int64], _ parcel: ParcelRow) -> Query {
        var parameters = Parameters()
        parameters.int16("badge_change", parcel.badgeChange)
        parameters.int32("badge_value", parcel.badgeValue)
        return raiseBadges.query(MemberKeys(ids), parameters)
    }

    /// Reads the badges without changing them, and the number of the last set of each.
    static let badges = MemberStatement("member_badges", key: "registration_id") {
        "SELECT registration_id, badge, badge_set FROM registration_pulse WHERE \($0) ORDER BY registration_id"
    }

    /// Locks and reads badges before they are changed. A member in several parcels of one lease is incremented for each
    /// of them, and `writeBadges` follows.
    static let lockBadges = MemberStatement("member_badges_lock", key: "registration_id") {
        "SELECT registration_id, badge FROM registration_pulse WHERE \($0) ORDER BY registration_id FOR UPDATE"
    }

    /// Writes badges to rows that are locked already. `:raised` is how much messages added, since the badge was set if
    /// one of them set it. `:set_ordinals` is the place of that message's parcel in the lease, from 1; 0: none set it.
    ///
    /// The sets of one lease share the number that it draws, and their places are added to it. The highest number that
    /// the statement returns is that one. If nothing is set, it is the highest of any set before the lease.
    static let writeBadges = Statement(
        "member_badges_write",
        """
        UPDATE registration_pulse AS own SET badge = new.badge,
            raised = CASE WHEN new.set_ordinal > 0 THEN new.raised ELSE own.raised + new.raised END,
            badge_set = CASE WHEN new.set_ordinal > 0 THEN (SELECT \(BadgeSQL.newSet)) + new.set_ordinal
                ELSE own.badge_set END
        FROM unnest(:members, :badges, :set_ordinals, :raised) AS new (id, badge, set_ordinal, raised)
        WHERE own.registration_id = new.id
        RETURNING own.badge_set - new.set_ordinal
        """)

    /// The members' rows.
    ///
    /// A null stands for what most members have: the expected route, the state `active`, a backend that registered it.
    /// For tokens that only subscriptions named, the last of these columns tells whether they are unproven. A null costs neither side anything. Columns behind the token are not read: the way to them leads through all that
    /// a device registered.
    static func rows(users: Bool, locales: Bool) -> MemberStatement {
        switch (users, locales) {
        case (false, false): plainRows
        case (false, true): rowsWithLocales
        case (true, false): rowsWithUsers
        case (true, true): rowsWithBoth
        }
    }

    private static let plainRows = MemberStatement("member_rows", key: "id") { rows(of: $0) }
    private static let rowsWithLocales = MemberStatement("member_rows_locales", key: "id") {
        rows(locale: "locale", of: $0)
    }
    private static let rowsWithUsers = MemberStatement("member_rows_users", key: "id") { rows(user: "user_id", of: $0) }
    private static let rowsWithBoth = MemberStatement("member_rows_users_locales", key: "id") {
        rows(user: "user_id", locale: "locale", of: $0)
    }

    private static func rows(user: String? = nil, locale: String? = nil, of isMember: String) -> String {
        let columns = [user, "token", locale].compactMap(\.self).joined(separator: ", ")
        return """
            SELECT id, nullif(route_id, :route), nullif(state, \(RegistrationState.active.sql)::smallint), generation,
                CASE WHEN kind = \(TokenKind.wakeUp.sql) THEN coalesce((
                    SELECT true FROM unproven_subscribers u WHERE u.registration_id = registrations.id LIMIT 1), false) END,
                \(columns)
            FROM registrations WHERE \(isMember) ORDER BY id
            """
    }

    /// The members whose current token generation was tried in both environments. They are few and have their own
    /// index.
    static let compared = MemberStatement("member_compared", key: "id") {
        "SELECT id, generation FROM registrations WHERE environments_compared = generation AND \($0) ORDER BY id"
    }

    /// The tokens of inline targets, for a message that has any.
    static let inline = Statement(
        "parcel_read_inline", "SELECT id, token FROM inline_targets WHERE id = ANY (:members) ORDER BY id")
}
