import Basis
import Encodings
import Model
import Postgres
import QueueRules
import Synchronization

/// The result of a planner's slot.
package enum PlanReply: Equatable, Sendable {
    /// No message waits for a planner, or other planners are working on all of them.
    case nothing
    case planned(PlannedSlice)
    /// The claimed message can't be planned as it is stored. It comes again later, so that the others go on; the fault
    /// names it.
    case putAside(StoreFault)
}

/// One slice of one message's audience, cut into parcels.
package struct PlannedSlice: Equatable, Sendable {
    package let message: MessageID
    package let app: AppID
    /// Routes with new parcels, ready or not. Rising.
    package let routes: [RouteID]
    /// Routes with parcels that may be leased now. By rising route.
    package let ready: [ReadyRoute]
    /// Some parcels are rate-limited.
    package let waitsForRate: Bool
    /// Members of the new parcels.
    package let members: Int
    /// The audience is known from here on.
    package let isPlanned: Bool
    /// Nothing is left to send: the message is over.
    package let isFinished: Bool
}

extension MessageStore {
    /// Cuts the next slice of the next message, in one transaction.
    ///
    /// Members are frozen here. One read covers an id range over all routes, so that a registration that changes its
    /// route meanwhile can't be in two parcels.
    package func planSlice(
        idsMax: Int = 20_000, parcelMembersMax: Int = 5_000, knownFormats: [Int16], now: WallInstant? = nil
    ) async throws(StoreFault) -> PlanReply {
        try await planSlice(idsMax, parcelMembersMax, knownFormats, PlannedUrgencies(), now: now, lockTimeout: nil)
    }

    /// - Parameter lockTimeout: the longest wait for a row that others have locked. Then the message is put aside for a
    ///   moment. nil: the limit of any statement.
    func planSlice(
        _ idsMax: Int, _ parcelMembersMax: Int, _ knownFormats: [Int16], _ urgencies: PlannedUrgencies,
        now: WallInstant?, lockTimeout: Duration?
    ) async throws(StoreFault) -> PlanReply {
        precondition(idsMax > 0 && parcelMembersMax > 0)
        let options = TransactionOptions(lockTimeout: lockTimeout)
        let (pool, steps, rotation, sizes) = (pool, steps, rotation, sizes)
        let atWork = ClaimedRow<MessageID>()
        do throws(StoreFault) {
            let slice = try await translating { () throws(PostgresError) in
                try await pool.retryingConflicts { () throws(PostgresError) in
                    try await pool.transaction(options) { transaction throws(PostgresError) -> PlannedSlice? in
                        let claim = Query(PlanSQL.claim, rotation.claiming(knownFormats, urgencies, now: now))
                        let row = try await transaction.run([Query(PlannerSQL.throughKeys), claim])[1]
                        atWork.note(row.rowCount == 1 ? MessageID(try row.uuid(0, 0)) : nil)
                        guard row.rowCount == 1 else { return nil }
                        try rotation.pass(row, 0)
                        let plan = try ClaimedPlan(reading: row)
                        urgencies.note(plan)
                        return try await plan.plan(
                            idsMax, parcelMembersMax, sizes, in: transaction, now: now, announcingTo: steps)
                    }
                }
            }
            guard let slice else { return .nothing }
            if !slice.routes.isEmpty { notifier.notify(.parcels) }
            return .planned(slice)
        } catch {
            let isLocked = error == .contended && lockTimeout != nil
            guard let message = isLocked ? atWork.row : atWork.blamed(for: error) else { throw error }
            try await putAside(message, for: isLocked ? lockedPutAsideFor : putAsideFor, now: now)
            return .putAside(error.about("plan of message \(message.value.text)"))
        }
    }

    private func putAside(
        _ message: MessageID, for length: Duration, now: WallInstant?
    ) async throws(StoreFault) {
        let query = Query(PlanSQL.putAside) {
            $0.uuid(message.value)
            $0.instant(now)
            $0.int64(length.wholeMicroseconds)
        }
        let pool = pool
        _ = try await translating { () throws(PostgresError) in try await pool.run(query) }
    }
}

