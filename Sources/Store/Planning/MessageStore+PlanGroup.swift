import Basis
import Encodings
import Model
import Postgres

/// The result of a planner's slot for several messages.
package enum PlanGroupReply: Equatable, Sendable {
    case nothing
    /// One slice for each message, in the order of their slots.
    case planned([PlannedSlice])
    /// The same as `PlanReply.putAside`.
    case putAside(StoreFault)
}

extension MessageStore {
    /// Transactional messages that one transaction plans. More would keep the first ones waiting for the last.
    package static let plannedTogetherMax = 64

    /// Plans the next messages, as one `planSlice` after the other would at this moment. It plans several only if they
    /// are transactional and name a few installations, users or tokens, else the next slice of one. If one can't be
    /// planned as it is stored, or others have locked its row, fewer are planned at once, until it alone is put aside.
    package func planGroup(
        atMost limit: Int = plannedTogetherMax, idsMax: Int = 20_000, parcelMembersMax: Int = 5_000,
        knownFormats: [Int16], _ urgencies: PlannedUrgencies = PlannedUrgencies(), now: WallInstant? = nil
    ) async throws(StoreFault) -> PlanGroupReply {
        precondition(limit > 0 && idsMax > 0 && parcelMembersMax > 0)
        var limit = limit
        while true {
            let claimedBatch = ClaimedBatch()
            do throws(GroupFault) {
                let slices = try await planNextGroup(
                    limit, idsMax, parcelMembersMax, knownFormats, urgencies, now: now, noting: claimedBatch)
                if let slices {
                    if slices.contains(where: { !$0.routes.isEmpty }) { notifier.notify(.parcels) }
                    return slices.isEmpty ? .nothing : .planned(slices)
                }
            } catch {
                guard error.isOverARow else { throw error.fault }
                if let fewer = claimedBatch.fewer {
                    limit = fewer
                    continue
                }
            }
            let slice = try await planSlice(
                idsMax, parcelMembersMax, knownFormats, urgencies, now: now, lockTimeout: claimedBatch.lockTimeout)
            switch slice {
            case .nothing: return .nothing
            case .planned(let slice): return .planned([slice])
            case .putAside(let fault): return .putAside(fault)
            }
        }
    }

    /// Returns nil if the first message must be planned by itself; neighbours take the others meanwhile.
    private func planNextGroup(
        _ limit: Int, _ idsMax: Int, _ parcelMembersMax: Int, _ knownFormats: [Int16], _ urgencies: PlannedUrgencies,
        now: WallInstant?, noting claimedBatch: ClaimedBatch
    ) async throws(GroupFault) -> [PlannedSlice]? {
        let (pool, steps, rotation, sizes) = (pool, steps, rotation, sizes)
        return try await translatingGroup { () throws(PostgresError) in
            try await pool.retryingConflicts { () throws(PostgresError) in
                try await pool.transaction(ClaimedBatch.options) {
                    transaction throws(PostgresError) -> [PlannedSlice]? in
                    var parameters = rotation.claiming(knownFormats, urgencies, now: now)
                    parameters.int64(Int64(limit))
                    let claim = Query(PlanSQL.claimGroup, parameters)
                    let rows = try await transaction.run([Query(PlannerSQL.throughKeys), claim])[1]
                    guard rows.rowCount > 0 else { return [] }
                    claimedBatch.note(1, isUrgent: try rows.int16(0, 4) == MessageUrgency.transactional.rawValue)
                    if rows.rowCount == 1 {
                        try rotation.pass(rows, 0)
                        do throws(PostgresError) {
                            let plan = try ClaimedPlan(reading: rows)
                            urgencies.note(plan)
                            return [
                                try await plan.plan(
                                    idsMax, parcelMembersMax, sizes, in: transaction, now: now, announcingTo: steps)
                            ]
                        } catch {
                            // The caller plans it by itself, and has to find it again.
                            try rotation.giveBack(rows, 0)
                            throw error
                        }
                    }
                    var group = try PlanGroup(reading: rows, idsMax, parcelMembersMax)
                    claimedBatch.note(group.plans.count, isUrgent: true)
                    let cuts = try await group.cut(in: transaction)
                    guard !cuts.isEmpty else {
                        await transaction.abandon()
                        return nil
                    }
                    let answers = try await transaction.conclude(
                        group.writing(cuts, now: now), announcing: .sliceWritten, to: steps)
                    if let last = group.plans.last { rotation.pass(app: last.app, priority: last.priority) }
                    var report = CutReport()
                    if cuts.contains(where: { !$0.routes.isEmpty }) { try report.read(answers[1]) }
                    return try group.slices(cuts, counted: answers[0], report)
                }
            }
        }
    }
}

