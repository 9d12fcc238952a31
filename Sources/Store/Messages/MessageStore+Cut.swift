import Basis
import Model
import Postgres

extension MessageStore {
    /// Writes messages of one app with their members and parcels, and leases the parcels that `admit` allows. A message
    /// is committed when its reply says so (P1), and each lease has read badges and tokens like any other.
    ///
    /// One transaction writes all of them. If it fails over a row, the group is tried again in halves, so that one bad
    /// row fails alone (rule 11). Waits for locked rows are bounded: a message whose rows stay locked fails as
    /// `.contended`, with nothing of it written.
    package func cut(
        _ messages: [CutMessage], _ order: CutOrder, now: WallInstant? = nil, admit: @escaping CutAdmission
    ) async -> CutResult {
        guard let app = messages.first?.message.app else { return CutResult() }
        precondition(messages.allSatisfy { $0.message.app == app }, "a group has messages of one app")
        var run = CutRun(store: self, order: order, now: now, admit: admit)
        return await run.cut(messages[...], LockTimeout.brief)
    }

    /// Frees the parcels of messages whose cut failed with `.commitUnknown`. If they exist, this process holds their
    /// leases without knowing it, and they would wait until those expire.
    ///
    /// - Returns: the number of parcels that any process may lease now.
    package func release(_ messages: [MessageID], of owner: ProcessID) async throws(StoreFault) -> Int {
        let query = Query(CutSQL.release) {
            $0.uuidArray("messages", messages.map(\.value))
            $0.uuid("owner", owner.value)
        }
        let count = try await translated(await pool.run(query).affectedRows)
        if count > 0 { notifier.notify(.parcels) }
        return count
    }
}

/// One call of `MessageStore.cut`.
private struct CutRun: Sendable {
    let store: MessageStore
    let order: CutOrder
    let now: WallInstant?
    let admit: CutAdmission
    /// How often it may still meet a locked row: often enough to single out two messages of a hundred. The app's other
    /// messages wait meanwhile.
    var locksLeft = 16

    mutating func cut(_ messages: ArraySlice<CutMessage>, _ lockTimeout: Duration) async -> CutResult {
        guard locksLeft > 0 else { return CutResult(replies: messages.map { _ in .failure(.contended) }) }
        do throws(GroupFault) {
            let result = try await cutTogether(Array(messages), lockTimeout)
            if result.isOutdated { return await cutOthers(messages, result, lockTimeout) }
            if !result.written.ready.isEmpty { store.notifier.notify(.parcels) }
            if result.replies.contains(where: { (try? $0.get()) == .planned }) { store.notifier.notify(.plan) }
            return result
        } catch {
            if error.isLocked { locksLeft -= 1 }
            guard error.isOverARow, messages.count > 1 else {
                return CutResult(replies: messages.map { _ in .failure(error.fault) })
            }
            let then = error.isLocked ? LockTimeout.afterBrief : lockTimeout
            let middle = messages.startIndex + messages.count / 2
            var result = await cut(messages[..<middle], then)
            result.add(await cut(messages[middle...], then))
            return result
        }
    }

    /// Cuts the messages of a group of which some must be checked again, without these.
    private mutating func cutOthers(
        _ messages: ArraySlice<CutMessage>, _ outdated: CutResult, _ lockTimeout: Duration
    ) async -> CutResult {
        let others = zip(messages, outdated.replies).filter { !$1.isOutdated }.map(\.0)
        guard !others.isEmpty else { return outdated }
        var result = await cut(others[...], lockTimeout)
        var replies = result.replies[...]
        result.replies = outdated.replies.map { $0.isOutdated ? $0 : replies.popFirst() ?? $0 }
        return result
    }

    private func cutTogether(_ messages: [CutMessage], _ lockTimeout: Duration) async throws(GroupFault) -> CutResult {
        let pool = store.pool
        let routes = Query.addRoutes(of: messages.map(\.message.audience), app: messages[0].message.app)
        let options = TransactionOptions(lockTimeout: lockTimeout)
        return try await translatingGroup { () throws(PostgresError) in
            // Routes of inline targets are added before the transaction: they are for everybody, and delay nobody
            // meanwhile. One message may name too many for its app, so they are added for each half anew.
            if !routes.isEmpty { _ = try await pool.run(routes, transaction: options) }
            // 40P01: a registration locked the same badges in another order after all.
            return try await pool.retryingTransaction(options) { transaction throws(PostgresError) -> CutResult in
                var group = CutGroup(messages, order, now: now)
                try await group.find(in: transaction)
                var result = CutResult(replies: group.replies.map { .success($0) })
                guard group.writesAny else { return await transaction.abandon(returning: result) }
                result.written = try await group.write(in: transaction, admit: admit)
                return result
            }
        }
    }
}

extension Query {
    /// The queries that add the routes of inline targets, each once.
    static func addRoutes(of audiences: [Audience], app: AppID) -> [Query] {
        var seen: Set<InlineTarget> = []  // lookup only
        return audiences.flatMap(\.inlineTargets).map(\.withoutToken).filter { seen.insert($0).inserted }.map { route in
            Query(AppSQL.addRoute) {
                $0.int64("app", app.value)
                $0.int16("provider", route.provider.rawValue)
                $0.int16("environment", route.environment.rawValue)
                $0.text("topic", route.topic)
            }
        }
    }
}
