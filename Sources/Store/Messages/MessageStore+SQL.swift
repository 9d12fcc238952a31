import Content
import Model
import Postgres

/// Messages: reading them.
enum MessageSQL {
    /// Everything that an account adds up, in one snapshot.
    static let account = Statement(
        "message_account",
        """
        SELECT \(wholeColumns)
        FROM messages m \(openParcels) \(byProvider) WHERE m.app_id = :app AND m.id = :message
        """)

    // By acceptance, newest first, under `PlannerSQL.throughKeys`. An id tells the time of sending instead. The app stands in an array of one, so that it is part of the order,
    // which only the app's own index has. By acceptance alone, the messages of all apps would be passed.
    private static let below = """
        WHERE origin = \(MessageOrigin.sender.sql) AND app_id = ANY (ARRAY[:app]) AND (accepted_at, id) < (
            coalesce((SELECT last.accepted_at FROM messages AS last WHERE last.id = :before), 'infinity'),
            coalesce(:before, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid))
        """

    /// The ids of messages below one, whether each is in the page, and whether the scan ended there.
    static let list = Statement(
        "message_list",
        "SELECT id, true, false FROM messages \(below) ORDER BY app_id, accepted_at DESC, id DESC LIMIT :limit")

    /// The same for messages in a state that is not that of finished ones.
    static let listOfState = Statement(
        "message_list_of_state",
        """
        SELECT id, true, false FROM messages \(below) AND state = :state AND state <> \(MessageState.finished.sql)
        ORDER BY app_id, state, accepted_at DESC, id DESC LIMIT :limit
        """)

    /// The same for finished messages, which nearly all are. A million scheduled messages may come before them. So the
    /// rows that are passed are bounded, and the last of those is returned as well.
    static let listFinished = Statement(
        "message_list_finished",
        """
        SELECT id, state = \(MessageState.finished.sql), number = :scan_max FROM (
            SELECT id, state, row_number() OVER (ORDER BY app_id, accepted_at DESC, id DESC) AS number
            FROM (
                SELECT app_id, accepted_at, id, state FROM messages \(below)
                ORDER BY app_id, accepted_at DESC, id DESC LIMIT :scan_max
            ) AS passed
        ) AS numbered
        WHERE state = \(MessageState.finished.sql) OR number = :scan_max ORDER BY number LIMIT :limit
        """)

    /// The accounts of a list, in no order, with the number of open parcels of each. A state that is named must still be
    /// that of the message. They are found by id: by the app, all of its messages might be read.
    static let accounts = Statement(
        "message_accounts",
        """
        SELECT \(columns), p.parcels
        FROM messages m \(openParcels)
        WHERE m.app_id + 0 = :app AND m.id = ANY (:messages) AND m.state = coalesce(:state, m.state)
        """)

    // The columns that count ended pushes, in the order of `TerminalState.allCases`, and those of all pushes.
    private static let ended = TerminalState.allCases.map(\.name)
    private static let counts = ["pending"] + ended

    static func each(_ columns: [String], _ text: (String) -> String) -> String {
        columns.map(text).joined(separator: ", ")
    }

    // The columns of a `MessageAccount`.
    private static let columns = """
        m.id, m.state, m.accepted_at, m.expires_at, m.finished_at, m.audience, coalesce(p.pending, 0),
            \(each(ended) { "m.\($0) + coalesce(p.\($0), 0)" }), m.push_type, m.is_dry_run, m.audience_summary,
            m.local_hour AT TIME ZONE 'UTC', m.due_at, m.rate_per_second, m.name, m.author,
            (SELECT substring(content FROM 1 FOR \(StoredContent.excerptBytes)) FROM message_contents c
                WHERE c.message_id = m.id),
            (SELECT CASE WHEN octet_length(audience) <= \(AudienceText.shortBytesMax) THEN audience END
                FROM message_contents c WHERE c.message_id = m.id)
        """

    /// The same, and what only a query of one message returns. They need `openParcels` and `byProvider`.
    static let wholeColumns = """
        \(columns), \(ofReasons("state")), \(ofReasons("reason")), \(ofReasons("count")), \(ofReasons("coalesce(detail, '')")),
            by.providers, \(each(counts) { "by.\($0)" })
        """

    private static func ofReasons(_ column: String) -> String {
        "ARRAY(SELECT \(column) FROM message_reasons r WHERE r.message_id = m.id ORDER BY r.state, r.reason COLLATE \"C\")"
    }

    static let openParcels = """
        CROSS JOIN LATERAL (
            SELECT \(each(counts) { "sum(\($0)) AS \($0)" }), count(*) AS parcels
            FROM parcels WHERE message_id = m.id
        ) AS p
        """

    static let byProvider = """
        CROSS JOIN LATERAL (
            SELECT array_agg(provider ORDER BY provider) AS providers,
                \(each(counts) { "array_agg(\($0) ORDER BY provider) AS \($0)" })
            FROM (
                SELECT provider, \(each(counts) { "sum(\($0))::bigint AS \($0)" })
                FROM (
                    SELECT provider, 0::bigint AS pending, \(ended.joined(separator: ", "))
                    FROM message_providers WHERE message_id = m.id
                    UNION ALL
                    SELECT r.provider, \(each(counts) { "p.\($0)" })
                    FROM parcels p JOIN routes r ON r.id = p.route_id WHERE p.message_id = m.id
                ) AS counted GROUP BY provider
            ) AS summed
        ) AS by
        """

    /// The contents of several messages.
    static let contents = Statement(
        "message_contents_of",
        """
        SELECT m.id, m.app_id, m.format, m.priority, m.kind, m.expires_at, c.content
        FROM messages m JOIN message_contents c ON c.message_id = m.id WHERE m.id = ANY (:messages)
        """)

    // Those of the providers that the app reaches. Sibling routes that no client named, of number 0, reach no device.
    private static let reachedProviders = """
        ARRAY(
            SELECT asked.provider FROM unnest(:providers) WITH ORDINALITY AS asked (provider, place)
            WHERE EXISTS (
                SELECT FROM routes r
                WHERE r.app_id = :app AND r.provider = asked.provider AND r.number IS DISTINCT FROM 0
            ) OR EXISTS (
                SELECT FROM credentials c
                WHERE c.app_id = :app AND c.provider = asked.provider AND c.state = \(CredentialState.active.sql)
            ) ORDER BY asked.place)
        """

    /// The unfinished messages of a priority, counted up to a limit, and the providers that the app reaches.
    static let status = Statement(
        "message_app_status",
        """
        SELECT (
            SELECT count(*) FROM (
                SELECT 1 FROM messages
                WHERE app_id = :app AND priority = :priority AND state < \(MessageState.finished.sql)
                    AND origin = \(MessageOrigin.sender.sql)
                LIMIT :limit
            ) AS unfinished), \(reachedProviders)
        """)

    /// The providers that the app reaches, and whether it sets limits.
    static let reached = Statement(
        "message_app_providers",
        """
        SELECT \(reachedProviders), EXISTS (
            SELECT FROM apps WHERE id = :app
                AND (settings ->> 'quiet_hours' IS NOT NULL OR settings ->> 'daily_cap' IS NOT NULL))
        """)
}
