import Basis
import Model
import Postgres

extension ClaimedPlan {
    /// A message that names more than this is planned by itself.
    private static let namesMax = 100

    /// Whether the plan names few targets, has not begun, and has no local hour.
    fileprivate func isSmall(_ idsMax: Int) -> Bool {
        guard let count = audience.namedCount else { return false }
        return count <= min(Self.namesMax, idsMax) && plannedThrough == 0 && local == nil
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
        (self.idsMax, self.parcelMembersMax, isSingle) = (idsMax, parcelMembersMax, rows.rowCount == 1)
        for place in 0..<rows.rowCount {
            do {
                var row = rows.row(place)
                let plan = try ClaimedPlan(&row)
                guard isSingle || plan.isSmall(idsMax) else { break }
                plans.append(plan)
            } catch {
                guard place > 0 else { throw error }
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
        let readings = NamedReadings(plans.map { $0.query(idsMax: idsMax) })
        let lock = Query(PlanSQL.lock) { $0.uuidArray("messages", plans.map(\.message)) }
        let answers = try await transaction.run([lock] + readings.queries)
        let free = Set(try answers[0].map(UniversalID.init))
        let all = try readings.found(Array(answers.dropFirst()))
        var kept: [(plan: ClaimedPlan, found: FoundMembers?)] = []
        var (ids, goesOn) = (0, false)
        for (plan, found) in zip(plans, all) where !goesOn && free.contains(plan.message) {
            kept.append((plan, found))
            ids += found?.ids.count ?? 0
            goesOn = ids >= idsMax || found?.isLast == false
        }
        plans = kept.map(\.plan)
        return try await withTargets(kept.map(\.found), in: transaction).map {
            SliceCut($0, parcelMembersMax: parcelMembersMax)
        }
    }

    /// Finds the members of plans that name tokens. The queries write the targets, so they need the messages' locks.
    private func withTargets(
        _ found: [FoundMembers?], in transaction: PostgresTransaction
    ) async throws(PostgresError) -> [FoundMembers] {
        let queries = plans.filter(\.audience.isInline).map { $0.query(idsMax: idsMax).writingTargets }
        var answers = queries.isEmpty ? [] : try await transaction.run(queries)[...]
        return try found.map { members throws(PostgresError) in
            if let members { return members }
            return FoundMembers(tokens: try answers.popFirst()?.map(Member.init) ?? [])
        }
    }

    /// The messages' own rows come first, in the order of their ids, and their reasons after: every settle takes them in
    /// this order.
    func writing(_ cuts: [SliceCut], now: WallInstant?) -> [Query] {
        let order = zip(plans, cuts).sorted { $0.0.message < $1.0.message }
        func ended(_ state: TerminalState) -> [Int64] { order.map { $1.found.ended(state) } }
        let count = Query(PlanSQL.count) {
            $0.uuidArray("messages", order.map(\.0.message))
            $0.int64Array("members", order.map { Int64($1.members) })
            $0.int64Array("rejected", ended(.rejected))
            $0.int64Array("unregistered", ended(.unregistered))
            $0.int64Array("suppressed", ended(.suppressed))
            $0.instant("now", now)
            $0.boolArray("are_last", order.map(\.1.found.isLast))
        }
        let early = order.flatMap { $0.early($1.found, now: now) }
        let ending = order.filter(\.1.found.isLast).map(\.0.message)
        let end = ending.isEmpty ? [] : [Query(PlanSQL.end) { $0.uuidArray("messages", ending) }]
        let goingOn = order.filter { !$1.found.isLast }.map { $0.advancing($1, now: now) }
        let unhurried = cuts.allSatisfy(\.isUnhurried) ? [Query(PlanSQL.soonOnDisk)] : []
        return [count] + parcels(cuts, now: now) + early + end + goingOn + unhurried
    }

    private func parcels(_ cuts: [SliceCut], now: WallInstant?) -> [Query] {
        let owners = zip(plans, cuts).flatMap { Array(repeating: $0, count: $1.routes.count) }
        guard !owners.isEmpty else { return [] }
        return [
            Query(PlanSQL.cut) {
                $0.uuidArray("messages", owners.map(\.message))
                $0.int64Array("apps", owners.map(\.app))
                $0.int16Array("formats", owners.map(\.format))
                $0.int16Array("priorities", owners.map(\.priority))
                $0.instantArray("expiries", zip(plans, cuts).flatMap { $0.expiries(of: $1) })
                $0.instant("now", now)
                $0.int64Array("routes", cuts.flatMap(\.routes))
                $0.bytesArray("members", cuts.flatMap(\.memberLists))
                $0.int32Array("member_counts", cuts.flatMap(\.counts))
                $0.int16Array("services", owners.map(\.service.rawValue))
                $0.instantArray("sent_at", cuts.flatMap(\.dueAt))
            }
        ]
    }

    /// - Parameter answers: the answers to `writing`.
    func slices(_ cuts: [SliceCut], _ answers: [ResultSet]) throws(PostgresError) -> [PlannedSlice] {
        var states: [UniversalID: MessageState] = [:]  // lookup only
        let counted = try answers[0].map { row throws(PostgresError) -> (UniversalID, MessageState) in
            (try row.uuid(), try row.stored())
        }
        for (message, state) in counted { states[message] = state }
        let report = try CutReport(cuts.contains { !$0.routes.isEmpty } ? answers[1] : nil)
        var slices: [PlannedSlice] = []
        for (plan, cut) in zip(plans, cuts) {
            guard let state = states[plan.message] else {
                throw .unexpectedShape(statement: PlanSQL.count.name, column: 0)
            }
            slices.append(plan.slice(cut, counted: state, report))
        }
        return slices
    }
}
