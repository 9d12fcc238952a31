import Encodings
import Postgres
import PushModel

/// The feed of token verdicts.
package struct FeedbackStore: Sendable {
    private let pool: PostgresPool
    package init(pool: PostgresPool) { self.pool = pool }

    /// Rows that one call numbers. Who has more to read asks again anyway.
    static let numberedMax: Int64 = 5_000

    /// What follows a cursor, oldest first.
    ///
    /// Ordered by numbers that are given to committed rows, one reader of the app at a time: whoever commits late gets a
    /// later number, behind every cursor handed out so far, and none skips it. A reader numbers what it finds unnumbered.
    package func page(
        app: AppID, after cursor: FeedbackCursor? = nil, limit: Int
    ) async throws(StoreFault) -> FeedbackPage {
        let page = Query(FeedbackSQL.page) {
            $0.int64(app.value)
            $0.int64(cursor?.number ?? 0)
            $0.int64(Int64(limit))
        }
        let unnumbered = Query(FeedbackSQL.unnumbered) { $0.int64(app.value) }
        return try await translating { () throws(PostgresError) in
            if try await pool.read(unnumbered).bool(0, 0) { try await number(app) }
            let rows = try await pool.read(page)
            var items: [FeedbackItem] = []
            var next = cursor
            for row in 0..<rows.rowCount {
                items.append(try FeedbackItem(reading: rows, row: row))
                next = FeedbackCursor(number: try rows.int64(row, 1))
            }
            return FeedbackPage(items: items, next: next)
        }
    }

    private func number(_ app: AppID) async throws(PostgresError) {
        let statements = [
            Query(FeedbackSQL.lock) { $0.int64(app.value) },
            Query(FeedbackSQL.number) {
                $0.int64(app.value)
                $0.int64(Self.numberedMax)
            },
        ]
        let pool = pool
        _ = try await pool.retryingConflicts { () throws(PostgresError) in
            try await pool.run(statements, transaction: TransactionOptions())
        }
    }
}

package struct FeedbackPage: Equatable, Sendable {
    package let items: [FeedbackItem]
    /// Behind the last item; the cursor that was given where nothing follows it yet.
    package let next: FeedbackCursor?
}

/// A place in an app's feed. Opaque to whoever holds it.
package struct FeedbackCursor: Equatable, Sendable {
    let number: Int64

    init(number: Int64) { self.number = number }

    /// nil: not one of ours.
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
    fileprivate static let shape = PostgresError.unexpectedShape(statement: "feedback_page", column: 1)

    fileprivate init(reading rows: ResultSet, row: Int) throws(PostgresError) {
        guard let kind = TokenKind(rawValue: try rows.int16(row, 3)),
            let provider = Provider(rawValue: try rows.int16(row, 4)),
            let verdict = FeedbackVerdict(rawValue: try rows.int16(row, 5))
        else { throw Self.shape }
        self.init(
            id: try rows.int64(row, 0), installation: try rows.text(row, 2), kind: kind, provider: provider,
            verdict: verdict, reason: try rows.text(row, 6), at: try rows.instant(row, 7))
    }
}

enum FeedbackSQL {
    /// $1 app.
    static let unnumbered = Statement(
        "feedback_unnumbered", "SELECT EXISTS (SELECT FROM feedback WHERE app_id = $1 AND number IS NULL)")

    /// $1 app. Held to the end of the transaction; the first number is "feed" in ASCII. In a statement of its own: the
    /// next one sees what was committed while this one waited.
    static let lock = Statement(
        "feedback_lock", "SELECT pg_advisory_xact_lock(x'66656564'::integer, hashint8($1))")

    /// $1 app, $2 how many.
    ///
    /// By id: what one transaction did because of another has a higher one. Numbers rise with the clock, so that those
    /// given after a restore from a backup lie above all that were read before it; where the clock goes back they rise by
    /// one.
    static let number = Statement(
        "feedback_number",
        """
        WITH base AS MATERIALIZED (
            SELECT greatest(
                coalesce((SELECT max(number) FROM feedback WHERE app_id = $1 AND number IS NOT NULL), 0),
                (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) AS last
        ), found AS MATERIALIZED (
            SELECT id FROM feedback WHERE app_id = $1 AND number IS NULL ORDER BY app_id, id LIMIT $2
        )
        UPDATE feedback SET number = base.last + found.place
        FROM base, (SELECT id, row_number() OVER (ORDER BY id) AS place FROM found) AS found
        WHERE feedback.id = found.id
        """)

    /// $1 app, $2 number of the cursor, $3 how many.
    static let page = Statement(
        "feedback_page",
        """
        SELECT id, number, installation, kind, provider, verdict, reason, at FROM feedback
        WHERE app_id = $1 AND number > $2 ORDER BY number LIMIT $3
        """)
}
