import Encodings
import Postgres
import PushModel

/// The feed of token verdicts.
package struct FeedbackStore: Sendable {
    private let pool: PostgresPool
    package init(pool: PostgresPool) { self.pool = pool }

    /// What follows a cursor, oldest first.
    ///
    /// Ordered by transaction, and served only below the oldest one that still runs: whoever commits late stands behind
    /// every cursor handed out so far, and none skips it.
    package func page(
        app: AppID, after cursor: FeedbackCursor? = nil, limit: Int
    ) async throws(StoreFault) -> FeedbackPage {
        let query = Query(FeedbackSQL.page) {
            $0.int64(app.value)
            $0.text(String(cursor?.transaction ?? 0))
            $0.int64(cursor?.id ?? 0)
            $0.int64(Int64(limit))
        }
        return try await translating { () throws(PostgresError) in
            let rows = try await pool.read(query)
            var items: [FeedbackItem] = []
            var next = cursor
            for row in 0..<rows.rowCount {
                items.append(try FeedbackItem(reading: rows, row: row))
                guard let transaction = UInt64(try rows.text(row, 1)) else { throw FeedbackItem.shape }
                next = FeedbackCursor(transaction: transaction, id: try rows.int64(row, 0))
            }
            return FeedbackPage(items: items, next: next)
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
    let transaction: UInt64
    let id: Int64

    init(transaction: UInt64, id: Int64) {
        self.transaction = transaction
        self.id = id
    }

    /// nil: not one of ours.
    package init?(text: String) {
        guard text.utf8.count == 32, let bytes = Hexadecimal.decode(text) else { return nil }
        transaction = bytes[..<8].reduce(0) { $0 << 8 | UInt64($1) }
        id = Int64(bitPattern: bytes[8...].reduce(0) { $0 << 8 | UInt64($1) })
    }

    package var text: String {
        var bytes: [UInt8] = []
        Hexadecimal.append(transaction, to: &bytes)
        Hexadecimal.append(UInt64(bitPattern: id), to: &bytes)
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
    /// $1 app, $2 transaction and $3 id of the cursor, $4 how many.
    ///
    /// The text has a name of its own: `ORDER BY xact` would sort by it, and 10 stands before 9 there.
    static let page = Statement(
        "feedback_page",
        """
        SELECT id, xact::text AS xact_text, installation, kind, provider, verdict, reason, at FROM feedback
        WHERE app_id = $1 AND (xact, id) > ($2::text::xid8, $3) AND xact < pg_snapshot_xmin(pg_current_snapshot())
        ORDER BY xact, id LIMIT $4
        """)
}