extension ClaimedPlan {
    /// A message that names more than this is planned by itself.
    private static let namesMax = 100

    /// Whether the plan names few targets, has not begun, and has no local hour.
    fileprivate func isSmall(_ idsMax: Int) -> Bool {
        guard let count = audience.namedCount else { return false }
        return count <= min(Self.namesMax, idsMax) && plannedThrough == 0 && local == nil
    }

    /// The names of installations if any provider will do: they are looked up together with those of other messages.
    fileprivate var plainNames: [String] {
        guard case .installations(let names) = audience.selection, audience.providers?.isEmpty ?? true else {
            return []
        }
        return names
    }

    /// Queries that only read, for this plan by itself.
    fileprivate func readings(_ idsMax: Int) -> [Query] {
        switch audience.selection {
        case .installations(let names) where plainNames.isEmpty: [query(idsMax: idsMax).query(named: names)]
        case .users(let names): query(idsMax: idsMax).queries(ofUsers: names)
        case .installations, .tokens, .all, .tags, .filter, .stale: []
        }
    }

    fileprivate func found(
        _ idsMax: Int, in answers: [ResultSet]
    ) throws(PostgresError) -> FoundMembers? {
        switch audience.selection {
        case .installations(let names) where !answers.isEmpty: try query(idsMax: idsMax).found(names, in: answers)
        case .users(let names): try query(idsMax: idsMax).found(users: names, in: answers)
        case .installations, .tokens, .all, .tags, .filter, .stale: nil
        }
    }
}

/// Claimed plans that are carried out together: the first ones, as long as each is small and can be read.
private struct PlanGroup: Sendable {
    private(set) var plans: [ClaimedPlan] = []
    private let idsMax: Int
    private let parcelMembersMax: Int

    init(reading rows: ResultSet, _ idsMax: Int, _ parcelMembersMax: Int) throws(PostgresError) {
        self.idsMax = idsMax
        self.parcelMembersMax = parcelMembersMax
        for row in 0..<rows.rowCount {
            do {
                let plan = try ClaimedPlan(reading: rows, at: row)
                guard plan.isSmall(idsMax) else { break }
                plans.append(plan)
            } catch {
                guard row > 0 else { throw error }
                break
            }
        }
    }

    /// Cuts the plans in two round trips at most. A plan whose message others have locked leaves the group. So do the
    /// plans behind one that goes on after this slice, and those behind a slice's worth of members.
    mutating func cut(in transaction: PostgresTransaction) async throws(PostgresError) -> [SliceCut] {
        guard !plans.isEmpty else { return [] }
        var queries = [lock, plainly]
        var spans: [Range<Int>] = []
        for plan in plans {
            let start = queries.count
            queries += plan.readings(idsMax)
            spans.append(start..<queries.count)
        }
        let answers = try await transaction.run(queries)
        let free = Set(try answers[0].uuidColumn(0))
        var found: [FoundMembers?] = []
        var kept: [ClaimedPlan] = []
        var (next, ids, goesOn) = (0, 0, false)
        for (plan, span) in zip(plans, spans) where !goesOn {
            let own = next..<next + plan.plainNames.count
            next = own.upperBound
            guard free.contains(plan.message) else { continue }
            let members =
                own.isEmpty
                ? try plan.found(idsMax, in: Array(answers[span]))
                : try FoundMembers(
                    named: answers[1], own, before: 0, plannedThrough: Int64(own.count), isLast: true)
            kept.append(plan)
            found.append(members)
            ids += members?.ids.count ?? 0
            goesOn = ids >= idsMax || members?.isLast == false
        }
        plans = kept
        return try await withTargets(found, in: transaction).map { SliceCut($0, parcelMembersMax: parcelMembersMax) }
    }

    private var lock: Query { Query(PlanSQL.lockGroup) { $0.uuidArray(plans.map(\.message)) } }

