import Postgres

/// How fast a message goes, as its settles count (decision 0027).
enum PaceSQL {
    /// Between two looks.
    private static let apart = "interval '15 seconds'"
    /// Whoever settled nothing for so long behind a look stood still: what came before says nothing any more.
    private static let still = "interval '30 seconds'"

    // Transactions that run beside each other begin in another order than they write in.
    private static let isNew = """
        (excluded.seen_at >= known.seen_at + \(apart) OR excluded.seen_at <= known.seen_at - \(apart))
        """
    private static let goesOn = "excluded.seen_at BETWEEN known.seen_at AND known.seen_at + \(still)"

    /// The part of a settle that counts what answers have ended, where something is left of the message.
    ///
    /// - Parameters:
    ///   - counted: a query of message ids, providers and pushes, ordered by both ids and of pushes above nought.
    ///   - now: when it settles.
    static func counting(_ counted: String, now: String) -> String {
        """
        paced AS (
            INSERT INTO message_paces AS known (message_id, provider, answered, seen_at, seen)
            SELECT message_id, provider, pushes, \(now), pushes
            FROM (\(counted)) AS counted (message_id, provider, pushes)
            ON CONFLICT (message_id, provider) DO UPDATE SET answered = known.answered + excluded.answered,
                seen_at = CASE WHEN \(isNew) THEN excluded.seen_at ELSE known.seen_at END,
                seen = CASE WHEN \(isNew) THEN known.answered + excluded.answered ELSE known.seen END,
                before_at = CASE WHEN NOT \(isNew) THEN known.before_at WHEN \(goesOn) THEN known.seen_at END,
                before = CASE WHEN NOT \(isNew) THEN known.before WHEN \(goesOn) THEN known.seen END
        )
        """
    }

    /// Of the message `m`, by provider: pushes, and microseconds in which they were ended. None of whom stands still.
    static func ofMessage(now: String) -> String {
        """
        SELECT provider, answered - coalesce(before, seen) AS answered,
            (extract(epoch FROM \(now) - coalesce(before_at, seen_at)) * 1000000)::bigint AS micros
        FROM message_paces WHERE message_id = m.id AND seen_at > \(now) - \(still)
        """
    }

    /// $1 app, $2 message. It goes on at another pace, or after a pause.
    static let forget = Statement(
        "message_pace_forget",
        """
        DELETE FROM message_paces WHERE message_id = $2 AND EXISTS (SELECT FROM messages WHERE id = $2 AND app_id = $1)
        """)
}
