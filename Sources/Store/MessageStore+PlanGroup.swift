import Encodings
import Postgres
import PushModel

/// What a planner's turn at several messages did.
package enum PlanGroupReply: Equatable, Sendable {
    case nothing
    /// One for each, in the order of their turns.
    case planned([PlannedSlice])
    /// As `PlanReply.putAside`.
    case putAside(StoreFault)
}

extension MessageStore {
    /// Transactional messages that one transaction plans. More would keep the first ones waiting for the last.
    package static let plannedTogetherMax = 64

    /// Plans the messages whose turn it is, as one `planSlice` after the other would at this moment: several only of
    /// transactional ones that name a few installations, else the next slice of one.
    package func planGroup(
        atMost limit: Int = plannedTogetherMax, idsMax: Int = 20_000, parcelMembersMax: Int = 5_000,
        knownFormats: [Int16], now: WallInstant? = nil
    ) async throws(StoreFault) -> PlanGroupReply {
        precondition(limit > 0 && idsMax > 0 && parcelMembersMax > 0)
        let (pool, steps) = (pool, steps)
        do throws(StoreFault) {
            let slices = try await translating { () throws(PostgresError) in
                try await pool.retryingConflicts { () throws(PostgresError) in
                    try await pool.transaction { transaction throws(PostgresError) -> [PlannedSlice] in
                        let claim = Query(PlanSQL.claimGroup) {
                            $0.int16Array(TopicService.allFormats(ofContents: knownFormats))
                            $0.instant(now)
                            $0.int64(Int64(limit))
                        }
                        let rows = try await transaction.run([Query(PlannerSQL.throughKeys), claim])[1]
                        guard rows.rowCount > 0 else { return [] }
                        let group = try PlanGroup(reading: rows, idsMax, parcelMembersMax)
                        guard group.turns.count > 1 else {
                            let turn = try PlanTurn(reading: rows)
                            return [
                                try await turn.plan(
                                    idsMax, parcelMembersMax, in: transaction, now: now, announcingTo: steps)
                            ]
                        }
                        let cuts = try await group.cut(in: transaction)
                        let answers = try await transaction.conclude(
                            group.writing(cuts, now: now), announcing: .sliceWritten, to: steps)
                        return try group.slices(cuts, counted: answers[0])
                    }
                }
            }
            guard !slices.isEmpty else { return .nothing }
            if slices.contains(where: { !$0.routes.isEmpty }) { bell.ring(.parcels) }
            return .planned(slices)
        } catch {
            switch error {
            // One by one, so that the one that it is about is put aside alone.
            case .conflict, .invalid, .damaged:
                let reply = try await planSlice(
                    idsMax: idsMax, parcelMembersMax: parcelMembersMax, knownFormats: knownFormats, now: now)
                switch reply {
                case .nothing: return .nothing
                case .planned(let slice): return .planned([slice])
                case .putAside(let fault): return .putAside(fault)
                }
            case .unavailable, .contended, .commitUnknown, .unknownApp, .cancelled: throw error
            }
        }
    }
}

/// Claimed plans that are carried out together: the first ones, as far as each is a small one.
private struct PlanGroup: Sendable {
    private(set) var turns: [PlanTurn] = []
    private var names: [[String]] = []
    private let parcelMembersMax: Int

    /// A message that names more is planned by itself.
    private static let namesMax = 100

    init(reading rows: ResultSet, _ idsMax: Int, _ parcelMembersMax: Int) throws(PostgresError) {
        self.parcelMembersMax = parcelMembersMax
        guard rows.rowCount > 1 else { return }
        for row in 0..<rows.rowCount {
            let turn = try PlanTurn(reading: rows, at: row)
            guard case .installations(let names) = turn.audience.selection, names.count <= min(Self.namesMax, idsMax),
                turn.audience.providers?.isEmpty ?? true, turn.plannedThrough == 0, turn.local == nil
            else { break }
            turns.append(turn)
            self.names.append(names)
        }
    }

    /// One look for all of them.
    func cut(in transaction: PostgresTransaction) async throws(PostgresError) -> [SliceCut] {
        var asked: [(turn: PlanTurn, name: String, place: Int64)] = []
        for (turn, names) in zip(turns, names) {
            for (place, name) in names.enumerated() { asked.append((turn, name, Int64(place + 1))) }
        }
        let query = Query(AudienceSQL.namedGroup) {
            $0.int64Array(asked.map(\.turn.app))
            $0.int16Array(asked.map(\.turn.kind))
            $0.int64Array(asked.map(\.turn.horizon))
            $0.textArray(asked.map(\.name))
            $0.int64Array(asked.map(\.place))
        }
        let rows = try await transaction.run([query])[0]
        guard rows.rowCount == asked.count else {
            throw .unexpectedShape(statement: AudienceSQL.namedGroup.name, column: 0)
        }
        var cuts: [SliceCut] = []
        var start = 0
        for names in names {
            let end = start + names.count
            let found = try FoundMembers(
                named: rows, start..<end, before: 0, plannedThrough: Int64(names.count), isLast: true)
            cuts.append(SliceCut(found, parcelMembersMax: parcelMembersMax))
            start = end
        }
        return cuts
    }

    /// The messages' own rows come first, in the order of their ids, and their reasons after: as in every settle.
    func writing(_ cuts: [SliceCut], now: WallInstant?) -> [Query] {
        let order = turns.indices.sorted { turns[$0].message < turns[$1].message }
        func ended(_ state: TerminalState) -> [Int64] { order.map { cuts[$0].found.ended(state) } }
        let messages = order.map { turns[$0].message }
        let count = Query(PlanSQL.countGroup) {
            $0.uuidArray(messages)
            $0.int64Array(order.map { Int64(cuts[$0].members) })
            $0.int64Array(ended(.rejected))
            $0.int64Array(ended(.unregistered))
            $0.int64Array(ended(.suppressed))
            $0.instant(now)
        }
        let early = order.flatMap { turns[$0].early(cuts[$0].found, now: now) }
        let end = Query(PlanSQL.endGroup) { $0.uuidArray(messages) }
        return [count] + early + parcels(cuts, now: now) + [end]
    }

    private func parcels(_ cuts: [SliceCut], now: WallInstant?) -> [Query] {
        var owners: [PlanTurn] = []
        for (turn, cut) in zip(turns, cuts) { owners += Array(repeating: turn, count: cut.routes.count) }
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
            }
        ]
    }

    /// - Parameter counted: in no order.
    func slices(_ cuts: [SliceCut], counted: ResultSet) throws(PostgresError) -> [PlannedSlice] {
        var rows: [UniversalID: Int] = [:]  // lookup only
        for row in 0..<counted.rowCount { rows[try counted.uuid(row, 1)] = row }
        var slices: [PlannedSlice] = []
        for (turn, cut) in zip(turns, cuts) {
            guard let row = rows[turn.message] else {
                throw .unexpectedShape(statement: PlanSQL.countGroup.name, column: 1)
            }
            slices.append(try turn.slice(cut, counted: counted, row))
        }
        return slices
    }
}