    private var plainly: Query {
        var asked: [(plan: ClaimedPlan, name: String, place: Int64)] = []
        for plan in plans {
            for (place, name) in plan.plainNames.enumerated() { asked.append((plan, name, Int64(place + 1))) }
        }
        return Query(AudienceSQL.namedGroup) {
            $0.int64Array(asked.map(\.plan.app))
            $0.int16Array(asked.map(\.plan.kind))
            $0.int64Array(asked.map(\.plan.horizon))
            $0.textArray(asked.map(\.name))
            $0.int64Array(asked.map(\.place))
        }
    }

    /// Looks up tokens last, because that query also writes the inline targets.
    private func withTargets(
        _ found: [FoundMembers?], in transaction: PostgresTransaction
    ) async throws(PostgresError) -> [FoundMembers] {
        var queries: [Query] = []
        for plan in plans {
            if case .tokens(let targets) = plan.audience.selection {
                queries.append(plan.query(idsMax: idsMax).query(inline: targets))
            }
        }
        var answers = queries.isEmpty ? [] : try await transaction.run(queries)[...]
        var whole: [FoundMembers] = []
        for members in found {
            if let members {
                whole.append(members)
            } else if let rows = answers.popFirst() {
                whole.append(try FoundMembers(inline: rows))
            }
        }
        return whole
    }

    /// The messages' own rows come first, in the order of their ids, and their reasons after, as in every settle.
    func writing(_ cuts: [SliceCut], now: WallInstant?) -> [Query] {
        let order = plans.indices.sorted { plans[$0].message < plans[$1].message }
        func ended(_ state: TerminalState) -> [Int64] { order.map { cuts[$0].found.ended(state) } }
        let messages = order.map { plans[$0].message }
        let count = Query(PlanSQL.countGroup) {
            $0.uuidArray(messages)
            $0.int64Array(order.map { Int64(cuts[$0].members) })
            $0.int64Array(ended(.rejected))
            $0.int64Array(ended(.unregistered))
            $0.int64Array(ended(.suppressed))
            $0.instant(now)
            $0.boolArray(order.map { cuts[$0].found.isLast })
        }
        let early = order.flatMap { plans[$0].early(cuts[$0].found, now: now) }
        let end = Query(PlanSQL.endGroup) {
            $0.uuidArray(order.filter { cuts[$0].found.isLast }.map { plans[$0].message })
        }
        let goingOn = order.filter { !cuts[$0].found.isLast }.map { plans[$0].advancing(cuts[$0], now: now) }
        let unhurried = cuts.allSatisfy(\.isUnhurried) ? [Query(PlanSQL.soonOnDisk)] : []
        return [count] + parcels(cuts, now: now) + early + [end] + goingOn + unhurried
    }

    private func parcels(_ cuts: [SliceCut], now: WallInstant?) -> [Query] {
        var owners: [ClaimedPlan] = []
        for (plan, cut) in zip(plans, cuts) { owners += Array(repeating: plan, count: cut.routes.count) }
        guard !owners.isEmpty else { return [] }
        return [
            Query(PlanSQL.cutGroup) {
                $0.uuidArray(owners.map(\.message))
                $0.int64Array(owners.map(\.app))
                $0.int16Array(owners.map(\.format))
                $0.int16Array(owners.map(\.priority))
                $0.instantArray(owners.map(\.expiresAt))
                $0.instant(now)
                $0.int64Array(cuts.flatMap(\.routes))
                $0.bytesArray(cuts.flatMap(\.memberLists))
                $0.int32Array(cuts.flatMap(\.counts))
                $0.int16Array(owners.map(\.service.rawValue))
            }
        ]
    }

    /// - Parameter counted: the answer to `PlanSQL.countGroup`, in no order.
    func slices(
        _ cuts: [SliceCut], counted: ResultSet, _ report: CutReport
    ) throws(PostgresError) -> [PlannedSlice] {
        var rows: [UniversalID: Int] = [:]  // lookup only
        for row in 0..<counted.rowCount { rows[try counted.uuid(row, 1)] = row }
        var slices: [PlannedSlice] = []
        for (plan, cut) in zip(plans, cuts) {
            guard let row = rows[plan.message] else {
                throw .unexpectedShape(statement: PlanSQL.countGroup.name, column: 1)
            }
            slices.append(try plan.slice(cut, counted: counted, row, report))
        }
        return slices
    }
}