/// The app whose message was planned last, for each urgency. The apps take turns, from the next one on; each process
/// has its own rotation.
///
/// A single plan advances the rotation when it is claimed. Concurrent planners then get the next app's plan, and a plan
/// that can't be carried out is put aside without keeping the slot. A group advances it when it is planned, because a
/// group that fails is tried again with fewer.
final class PlanRotation: Sendable {
    private struct Last {
        var transactional: Int64 = -1
        var bulk: Int64 = -1
    }

    private let last = Mutex(Last())

    /// The parameters of `PlanSQL.claim`.
    func claiming(_ knownFormats: [Int16], _ urgencies: PlannedUrgencies, now: WallInstant?) -> Parameters {
        let last = last.withLock { $0 }
        var parameters = Parameters()
        parameters.int16Array(knownFormats)
        parameters.instant(now)
        parameters.int64(last.transactional)
        parameters.int64(last.bulk)
        parameters.bool(!urgencies.transactionalAlone)
        return parameters
    }

    /// - Parameter claimed: rows as `ClaimedPlan` reads them.
    func pass(_ claimed: ResultSet, _ row: Int) throws(PostgresError) {
        pass(app: try claimed.int64(row, 2), priority: try claimed.int16(row, 4))
    }

    /// Gives the app its slot once more.
    func giveBack(_ claimed: ResultSet, _ row: Int) throws(PostgresError) {
        pass(app: try claimed.int64(row, 2) - 1, priority: try claimed.int16(row, 4))
    }

    func pass(app: Int64, priority: Int16) {
        last.withLock { last in
            if priority == MessageUrgency.transactional.rawValue { last.transactional = app } else { last.bulk = app }
        }
    }
}

/// A claimed plan: its message, and how far it has been planned.
struct ClaimedPlan: Sendable {
    let message: UniversalID
    let plannedThrough: Int64
    let app: Int64
    let format: Int16
    let service: TopicService
    let priority: Int16
    let kind: Int16
    let horizon: Int64
    let expiresAt: WallInstant
    /// The message's due time, or else the time of its acceptance.
    let sentFrom: WallInstant
    let audience: Audience
    /// nil: the message is due everywhere at the same instant.
    let local: LocalSlice?
    /// The number of slices cut before this one.
    let slices: Int32

    init(reading row: ResultSet, at place: Int = 0) throws(PostgresError) {
        message = try row.uuid(place, 0)
        plannedThrough = try row.int64(place, 1)
        app = try row.int64(place, 2)
        format = try row.int16(place, 3)
        priority = try row.int16(place, 4)
        kind = try row.int16(place, 5)
        horizon = try row.int64(place, 6)
        expiresAt = try row.instant(place, 7)
        guard let stored = try row.bytesOrNil(place, 8), let audience = AudienceText.decode(stored) else {
            throw .unexpectedShape(statement: "plan_claim", column: 8)
        }
        self.audience = audience
        sentFrom = try row.instant(place, 9)
        if let inUTC = try row.instantOrNil(place, 11) {
            let sending = LocalSending(hour: LocalHour(inUTC: inUTC), sendsPassed: try row.bool(place, 12))
            local = LocalSlice(sending, app: app, acceptedAt: try row.instant(place, 10))
        } else {
            local = nil
        }
        slices = try row.int32(place, 13)
        guard let pushType = PushType(rawValue: try row.int16(place, 14)) else {
            throw .unexpectedShape(statement: "plan_claim", column: 14)
        }
        service = pushType.service
    }

    /// Plans the next slice, to the end of the transaction.
    func plan(
        _ idsMax: Int, _ parcelMembersMax: Int, _ sizes: SliceSizes, in transaction: PostgresTransaction,
        now: WallInstant?, announcingTo steps: (any StepListener)?
    ) async throws(PostgresError) -> PlannedSlice {
        let found = try await find(idsMax: idsMax, sizes, in: transaction)
        let cut = try await cut(found, parcelMembersMax, in: transaction)
        let answers = try await transaction.conclude(writing(cut, now: now), announcing: .sliceWritten, to: steps)
        var report = CutReport()
        if !cut.routes.isEmpty { try report.read(answers[1]) }
        return try slice(cut, counted: answers[0], 0, report)
    }

