import Model
import Postgres

/// Messages that are cut into parcels when they are accepted. All statements run under `PlannerSQL.inKeyOrder`.
enum CutSQL {
    /// Claims idempotency keys, and returns those that were free. A simultaneous repeat waits.
    static let claimKeys = Statement(
        "cut_claim_keys",
        """
        INSERT INTO idempotency_keys (app_id, operation, key, body_sha256, answer)
        SELECT :app, asked.operation, asked.key, asked.body_sha256, asked.answer
        FROM unnest(:operations, :keys, :body_hashes, :answers) AS asked (operation, key, body_sha256, answer)
        ORDER BY asked.operation COLLATE "C", asked.key COLLATE "C"
        ON CONFLICT DO NOTHING RETURNING operation, key
        """)

    /// The stored bodies and answers of keys, with their places.
    static let findKeys = Statement(
        "cut_find_keys",
        """
        SELECT asked.place, known.body_sha256, known.answer
        FROM unnest(:operations, :keys) WITH ORDINALITY AS asked (operation, key, place)
        JOIN idempotency_keys known
            ON known.app_id = :app AND known.operation = asked.operation AND known.key = asked.key
        """)

    /// The members of messages that name tokens. There is one row for each, in this order: the registration or a new id,
    /// its route, and whether it is an inline target. The tokens' routes must exist.
    static let tokens = Statement(
        "cut_tokens",
        """
        SELECT coalesce(r.id, CASE WHEN routes.id IS NOT NULL THEN nextval('registrations_id_seq') END),
            coalesce(r.route_id, routes.id), r.id IS NULL
        FROM unnest(:providers, :environments, :topics, :tokens) WITH ORDINALITY
            AS named (provider, environment, topic, token, place)
        \(AudienceSQL.holder(of: "named"))
        LEFT JOIN LATERAL (\(AudienceSQL.route(of: "named", "r.id IS NULL AND"))) AS routes ON true
        ORDER BY named.place
        """)

    /// Frees new parcels that were leased to a process that got no answer.
    static let release = Statement(
        "cut_release",
        """
        UPDATE parcels p SET state = \(ControlSQL.initialState(of: "p.message_id")), owner = NULL, lease_until = NULL
        WHERE p.message_id = ANY (:messages) AND p.owner = :owner AND p.state = \(ParcelState.leased.sql)
            AND p.epoch = 1 AND p.settles = 0
        """)
}
