import Encodings
import Model
import Postgres

/// The feed of token verdicts.
package struct FeedbackStore: Sendable {
    let pool: PostgresPool

    /// The rows that one call numbers. A reader with more to read calls again anyway.
    static let numberedMax: Int64 = 5_000

    /// Returns what follows a cursor, oldest first.
    ///
    /// One reader of the app at a time numbers the committed rows. A transaction that commits late gets a number behind
    /// every cursor handed out so far, so no cursor skips it. A reader numbers the rows that have none.
    ///
    /// Retention's mark is read after the page, so that retention can't remove rows in between unnoticed.
    package func page(
        app: AppID, after cursor: FeedbackCursor? = nil, limit: Int
    ) async throws(StoreFault) -> FeedbackPage {
        let page = Query(FeedbackSQL.page) {
            $0.int64("app", app.value)
            $0.int64("after", cursor?.number ?? 0)
            $0.int64("limit", Int64(limit))
        }
        let unnumbered = Query(FeedbackSQL.unnumbered) { $0.int64("app", app.value) }
        let sweptThrough = Query(FeedbackSQL.sweptThrough) { $0.int64("app", app.value) }
        return try await translating { () throws(PostgresError) in
            let hasUnnumbered = try await pool.read(unnumbered).one(Bool.init)
            if hasUnnumbered { try await number(app) }
            let answers = try await pool.read([page, sweptThrough])
            let found = try answers[0].map { row throws(PostgresError) in
                (cursor: FeedbackCursor(number: try row.int64()), item: try FeedbackItem(&row))
            }
            let swept = try answers[1].first(Int64.init) ?? 0
            return FeedbackPage(
                items: found.map(\.item), next: found.last?.cursor ?? cursor,
                hasGap: cursor.map { $0.number < swept } ?? false)
        }
    }

    func number(_ app: AppID) async throws(PostgresError) {
        let statements = [
            Query(FeedbackSQL.lock) { $0.int64("app", app.value) },
            Query(FeedbackSQL.number) {
                $0.int64("app", app.value)
                $0.int64("limit", Self.numberedMax)
            },
        ]
        _ = try await pool.retryingRun(statements)
    }
}

package struct FeedbackPage: Equatable, Sendable {
    package let items: [FeedbackItem]
    /// The position behind the last item; the given cursor if nothing follows it yet.
    package let next: FeedbackCursor?
    /// Retention removed entries that followed the cursor: the client that holds it has missed something.
    package let hasGap: Bool
}

/// A position in an app's feed. It is opaque to clients.
package struct FeedbackCursor: Equatable, Sendable {
    let number: Int64

    init(number: Int64) { self.number = number }

    /// nil: the text is no cursor of ours.
    package init?(text: String) {
        guard text.utf8.count == 16, let bytes = Hexadecimal.decode(text) else { return nil }
        number = Int64(bitPattern: bytes.reduce(0) { $0 << 8 | UInt64($1) })
    }

    package var text: String {
        var bytes: [UInt8] = []
        Hexadecimal.append(UInt64(bitPattern: number), to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension FeedbackItem {
    fileprivate init(_ row: inout Row) throws(PostgresError) {
        self.init(
            id: try row.int64(), installation: try row.text(), kind: try row.stored(), provider: try row.stored(),
            verdict: try row.stored(), reason: try row.text(), at: try row.instant(),
            environments: try EnvironmentChange(&row))
    }
}

extension EnvironmentChange {
    /// nil: the entry names no environments.
    fileprivate init?(_ row: inout Row) throws(PostgresError) {
        let from: PushEnvironment? = try row.optional { row throws(PostgresError) in try row.stored() }
        let to: PushEnvironment? = try row.optional { row throws(PostgresError) in try row.stored() }
        guard let from, let to else { return nil }
        self.init(from: from, to: to)
    }
}

enum FeedbackSQL {
    static let unnumbered = Statement(
        "feedback_unnumbered", "SELECT EXISTS (SELECT FROM feedback WHERE app_id = :app AND number IS NULL)")

    /// A lock that is held to the end of the transaction; the first number is "feed" in ASCII. It is a
    /// statement of its own: the next one sees what was committed during the wait.
    static let lock = Statement("feedback_lock", "SELECT pg_advisory_xact_lock(x'66656564'::integer, hashint8(:app))")

    /// Rows are numbered by id: what one transaction did because of another has the higher one. Numbers rise with the
    /// clock, so that those given after a restore from a backup lie above all that were read before it. If the clock
    /// steps back, they rise by one, and stay above those that retention removed.
    static let number = Statement(
        "feedback_number",
        """
        WITH base AS MATERIALIZED (
            SELECT greatest(
                coalesce((SELECT max(number) FROM feedback WHERE app_id = :app AND number IS NOT NULL), 0),
                coalesce((SELECT through FROM feedback_swept WHERE app_id = :app), 0),
                (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) AS last
        ), found AS MATERIALIZED (
            SELECT id FROM feedback WHERE app_id = :app AND number IS NULL ORDER BY app_id, id LIMIT :limit
        )
        UPDATE feedback SET number = base.last + found.place
        FROM base, (SELECT id, row_number() OVER (ORDER BY id) AS place FROM found) AS found
        WHERE feedback.id = found.id
        """)

    static let page = Statement(
        "feedback_page",
        """
        SELECT number, id, installation, kind, provider, verdict, reason, at, from_environment, to_environment
        FROM feedback
        WHERE app_id = :app AND number > :after ORDER BY number LIMIT :limit
        """)

    static let sweptThrough = Statement(
        "feedback_swept_through", "SELECT through FROM feedback_swept WHERE app_id = :app")

    // Ids rise with time, except between concurrent transactions: the lowest ones are the oldest.
    private static let oldest = "SELECT id, app_id, at, number FROM feedback ORDER BY id LIMIT :limit"
    private static let isOutlived = "at < coalesce(:now, clock_timestamp()) - :age_us * interval '1 microsecond'"

    /// Returns the number of older rows, and the apps of those without a number.
    static let outlived = Statement(
        "feedback_outlived",
        """
        SELECT count(*), coalesce(array_agg(DISTINCT app_id) FILTER (WHERE number IS NULL), '{}')
        FROM (\(oldest)) AS oldest WHERE \(isOutlived)
        """)

    /// Returns the number of removed rows.
    static let sweep = Statement(
        "feedback_sweep",
        """
        WITH gone AS (
            DELETE FROM feedback WHERE id = ANY (ARRAY(
                SELECT f.id FROM feedback f
                WHERE f.id = ANY (ARRAY(SELECT id FROM (\(oldest)) AS oldest WHERE \(isOutlived)))
                    AND f.number IS NOT NULL
                ORDER BY f.id FOR UPDATE SKIP LOCKED))
            RETURNING app_id, number
        ), swept_through AS (
            INSERT INTO feedback_swept AS swept (app_id, through)
            SELECT app_id, max(number) FROM gone GROUP BY app_id ORDER BY app_id
            ON CONFLICT (app_id) DO UPDATE SET through = greatest(swept.through, excluded.through)
        )
        SELECT count(*) FROM gone
        """)
}
