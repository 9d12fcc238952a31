import Postgres
import Store
import WakeUpRules

extension FanOutRun {
    /// Writes messages, parcels and notes, and commits.
    ///
    /// - Parameter leasing: nil: no parcel is leased.
    mutating func write(
        in transaction: PostgresTransaction, leasing: CutLeasing?
    ) async throws(PostgresError) -> WrittenParcels {
        var writer = MessageWriter(messages, order: leasing?.order, now: now)
        let demand = writer.demand
        if let leasing, !demand.isEmpty { writer.admitted = await leasing.admit(demand) }
        guard writer.leasesAny else {
            return try await writer.write(beside: notes + [Query(PlanSQL.soonOnDisk)], in: transaction)
        }
        do throws(PostgresError) {
            return try await writer.write(beside: notes + [Query(PlannerSQL.inKeyOrder)], in: transaction)
        } catch {
            if case .commitUnknown = error { leasing?.lost(messages.map(\.message.id)) }
            throw error
        }
    }

    /// The queries beside those that write messages.
    private var notes: [Query] {
        let ends = watches.compactMap { watch in watch.slice.map { (watch: watch.id, end: $0.end) } }
        let gone = watches.filter { !$0.exists }.map(\.id)
        var queries = writeProgress
        if !denied.isEmpty {
            queries.append(Query(FanOutSQL.remove) { $0.int64Array("subscriptions", denied.sorted()) })
        }
        queries += watches.compactMap(\.revocation)
        queries.append(end(ends))
        if !gone.isEmpty { queries.append(Query(FanOutSQL.forget) { $0.int64Array("watches", gone) }) }
        let empty = watches.filter { $0.slice?.hasNoSubscription == true }.map(\.id)
        if !empty.isEmpty {
            queries += [FanOutSQL.lockEmpty, FanOutSQL.removeEmpty].map {
                Query($0) { $0.int64Array("watches", empty) }
            }
        }
        return queries
    }

    // Rows are locked in the order of their ids, as when subscriptions are deleted.
    private var writeProgress: [Query] {
        let ordered = progress.sorted { $0.subscription < $1.subscription }
        if ordered.isEmpty { return [] }
        if let common = ordered.common {
            var parameters = Parameters()
            parameters.int64("seq", common.seq)
            parameters.int64("was", common.was)
            parameters.uuid("message", common.message)
            return [FanOutSQL.commonProgress.query(MemberKeys(ordered.map(\.subscription)), parameters)]
        }
        return [
            Query(FanOutSQL.progress) {
                $0.int64Array("subscriptions", ordered.map(\.subscription))
                $0.int64Array("were", ordered.map(\.was))
                $0.int64Array("seqs", ordered.map(\.seq))
                $0.array("messages", .uuid, count: ordered.count) { index, cell in
                    if let message = ordered[index].message { cell.uuid(message) } else { cell.null() }
                }
            }
        ]
    }

    private func end(_ ends: [(watch: Int64, end: WatchSliceEnd)]) -> Query {
        Query(FanOutSQL.end) {
            $0.instant("now", now)
            $0.int64Array("watches", ends.map(\.watch))
            $0.boolArray("wake_some", ends.map(\.end.wakesSome))
            $0.boolArray("reported_to_all", ends.map(\.end.reportedToAll))
            $0.int64Array("next_us", ends.map(\.end.next.wholeMicroseconds))
            $0.int64Array("soonest_us", ends.map(\.end.soonest.wholeMicroseconds))
            $0.int16Array("tries", ends.map(\.end.tries))
            $0.int64Array("round_seqs", ends.map(\.end.roundSeq))
            $0.int64Array("moves", ends.map(\.end.moves))
            $0.int64Array("after", ends.map(\.end.after))
            $0.boolArray("skipped", ends.map(\.end.skipped))
        }
    }
}
