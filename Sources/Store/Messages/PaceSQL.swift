/// The pace of a message, as its settles count it (decision 0027).
enum PaceSQL {
    /// The time between two samples.
    private static let apart = "interval '15 seconds'"
    /// A message without a settle for longer stood still: earlier samples say nothing about its pace any more.
    private static let still = "interval '30 seconds'"

    // True also if the clock was set back. Concurrent transactions begin in another order than they write.
    private static let isNew = """
        excluded.settled_at NOT BETWEEN known.settled_at - \(still) AND known.settled_at + \(still)
        """
    private static let isDue = "excluded.settled_at >= known.seen_at + \(apart)"

    /// The part of a settle that counts the pushes that it ended, if the message has more.
    ///
    /// - Parameters:
    ///   - counted: a query of message ids, providers and pushes above zero, ordered by both ids.
    ///   - now: the time of the settle.
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

    /// The pace of the message `m` by provider: pushes, microseconds in which they ended, and microseconds since. A
    /// provider that stands still is left out.
    static func ofMessage(now: String) -> String {
        """
        SELECT provider, ended - coalesce(before, seen) AS ended,
            (extract(epoch FROM settled_at - coalesce(before_at, seen_at)) * 1000000)::bigint AS micros,
            (extract(epoch FROM \(now) - settled_at) * 1000000)::bigint AS idle
        FROM message_paces WHERE message_id = m.id AND settled_at BETWEEN \(now) - \(still) AND \(now) + \(still)
        """
    }

    /// The part behind `changed`, a change of messages that go on at another pace: it forgets their pace.
    static let forgotten = "DELETE FROM message_paces USING changed WHERE message_paces.message_id = changed.id"
}
