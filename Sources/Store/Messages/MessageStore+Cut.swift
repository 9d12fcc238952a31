import Basis
import Model
import Postgres
import QueueRules

extension MessageStore {
    /// Writes messages of one app with their members and parcels, and leases the parcels that `admit` allows. A message
    /// is committed when its reply says so (P1), and each lease has read badges and tokens like any other.
    ///
    /// One transaction writes all of them. If it fails over a row, the group is tried again in halves, so that one bad
    /// row fails alone (rule 11). Waits for locked rows are bounded: a message whose rows stay locked fails as
    /// `.contended`, with nothing of it written.
    package func cut(
        _ messages: [CutMessage], _ order: CutOrder, now: WallInstant? = nil, admit: CutAdmission
    ) async -> CutResult {
        guard let app = messages.first?.message.app else { return CutResult() }
        precondition(messages.allSatisfy { $0.message.app == app }, "a group has messages of one app")
        return await cut(messages[...], order, LockTimeout.brief, now: now, admit: admit)
    }

    /// Adds the routes of inline targets before the transaction: they are for everybody, and delay nobody meanwhile.
    private func addRoutes(of messages: ArraySlice<CutMessage>) async throws(GroupFault) {
        guard let app = messages.first?.message.app else { return }
        let routes = Query.addRoutes(of: messages.map(\.message.audience), app: app)
        guard !routes.isEmpty else { return }
        let pool = pool
        _ = try await translatingGroup { () throws(PostgresError) in try await pool.run(routes) }
    }

    private func cut(
        _ messages: ArraySlice<CutMessage>, _ order: CutOrder, _ lockTimeout: Duration, now: WallInstant?,
        admit: CutAdmission
    ) async -> CutResult {
        do throws(GroupFault) {
            // The routes of one message may be too many for its app: they are added for each half anew.
            try await addRoutes(of: messages)
            let result = try await cutTogether(Array(messages), order, lockTimeout, now: now, admit: admit)
            if result.isOutdated {
                return await cutOthers(messages, result, order, lockTimeout, now: now, admit: admit)
            }
            if !result.ready.isEmpty { notifier.notify(.parcels) }
            if result.replies.contains(where: { (try? $0.get()) == .planned }) { notifier.notify(.plan) }
            return result
        } catch {
            guard error.isOverARow, messages.count > 1 else { return Self.failed(messages, error.fault) }
            let then = error.isLocked ? LockTimeout.afterBrief : lockTimeout
            return await cutHalves(messages, order, then, now: now, admit: admit)
        }
    }

    private func cutHalves(
        _ messages: ArraySlice<CutMessage>, _ order: CutOrder, _ lockTimeout: Duration, now: WallInstant?,
        admit: CutAdmission
    ) async -> CutResult {
        let middle = messages.startIndex + messages.count / 2
        var result = await cut(messages[..<middle], order, lockTimeout, now: now, admit: admit)
        result.add(await cut(messages[middle...], order, lockTimeout, now: now, admit: admit))
        return result
    }

    /// Cuts the messages of a group of which some must be checked again, without these.
    private func cutOthers(
        _ messages: ArraySlice<CutMessage>, _ outdated: CutResult, _ order: CutOrder, _ lockTimeout: Duration,
        now: WallInstant?, admit: CutAdmission
    ) async -> CutResult {
        let others = zip(messages, outdated.replies).filter { !$1.isOutdated }.map(\.0)
        guard !others.isEmpty else { return outdated }
        var result = await cut(others[...], order, lockTimeout, now: now, admit: admit)
        var replies = result.replies[...]
        result.replies = outdated.replies.map { $0.isOutdated ? $0 : replies.popFirst() ?? $0 }
        return result
    }

    private static func failed(_ messages: ArraySlice<CutMessage>, _ fault: StoreFault) -> CutResult {
        CutResult(replies: messages.map { _ in .failure(fault) })
    }

    private func cutTogether(
        _ messages: [CutMessage], _ order: CutOrder, _ lockTimeout: Duration, now: WallInstant?, admit: CutAdmission
    ) async throws(GroupFault) -> CutResult {
        let (pool, steps) = (pool, steps)
        return try await translatingGroup { () throws(PostgresError) in
            // 40P01: a registration locked the same badges in another order after all.
            try await pool.retryingConflicts { () throws(PostgresError) in
                try await pool.transaction(TransactionOptions(lockTimeout: lockTimeout)) {
                    transaction throws(PostgresError) -> CutResult in
                    var group = CutGroup(messages, order, now: now)
                    try await group.find(in: transaction)
                    guard group.writesAny, !group.result.isOutdated else {
                        await transaction.abandon()
                        return group.result
                    }
                    group.lanes = await admit(group.demand)
                    guard group.leasesAny else {
                        let answers = try await transaction.conclude(
                            group.writes(), announcing: .cutWritten, to: steps)
                        try group.takeParcels(answers)
                        return group.result
                    }
                    try group.takeParcels(try await transaction.run(group.writes()))
                    try await group.lease(in: transaction, announcingTo: steps)
                    return group.result
                }
            }
        }
    }
}

extension Query {
    /// The queries that add the routes of inline targets, each once.
    static func addRoutes(of audiences: [Audience], app: AppID) -> [Query] {
        var seen: Set<InlineTarget> = []  // lookup only
        return audiences.flatMap(\.namedRoutes).filter { seen.insert($0).inserted }.map { addRoute($0, app: app) }
    }
}
