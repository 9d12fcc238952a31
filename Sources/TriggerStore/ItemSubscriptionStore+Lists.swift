import Basis
import Model
import Postgres
import Store
import TriggerRules

extension ItemSubscriptionStore {
    /// Returns one of a device's subscriptions. nil: the device has none of this key, or it has expired.
    package func subscription(
        _ key: UniversalID, of registration: RegistrationID, now: WallInstant? = nil
    ) async throws(StoreFault) -> ItemSubscription? {
        let query = Query(ItemSubscriptionListSQL.one) { $0.subscription(key, of: registration, now) }
        return try await translated(
            await pool.runThroughKeys(query, isReadOnly: true).first(ItemSubscription.init(stored:)))
    }

    /// Returns a device's subscriptions by rising id, without those that have expired.
    ///
    /// - Parameters:
    ///   - status: nil: any.
    ///   - after: the id of the last one of the page before; 0: the first page.
    package func subscriptions(
        of registration: RegistrationID, status: SubscriptionStatus?, after: Int64, limit: Int,
        now: WallInstant? = nil
    ) async throws(StoreFault) -> [ItemSubscription] {
        precondition(limit > 0)
        let query = Query(ItemSubscriptionListSQL.page) {
            $0.int64("registration", registration.value)
            $0.int16("status", status?.rawValue)
            $0.int64("after", after)
            $0.int64("limit", Int64(limit))
            $0.instant("now", now)
        }
        return try await translated(
            await pool.runThroughKeys(query, isReadOnly: true).map(ItemSubscription.init(stored:)))
    }
}

/// Subscriptions to items, as requests ask for them. They run under `PlannerSQL.throughKeys`.
enum ItemSubscriptionListSQL {
    private static let now = "coalesce(:now, clock_timestamp())"
    private static let isLive = "(s.expires_at IS NULL OR s.expires_at > \(now))"
    private static let template = """
        CROSS JOIN LATERAL (SELECT given, content FROM push_templates WHERE id = s.template_id LIMIT 1) AS t
        """
    private static let columns = """
        s.id, s.key, s.status, s.items, s.fields, s.mode, s.trigger, t.given, t.content, s.is_shown,
            s.pause_seconds, s.when_paused, s.expires_at, s.revision, s.created_at
        """

    static let one = Statement(
        "item_subscriptions_one",
        """
        SELECT \(columns) FROM item_subscriptions s \(template)
        WHERE s.key = :key AND s.registration_id + 0 = :registration AND \(isLive)
        """)

    /// A device has few enough to read the ids of all: no index has them by rising id, whatever their status is.
    static let page = Statement(
        "item_subscriptions_page",
        """
        WITH own AS MATERIALIZED (
            SELECT id FROM item_subscriptions s
            WHERE registration_id BETWEEN :registration AND :registration AND id > :after
                AND (:status IS NULL OR status = :status) AND \(isLive)
            ORDER BY registration_id, status, id
        )
        SELECT \(columns)
        FROM (SELECT id FROM own ORDER BY id LIMIT :limit) AS page
        CROSS JOIN LATERAL (SELECT * FROM item_subscriptions WHERE id = page.id LIMIT 1) AS s \(template)
        ORDER BY s.id
        """)
}

extension ItemSubscription {
    fileprivate init(stored row: inout Row) throws(PostgresError) {
        let (id, key) = (try row.int64(), try row.uuid())
        let status: SubscriptionStatus = try row.stored()
        let (items, fields) = (try row.textArray(), try row.textArray())
        let mode: Stored<UpdateMode> = try row.stored()
        let trigger = try row.textOrNil().map { TriggerTerms(text: $0, thresholds: []) }
        let template = TemplateSource(
            given: try row.bytes(), content: try row.bytes(), isShown: try row.bool())
        let pauseSeconds = try row.int32OrNil()
        let whenPaused: Stored<WhenPaused> = try row.stored()
        let terms = SubscriptionTerms(
            items: items, fields: fields, mode: mode.value, trigger: trigger, template: template,
            pauseSeconds: pauseSeconds, whenPaused: whenPaused.value, expiresAt: try row.instantOrNil())
        self.init(
            id: id, key: key, status: status, terms: terms, revision: try row.int32(), createdAt: try row.instant())
    }
}
