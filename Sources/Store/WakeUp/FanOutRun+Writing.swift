import Basis
import Model
import Postgres
import QueueRules
import WakeUpRules

extension FanOutRun {
    /// Writes messages, parcels and notes, and commits. Returns the routes with new parcels.
    mutating func write(in transaction: PostgresTransaction) async throws(PostgresError) -> [ReadyRoute] {
        let ends = turns.filter { $0.snapshot != nil }.map { TurnEnd($0, limit: limit) }
        let gone = turns.filter { !$0.exists }.map(\.watch)
        let wakeUps = messages.writes(.wakeUp, format: order.format, now: now)
        let revocations = notices.writes(.revocation, format: order.format, now: now)
        var queries = wakeUps + revocations
        if !progress.isEmpty { queries.append(writeProgress) }
        if !denied.isEmpty {
            queries.append(Query(FanOutSQL.remove) { $0.int64Array("subscriptions", denied.sorted()) })
        }
        queries += turns.compactMap(\.revocation)
        queries.append(end(ends))
        if !gone.isEmpty { queries.append(Query(FanOutSQL.forget) { $0.int64Array("watches", gone) }) }
        let empty = turns.filter(\.isEmpty).map(\.watch)
        if !empty.isEmpty {
            queries += [FanOutSQL.lockEmpty, FanOutSQL.removeEmpty].map {
                Query($0) { $0.int64Array("watches", empty) }
            }
        }
        queries.append(Query(PlanSQL.soonOnDisk))
        let answers = try await transaction.runAndCommit(queries)
        let routes = [wakeUps.count, wakeUps.count + revocations.count].map { $0 - 1 }
        var ready: [ReadyRoute] = []
        if !wakeUps.isEmpty { ready += try answers[routes[0]].map(ReadyRoute.init) }
        if !revocations.isEmpty { ready += try answers[routes[1]].map(ReadyRoute.init) }
        return ready
    }
    private var writeProgress: Query {
        // Rows are locked in the order of their ids, as when subscriptions are deleted.
        let ordered = progress.sorted { $0.subscription < $1.subscription }
        return Query(FanOutSQL.progress) {
            $0.int64Array("subscriptions", ordered.map(\.subscription))
            $0.int64Array("were", ordered.map(\.was))
            $0.int64Array("seqs", ordered.map(\.seq))
            $0.array("messages", .uuid, count: ordered.count) { place, cell in
                if let message = ordered[place].message { cell.uuid(message) } else { cell.null() }
            }
        }
    }

    private func end(_ ends: [TurnEnd]) -> Query {
        Query(FanOutSQL.end) {
            $0.instant("now", now)
            $0.int64Array("watches", ends.map(\.watch))
            $0.boolArray("wake_some", ends.map(\.wakesSome))
            $0.boolArray("are_over", ends.map(\.isOver))
            $0.int64Array("next_us", ends.map(\.next.wholeMicroseconds))
            $0.int16Array("tries", ends.map(\.tries))
            $0.int64Array("round_seqs", ends.map(\.roundSeq))
            $0.int64Array("adoptions", ends.map(\.adoptions))
            $0.int64Array("after", ends.map(\.after))
        }
    }

    /// The state in which a turn leaves its watch.
    private struct TurnEnd {
        let watch: Int64
        let wakesSome: Bool
        /// All subscriptions were told of the changes up to the round's number.
        let isOver: Bool
        /// The time until the next turn, if there is more to tell.
        let next: Duration
        let tries: Int16
        let roundSeq: Int64
        /// The watch's adoptions when its subscriptions were read.
        let adoptions: Int64
        /// The last registration that was read; 0: the round is over.
        let after: Int64

        init(_ turn: Turn, limit: Int) {
            (watch, wakesSome, adoptions) = (turn.watch, turn.wakesSome, turn.snapshot?.adoptions ?? 0)
            let seq = turn.snapshot?.seq ?? 0
            // A round with pushes that have not ended tells all but their changes, whose number is never reached.
            roundSeq = turn.hasUnsettled ? 0 : turn.roundSeq ?? seq
            let goesOn = turn.subscriptions.count >= limit
            after = goesOn ? turn.subscriptions[turn.subscriptions.count - 1].registration : 0
            isOver = !goesOn && !turn.hasUnsettled
            tries = turn.wakesSome || !turn.hasUnsettled ? 0 : min(turn.tries, .max - 1) + 1
            next =
                goesOn
                ? .zero
                : turn.hasUnsettled
                    ? FanOutPace.wait(tries: turn.tries) : turn.snapshot?.settings.gather ?? .zero
        }
    }
}