    /// The first slice is a small one, so that its pushes leave while the next ones are found. Ids that lie far apart
    /// are on a page each, which may have to come from a disk.
    private static let firstIDsMax = 2_000

    func query(idsMax sliceIDs: Int) -> AudienceQuery { query(at: idsMax(of: sliceIDs), sliceIDs) }

    private func idsMax(of sliceIDs: Int) -> Int {
        let idsMax = plannedThrough == 0 ? min(sliceIDs, Self.firstIDsMax) : sliceIDs
        return local == nil ? idsMax : idsMax * LocalHour.slicesAtOnce
    }

    private func query(at ids: Int, _ sliceIDs: Int) -> AudienceQuery {
        AudienceQuery(
            message: message, sentFrom: sentFrom, app: app, kind: kind, after: plannedThrough, horizon: horizon,
            idsMax: ids, sliceIDs: sliceIDs, providers: audience.providers?.map(\.rawValue) ?? [])
    }

    /// Whether the cost of an id is unknown. A filter may check sixty-four conditions of each. With several tags, all
    /// entries of a slice are read of each tag, to find those that come first.
    private var isCostly: Bool {
        switch audience.selection {
        case .filter: true
        case .tags(let expression): expression.any.count > 1
        case .all, .installations, .users, .stale, .tokens: false
        }
    }

    /// Finds the members of the next slice. In a costly audience it looks at as many ids as fit in the time of a usual
    /// slice, judged by the last slice (decision 0043).
    private func find(
        idsMax sliceIDs: Int, _ sizes: SliceSizes, in transaction: PostgresTransaction
    ) async throws(PostgresError) -> FoundMembers {
        guard isCostly else {
            return try await query(idsMax: sliceIDs).read(audience, in: transaction)
        }
        let ids = min(idsMax(of: sliceIDs), sizes.ids(of: MessageID(message)))
        let clock = ContinuousClock()
        let start = clock.now
        do {
            let found = try await query(at: ids, sliceIDs).read(audience, in: transaction)
            sizes.note(clock.now - start, for: ids, of: MessageID(message))
            return found
        } catch {
            sizes.noteFailed(ids, of: MessageID(message))
            throw error
        }
    }

    func cut(
        _ found: FoundMembers, _ parcelMembersMax: Int, in transaction: PostgresTransaction
    ) async throws(PostgresError) -> SliceCut {
        guard let local else { return SliceCut(found, parcelMembersMax: parcelMembersMax) }
        return try await local.cut(found, membersMax: parcelMembersMax, in: transaction)
    }

    /// The message's own row comes first and its reasons after: every settle takes them in this order.
    func writing(_ cut: SliceCut, now: WallInstant?) -> [Query] {
        var queries = [
            Query(PlanSQL.count) {
                $0.uuid(message)
                $0.int64(Int64(cut.members))
                $0.int64(cut.found.ended(.rejected))
                $0.int64(cut.found.ended(.unregistered))
                $0.bool(cut.found.isLast)
                $0.instant(now)
                $0.int64(cut.found.ended(.suppressed))
            }
        ]
        if !cut.routes.isEmpty { queries.append(parcels(of: cut, now: now)) }
        queries += early(cut.found, now: now)
        queries.append(
            cut.found.isLast
                ? Query(PlanSQL.end) { $0.uuid(message) }
                : advancing(cut, now: now))
        if cut.isUnhurried { queries.append(Query(PlanSQL.soonOnDisk)) }
        return queries
    }

    func advancing(_ cut: SliceCut, now: WallInstant?) -> Query {
        Query(PlanSQL.advance) {
            $0.uuid(message)
            $0.int64(cut.found.plannedThrough)
            $0.instant(now)
        }
    }

    private func parcels(of cut: SliceCut, now: WallInstant?) -> Query {
        Query(local == nil ? PlanSQL.cut : PlanSQL.cutByInstants) {
            $0.uuid(message)
            $0.int64(app)
            $0.int16(format)
            $0.int16(priority)
            if let local {
                $0.int64((expiresAt - local.sending.hour.last).wholeMicroseconds)
            } else {
                $0.instant(expiresAt)
            }
            $0.instant(now)
            $0.int64Array(cut.routes)
            $0.bytesArray(cut.memberLists)
            $0.int32Array(cut.counts)
            $0.int16(service.rawValue)
            if local != nil { $0.instantArray(cut.sentAt) }
        }
    }

