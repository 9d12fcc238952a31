/// How fast a message goes, as its settles count (decision 0027).
enum PaceSQL {
    /// Between two looks.
    private static let apart = "interval '15 seconds'"
    /// A message of which nothing was settled for longer stood still: what came before says nothing any more.
    private static let still = "interval '30 seconds'"

    // Or the clock was set back. Transactions that run beside each other begin in another order than they write in.
    private static let isNew = """
        excluded.settled_at NOT BETWEEN known.settled_at - \(still) AND known.settled_at + \(still)
        """
    private static let isDue = "excluded.settled_at >= known.seen_at + \(apart)"

    /// The part of a settle that counts what it has ended, where something is left of the message.
    ///
    /// - Parameters:
    ///   - counted: a query of message ids, providers and pushes, ordered by both ids and of pushes above nought.
    ///   - now: when it settles.
    static func counting(_ counted: String, now: String) -> String {
        """
        paced AS (
            INSERT INTO message_paces AS known (message_id, provider, ended, settled_at, seen_at, seen)
            SELECT message_id, provider, pushes, \(now), \(now), pushes
            FROM (\(counted)) AS counted (message_id, provider, pushes)
            ON CONFLICT (message_id, provider) DO UPDATE SET ended = known.ended + excluded.ended,
                settled_at = CASE WHEN \(isNew) THEN excluded.settled_at
                    ELSE greatest(known.settled_at, excluded.settled_at) END,
                seen_at = CASE WHEN \(isNew) OR \(isDue) THEN excluded.settled_at ELSE known.seen_at END,
                seen = CASE WHEN \(isNew) OR \(isDue) THEN known.ended + excluded.ended ELSE known.seen END,
                before_at = CASE WHEN \(isNew) THEN NULL WHEN \(isDue) THEN known.seen_at ELSE known.before_at END,
                before = CASE WHEN \(isNew) THEN NULL WHEN \(isDue) THEN known.seen ELSE known.before END
        )
        """
    }

    /// Of the message `m`, by provider: pushes, microseconds in which they ended, and such since. None of whom stands still.
    static func ofMessage(now: String) -> String {
        """
        SELECT provider, ended - coalesce(before, seen) AS ended,
            (extract(epoch FROM settled_at - coalesce(before_at, seen_at)) * 1000000)::bigint AS micros,
            (extract(epoch FROM \(now) - settled_at) * 1000000)::bigint AS idle
        FROM message_paces WHERE message_id = m.id AND settled_at BETWEEN \(now) - \(still) AND \(now) + \(still)
        """
    }

    /// What follows a change of messages, `changed`, after which they go on at another pace.
    static let forgotten = "DELETE FROM message_paces USING changed WHERE message_paces.message_id = changed.id"
}
