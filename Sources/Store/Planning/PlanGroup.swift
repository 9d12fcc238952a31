import Basis
import Model
import Postgres
import QueueRules

extension ClaimedPlan {
    /// A message that names more than this is planned by itself.
    private static let namesMax = 100

    /// Whether the plan names few targets, has not begun, and has no local hour.
    fileprivate func isSmall(_ idsMax: Int) -> Bool {
        guard let count = audience.namedCount else { return false }
        return count <= min(Self.namesMax, idsMax) && plannedThrough == 0 && local == nil
    }

    /// The installations that it names: they are looked up together with those of other messages.
    fileprivate var installations: [String] {
        if case .installations(let names) = audience.selection { names } else { [] }
    }

    /// Queries that only read, for this plan by itself.
    fileprivate func readings(_ idsMax: Int) -> [Query] {
        if case .users(let names) = audience.selection { query(idsMax: idsMax).queries(ofUsers: names) } else { [] }
    }

    /// Returns nil if the members are looked up last.
    ///
    /// - Parameters:
    ///   - answers: the answers to `readings`.
    ///   - named: the answer for the installations of all plans, of which these are its `own`.
    fileprivate func found(
        _ idsMax: Int, in answers: [ResultSet], named: ResultSet, _ own: Range<Int>
    ) throws(PostgresError) -> FoundMembers? {
        switch audience.selection {
        case .installations(let names): try query(idsMax: idsMax).found(names, in: named, own)
        case .users(let names): try query(idsMax: idsMax).found(users: names, in: answers)
        case .tokens, .all, .tags, .filter, .stale: nil
        }
    }
}

/// Claimed plans that are carried out in one transaction: one plan by itself, or the first ones as long as each is small
/// and can be read. Empty: the first of several is not small.
struct PlanGroup: Sendable {
    private(set) var plans: [ClaimedPlan] = []
    private let idsMax: Int
    private let parcelMembersMax: Int
    /// Nothing else was claimed, so the plan may be of any size.
    private let isSingle: Bool

    init(reading rows: ResultSet, _ idsMax: Int, _ parcelMembersMax: Int) throws(PostgresError) {
        self.idsMax = idsMax
        self.parcelMembersMax = parcelMembersMax
        isSingle = rows.rowCount == 1
        for row in 0..<rows.rowCount {
            do {
                let plan = try ClaimedPlan(reading: rows, at: row)
                guard isSingle || plan.isSmall(idsMax) else { break }
                plans.append(plan)
            } catch {
                guard row > 0 else { throw error }
                break
            }
        }
    }

    /// Cuts the next slice of each plan. Several plans take two round trips at most. A plan whose message others have
    /// locked leaves the group. So do the plans behind one that goes on after this slice, and those behind a slice's
    /// worth of members.
    mutating func cut(
        _ sizes: SliceSizes, in transaction: PostgresTransaction
    ) async throws(PostgresError) -> [SliceCut] {
        if isSingle { return [try await plans[0].cut(idsMax, parcelMembersMax, sizes, in: transaction)] }
        var queries = [lock, AudienceQuery.query(named: named)]
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
            let own = next..<next + plan.installations.count
            next = own.upperBound
            guard free.contains(plan.message) else { continue }
            let members = try plan.found(idsMax, in: Array(answers[span]), named: answers[1], own)
            kept.append(plan)
            found.append(members)
            ids += members?.ids.count ?? 0
            goesOn = ids >= idsMax || members?.isLast == false
        }
        plans = kept
        return try await withTargets(found, in: transaction).map { SliceCut($0, parcelMembersMax: parcelMembersMax) }
    }

    private var lock: Query { Query(PlanSQL.lock) { $0.uuidArray(plans.map(\.message)) } }

    private var named: [AudienceQuery.NamedInstallation] {
        plans.flatMap { plan in plan.query(idsMax: idsMax).named(plan.installations) }
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

    /// The messages' own rows come first, in the order of their ids, and their reasons after: every settle takes them in
    /// this order.
    func writing(_ cuts: [SliceCut], now: WallInstant?) -> [Query] {
        let order = plans.indices.sorted { plans[$0].message < plans[$1].message }
        func ended(_ state: TerminalState) -> [Int64] { order.map { cuts[$0].found.ended(state) } }
        let messages = order.map { plans[$0].message }
        let count = Query(PlanSQL.count) {
            $0.uuidArray(messages)
            $0.int64Array(order.map { Int64(cuts[$0].members) })
            $0.int64Array(ended(.rejected))
            $0.int64Array(ended(.unregistered))
            $0.int64Array(ended(.suppressed))
            $0.instant(now)
            $0.boolArray(order.map { cuts[$0].found.isLast })
        }
        let early = order.flatMap { plans[$0].early(cuts[$0].found, now: now) }
        let ending = order.filter { cuts[$0].found.isLast }.map { plans[$0].message }
        let end = ending.isEmpty ? [] : [Query(PlanSQL.end) { $0.uuidArray(ending) }]
        let goingOn = order.filter { !cuts[$0].found.isLast }.map { plans[$0].advancing(cuts[$0], now: now) }
        let unhurried = cuts.allSatisfy(\.isUnhurried) ? [Query(PlanSQL.soonOnDisk)] : []
        return [count] + parcels(cuts, now: now) + early + end + goingOn + unhurried
    }

    private func parcels(_ cuts: [SliceCut], now: WallInstant?) -> [Query] {
        var owners: [ClaimedPlan] = []
        for (plan, cut) in zip(plans, cuts) { owners += Array(repeating: plan, count: cut.routes.count) }
        guard !owners.isEmpty else { return [] }
        return [
            Query(PlanSQL.cut) {
                $0.uuidArray(owners.map(\.message))
                $0.int64Array(owners.map(\.app))
                $0.int16Array(owners.map(\.format))
                $0.int16Array(owners.map(\.priority))
                $0.instantArray(zip(plans, cuts).flatMap { $0.expiries(of: $1) })
                $0.instant(now)
                $0.int64Array(cuts.flatMap(\.routes))
                $0.bytesArray(cuts.flatMap(\.memberLists))
                $0.int32Array(cuts.flatMap(\.counts))
                $0.int16Array(owners.map(\.service.rawValue))
                $0.instantArray(cuts.flatMap(\.dueAt))
            }
        ]
    }

    /// - Parameter answers: the answers to `writing`.
    func slices(_ cuts: [SliceCut], _ answers: [ResultSet]) throws(PostgresError) -> [PlannedSlice] {
        var states: [UniversalID: Int16] = [:]  // lookup only
        for row in 0..<answers[0].rowCount { states[try answers[0].uuid(row, 1)] = try answers[0].int16(row, 0) }
        var report = CutReport()
        if cuts.contains(where: { !$0.routes.isEmpty }) { try report.read(answers[1]) }
        var slices: [PlannedSlice] = []
        for (plan, cut) in zip(plans, cuts) {
            guard let state = states[plan.message] else {
                throw .unexpectedShape(statement: PlanSQL.count.name, column: 1)
            }
            slices.append(plan.slice(cut, counted: state, report))
        }
        return slices
    }
}