    /// The queries for members that end before they are sent: their counts and their history, as settles write them.
    func early(_ found: FoundMembers, now: WallInstant?) -> [Query] {
        guard !found.early.isEmpty else { return [] }
        let routed = found.early.filter { $0.route != nil }
        precondition(routed.allSatisfy { [.unregistered, .suppressed].contains($0.terminalStatus.state) })
        var queries = [Query.addReasons(found.terminalCounts, to: MessageID(message))]
        if !routed.isEmpty {
            queries.append(
                Query(PlanSQL.providers) {
                    $0.uuid(message)
                    $0.int64Array(routed.map { Int64($0.members.count) })
                    $0.int64Array(routed.map(\.route))
                    $0.int16Array(routed.map(\.terminalStatus.state.rawValue))
                    $0.textArray(routed.map(\.terminalStatus.reason))
                })
        }
        let members = found.early.map { $0.members.sorted() }
        queries.append(
            Query(PlanSQL.cutReport) {
                $0.uuid(message)
                $0.int32(local == nil ? Int32(clamping: plannedThrough) : slices)
                $0.instant(now)
                $0.int64Array(found.early.map { $0.route ?? 0 })
                $0.int16Array(found.early.map(\.terminalStatus.state.rawValue))
                $0.textArray(found.early.map(\.terminalStatus.reason))
                $0.int64Array(members.map { $0.first ?? 0 })
                $0.int64Array(members.map { $0.last ?? 0 })
                $0.bytesArray(members.map { MemberList.encode($0) })
                $0.int32Array(members.map { Int32($0.count) })
            })
        return queries
    }

    func slice(
        _ cut: SliceCut, counted: ResultSet, _ row: Int, _ report: CutReport
    ) throws(PostgresError) -> PlannedSlice {
        var routes: [RouteID] = []
        for route in cut.routes where routes.last?.value != route { routes.append(RouteID(route)) }
        return PlannedSlice(
            message: MessageID(message), app: AppID(app), routes: routes, ready: report.ready(of: self),
            waitsForRate: report.rateLimited.contains(message), members: cut.members, isPlanned: cut.found.isLast,
            isFinished: try counted.int16(row, 0) == MessageState.finished.rawValue)
    }
}

/// The database's report on the parcels that were just cut.
struct CutReport: Sendable {
    private struct ReadyRow: Sendable {
        let route: RouteID
        let provider: Provider
        let environment: PushEnvironment
        let topic: String
    }

    private var ready: [UniversalID: [ReadyRow]] = [:]  // lookup only
    /// Messages with rate-limited parcels.
    private(set) var rateLimited: Set<UniversalID> = []  // lookup only

    /// - Parameter rows: the answer to `PlanSQL.cut`, in no order.
    mutating func read(_ rows: ResultSet) throws(PostgresError) {
        for row in 0..<rows.rowCount {
            let message = try rows.uuid(row, 0)
            if try rows.bool(row, 3) { rateLimited.insert(message) }
            guard try rows.bool(row, 2), let provider = Provider(rawValue: try rows.int16(row, 4)),
                let environment = PushEnvironment(rawValue: try rows.int16(row, 5))
            else { continue }
            let report = ReadyRow(
                route: RouteID(try rows.int64(row, 1)), provider: provider, environment: environment,
                topic: try rows.text(row, 6))
            ready[message, default: []].append(report)
        }
    }

    func ready(of plan: ClaimedPlan) -> [ReadyRoute] {
        let isUrgent = plan.priority == MessageUrgency.transactional.rawValue
        return (ready[plan.message] ?? []).sorted { $0.route < $1.route }.map {
            ReadyRoute(
                route: $0.route, service: plan.service, app: AppID(plan.app), provider: $0.provider,
                environment: $0.environment, topic: $0.topic, hasUrgent: isUrgent)
        }
    }
}
