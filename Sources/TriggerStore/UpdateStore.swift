import Basis
import Model
import Postgres
import Store
import TriggerRules

/// Updates of items. The transaction that takes an update fires the triggers that it satisfies, and makes the item's
/// followers due.
package struct UpdateStore: Sendable {
    let pool: PostgresPool
    let notifier: WorkNotifier
    private let itemsMax: Int64
    private let workMax: Int
    private let counts = RowCounts()
    let idleCursor = SweepCursor()

    /// The most items of an app.
    package static let itemsPerAppMax: Int64 = 1_000_000

    /// - Parameters:
    ///   - itemsMax: the most items of an app.
    ///   - workMax: the most work of triggers in one transaction, as `TriggerQuestion` counts it.
    package init(
        pool: PostgresPool, notifier: WorkNotifier, itemsMax: Int64 = itemsPerAppMax,
        workMax: Int = TriggerQuestion.workMax
    ) {
        (self.pool, self.notifier, self.itemsMax, self.workMax) = (pool, notifier, itemsMax, workMax)
    }

    /// Takes updates of one app in their order: in one transaction, unless their triggers are too much work for one. Each
    /// is committed when its reply says so. A refused one changes nothing, and the others are taken.
    package func take(_ updates: [ItemUpdate], app: AppID, now: WallInstant? = nil) async -> UpdateResult {
        var result = UpdateResult(replies: [], raisedAny: false)
        while result.replies.count < updates.count {
            let next = await takeFirst(Array(updates[result.replies.count...]), app, now)
            result.replies += next.replies
            result.raisedAny = result.raisedAny || next.raisedAny
        }
        return result
    }

    /// Takes one or more updates, from the first one. A group that fails is tried again in halves: so one bad update fails
    /// alone.
    private func takeFirst(_ updates: [ItemUpdate], _ app: AppID, _ now: WallInstant?) async -> UpdateResult {
        do throws(GroupFault) { return try await takeTogether(updates, app, now) } catch {
            guard error.isOverARow, updates.count > 1 else {
                return UpdateResult(replies: updates.map { _ in .failure(error.fault) }, raisedAny: false)
            }
        }
        let middle = updates.count / 2
        var result = await take(Array(updates[..<middle]), app: app, now: now)
        let others = await take(Array(updates[middle...]), app: app, now: now)
        result.replies += others.replies
        result.raisedAny = result.raisedAny || others.raisedAny
        return result
    }

    private func takeTogether(
        _ updates: [ItemUpdate], _ app: AppID, _ now: WallInstant?
    ) async throws(GroupFault) -> UpdateResult {
        let room = try await translatingGroup { () throws(PostgresError) in try await self.room(in: app) }
        let taken = try await translatingGroup { () throws(PostgresError) in
            try await pool.retryingTransaction { transaction throws(PostgresError) -> UpdateRun.Outcome in
                var run = UpdateRun(updates, app: app, room: room, workMax: workMax, now: now)
                try await run.decide(in: transaction)
                guard run.takesAny else { return await transaction.abandon(returning: run.outcome) }
                return try await run.commit([], in: transaction)
            }
        }
        note(taken, app)
        return UpdateResult(replies: taken.replies.map { .success($0) }, raisedAny: taken.raised)
    }

    /// Takes one update, once for each idempotency key. The key of a refused one stays free.
    package func take(
        _ update: ItemUpdate, app: AppID, once claim: IdempotencyClaim, now: WallInstant? = nil
    ) async throws(StoreFault) -> (reply: UpdateReply, raised: Bool) {
        let room = try await translated(await self.room(in: app))
        let taken = try await translated(
            await pool.retryingTransaction { transaction throws(PostgresError) -> UpdateRun.Outcome in
                let answers = try await transaction.run(claim.opening(app))
                guard answers[0].affectedRows == 1 else {
                    let reply = UpdateReply(try claim.reply(in: answers[1]))
                    return await transaction.abandon(returning: UpdateRun.Outcome(replies: [reply]))
                }
                var run = UpdateRun([update], app: app, room: room, workMax: workMax, now: now)
                try await run.decide(in: transaction)
                guard run.takesAny else { return await transaction.abandon(returning: run.outcome) }
                return try await run.commit([claim.closing(app, answer: [])], in: transaction)
            })
        note(taken, app)
        return (taken.replies[0], taken.raised)
    }

    /// The number of items that the app may still have, as far as this process knows.
    private func room(in app: AppID) async throws(PostgresError) -> Int64 {
        if counts.mustCount(app.value, max: itemsMax) {
            let count = Query(UpdateSQL.countItems) {
                $0.int64("app", app.value)
                $0.int64("limit", itemsMax)
            }
            counts.set(try await pool.runThroughKeys(count, isReadOnly: true).one(Int64.init), of: app.value)
        }
        return max(0, itemsMax - counts[app.value])
    }

    private func note(_ taken: UpdateRun.Outcome, _ app: AppID) {
        if taken.made > 0 { counts.add(taken.made, to: app.value) }
        if taken.raised { notifier.notify(.items) }
    }
}

