import Basis
import Encodings
import Model
import Postgres
import QueueRules

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

    /// Finds the members of the next slice, and cuts them into parcels.
    func cut(
        _ idsMax: Int, _ parcelMembersMax: Int, _ sizes: SliceSizes, in transaction: PostgresTransaction
    ) async throws(PostgresError) -> SliceCut {
        let found = try await find(idsMax: idsMax, sizes, in: transaction)
        guard let local else { return SliceCut(found, parcelMembersMax: parcelMembersMax) }
        return try await local.cut(found, membersMax: parcelMembersMax, in: transaction)
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

    /// When each parcel's pushes expire: as if a push that leaves later had been due in time.
    func expiries(of cut: SliceCut) -> [WallInstant] {
        guard let local else { return cut.routes.map { _ in expiresAt } }
        let lifetime = expiresAt - local.sending.hour.last
        return cut.sentAt.map { $0 + lifetime }
    }

    func advancing(_ cut: SliceCut, now: WallInstant?) -> Query {
        Query(PlanSQL.advance) {
            $0.uuid(message)
            $0.int64(cut.found.plannedThrough)
            $0.instant(now)
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
        _ cut: SliceCut, counted state: Int16, _ report: CutReport
    ) -> PlannedSlice {
        var routes: [RouteID] = []
        for route in cut.routes where routes.last?.value != route { routes.append(RouteID(route)) }
        return PlannedSlice(
            message: MessageID(message), app: AppID(app), routes: routes, ready: report.ready(of: self),
            waitsForRate: report.rateLimited.contains(message), members: cut.members, isPlanned: cut.found.isLast,
            isFinished: state == MessageState.finished.rawValue)
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