extension UpdateStore {
    /// Takes lines of a producer in their order. Those that were taken before are skipped. A refused line counts as
    /// taken.
    ///
    /// Lines and the number of the last one are one commit: a producer that repeats its stream loses and repeats nothing.
    /// Lines whose triggers are too much work for one transaction are taken in several. Lines that fail together are
    /// tried again in halves. If it throws, the lines before the one that failed may have been taken.
    ///
    /// - Parameter lines: by rising number; the others are skipped too.
    package func take(
        _ lines: [ProducedLine], producer: String, app: AppID, now: WallInstant? = nil
    ) async throws(StoreFault) -> ProducedResult {
        var result = try await takeFirst(lines, producer, app, now)
        while true {
            let last = result.through
            let others = lines.filter { $0.line > last }
            if others.isEmpty { return result }
            result = result.followed(by: try await takeFirst(others, producer, app, now))
        }
    }

    private func takeFirst(
        _ lines: [ProducedLine], _ producer: String, _ app: AppID, _ now: WallInstant?
    ) async throws(StoreFault) -> ProducedResult {
        do throws(GroupFault) { return try await takeTogether(lines, producer, app, now) } catch {
            guard error.isOverARow, lines.count > 1 else { throw error.fault }
        }
        let middle = lines.count / 2
        let first = try await take(Array(lines[..<middle]), producer: producer, app: app, now: now)
        let second = try await take(Array(lines[middle...]), producer: producer, app: app, now: now)
        return first.followed(by: second)
    }

    private func takeTogether(
        _ lines: [ProducedLine], _ producer: String, _ app: AppID, _ now: WallInstant?
    ) async throws(GroupFault) -> ProducedResult {
        let room = try await translatingGroup { () throws(PostgresError) in try await self.room(in: app) }
        let (result, taken) = try await translatingGroup { () throws(PostgresError) in
            try await pool.retryingTransaction {
                transaction throws(PostgresError) -> (ProducedResult, UpdateRun.Outcome) in
                let answers = try await transaction.run([
                    Query(PlannerSQL.inKeyOrder), Query(UpdateSQL.addProducer) { $0.producer(producer, of: app) },
                    Query(UpdateSQL.lockProducer) { $0.producer(producer, of: app) },
                ])
                let last = try answers[2].one(Int64.init)
                let new = ProducedLine.lines(lines, behind: last)
                guard !new.isEmpty else {
                    let known = ProducedResult(through: last, refusals: [], raisedAny: false)
                    return await transaction.abandon(returning: (known, UpdateRun.Outcome(replies: [])))
                }
                var run = UpdateRun(new.compactMap(\.update), app: app, room: room, workMax: workMax, now: now)
                try await run.decide(in: transaction)
                let through = ProducedLine.through(new, updateCount: run.decidedCount) ?? last
                let line = Query(UpdateSQL.setLine) {
                    $0.producer(producer, of: app)
                    $0.int64("line", through)
                }
                let taken = try await run.commit([line], in: transaction)
                let refusals = zip(new.filter { $0.update != nil }, taken.replies).compactMap { RefusedLine($0, $1) }
                return (ProducedResult(through: through, refusals: refusals, raisedAny: taken.raised), taken)
            }
        }
        note(taken, app)
        return result
    }

    /// Returns the number of the last line that was taken of a producer; 0: none was.
    package func lastLine(of producer: String, app: AppID) async throws(StoreFault) -> Int64 {
        let query = Query(UpdateSQL.lastLine) { $0.producer(producer, of: app) }
        return try await translated(await pool.read(query).first(Int64.init)) ?? 0
    }
}

extension Parameters {
    fileprivate mutating func producer(_ producer: String, of app: AppID) {
        int64("app", app.value)
        text("producer", producer)
    }
}
