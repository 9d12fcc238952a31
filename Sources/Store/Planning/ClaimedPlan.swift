import Basis
import Encodings
import Model
import Postgres
import QueueRules

/// The message, app and priority of a claimed plan. They can be read even if the rest of its row can't.
struct PlanSlot: Sendable {
    let message: UniversalID
    let app: Int64
    let priority: Int16

    init(_ row: inout Row) throws(PostgresError) {
        (message, app, priority) = (try row.uuid(), try row.int64(), try row.int16())
    }

    var isUrgent: Bool { priority == MessageUrgency.transactional.rawValue }
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

    init(_ row: inout Row) throws(PostgresError) {
        let slot = try PlanSlot(&row)
        (message, app, priority) = (slot.message, slot.app, slot.priority)
        (plannedThrough, slices) = (try row.int64(), try row.int32())
        (format, kind, horizon) = (try row.int16(), try row.int16(), try row.int64())
        service = (try row.stored() as PushType).service
        (expiresAt, sentFrom) = (try row.instant(), try row.instant())
        let (acceptedAt, hour, sendsPassed) = (try row.instant(), try row.instantOrNil(), try row.bool())
        local = hour.map {
            let sending = LocalSending(hour: LocalHour(inUTC: $0), sendsPassed: sendsPassed)
            return LocalSlice(sending: sending, app: slot.app, acceptedAt: acceptedAt)
        }
        guard let audience = try row.bytesOrNil().flatMap(AudienceText.decode) else {
            throw .unexpectedShape(statement: PlanSQL.claim.name, column: 14)
        }
        self.audience = audience
    }

    /// The first slice is a small one, so that its pushes leave while the next ones are found. Ids that lie far apart
    /// are on a page each, which may have to come from a disk.
    private static let firstIDsMax = 2_000

    func query(idsMax sliceIDs: Int) -> AudienceQuery {
        AudienceQuery(self, idsMax: idsMax(of: sliceIDs), sliceIDs: sliceIDs)
    }

    private func idsMax(of sliceIDs: Int) -> Int {
        let idsMax = plannedThrough == 0 ? min(sliceIDs, Self.firstIDsMax) : sliceIDs
        return local == nil ? idsMax : idsMax * LocalHour.slicesAtOnce
    }

    /// Whether the cost of an id is unknown. A filter may check sixty-four conditions of each. With several tags, all
    /// entries of a slice are read of each tag, to find those that come first.
    private var isCostly: Bool {
        switch audience.selection {
        case .filter: true
        case .tags(let expression): expression.any.count > 1
        case .all, .installations, .users, .stale, .tokens, .subscribers, .revoked, .itemSubscribers: false
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
    func find(
        idsMax sliceIDs: Int, _ sizes: SliceSizes, in transaction: PostgresTransaction
    ) async throws(PostgresError) -> FoundMembers {
        guard isCostly else { return try await query(idsMax: sliceIDs).read(in: transaction) }
        let ids = min(idsMax(of: sliceIDs), sizes.ids(of: MessageID(message)))
        let clock = ContinuousClock()
        let start = clock.now
        do {
            let found = try await AudienceQuery(self, idsMax: ids, sliceIDs: sliceIDs).read(in: transaction)
            sizes.note(clock.now - start, for: ids, of: MessageID(message))
            return found
        } catch {
            sizes.noteFailed(ids, of: MessageID(message))
            throw error
        }
    }

    /// When each parcel's pushes expire: as if a push that leaves later had been due in time.
    func expiries(of cut: SliceCut) -> [WallInstant] {
        cut.dueAt.map { sentAt in
            guard let local, let sentAt else { return expiresAt }
            return sentAt + (expiresAt - local.sending.hour.last)
        }
    }

    func advancing(_ cut: SliceCut, now: WallInstant?) -> Query {
        Query(PlanSQL.advance) {
            $0.uuid("message", message)
            $0.int64("planned_through", cut.found.plannedThrough)
            $0.instant("now", now)
        }
    }

    /// The queries for members that end before they are sent: their counts and their history, as settles write them.
    func early(_ found: FoundMembers, now: WallInstant?) -> [Query] {
        guard !found.early.isEmpty else { return [] }
        let routed = found.early.filter { $0.route != nil }
        precondition(routed.allSatisfy { [.unregistered, .suppressed].contains($0.terminalStatus.state) })
        let reasons = Query(PlanSQL.reasons) {
            $0.uuid("message", message)
            $0.int16Array("states", found.terminalCounts.map(\.terminalStatus.state.rawValue))
            $0.textArray("reasons", found.terminalCounts.map(\.terminalStatus.reason))
            $0.int64Array("counts", found.terminalCounts.map { Int64($0.count) })
        }
        let providers = Query(PlanSQL.providers) {
            $0.uuid("message", message)
            $0.int64Array("counts", routed.map { Int64($0.members.count) })
            $0.int64Array("routes", routed.map(\.route))
            $0.int16Array("states", routed.map(\.terminalStatus.state.rawValue))
            $0.textArray("reasons", routed.map(\.terminalStatus.reason))
        }
        let members = found.early.map { $0.members.sorted() }
        let history = Query(PlanSQL.cutReport) {
            $0.uuid("message", message)
            $0.int32("settle", local == nil ? Int32(clamping: plannedThrough) : slices)
            $0.instant("now", now)
            $0.int64Array("routes", found.early.map { $0.route ?? 0 })
            $0.int16Array("states", found.early.map(\.terminalStatus.state.rawValue))
            $0.textArray("reasons", found.early.map(\.terminalStatus.reason))
            $0.int64Array("first_members", members.map { $0.first ?? 0 })
            $0.int64Array("last_members", members.map { $0.last ?? 0 })
            $0.bytesArray("members", members.map { MemberList.encode($0) })
            $0.int32Array("member_counts", members.map { Int32($0.count) })
        }
        return [reasons] + (routed.isEmpty ? [] : [providers]) + [history]
    }

    func slice(_ cut: SliceCut, counted state: MessageState, _ report: CutReport) -> PlannedSlice {
        var routes: [RouteID] = []
        for route in cut.routes where routes.last?.value != route { routes.append(RouteID(route)) }
        return PlannedSlice(
            message: MessageID(message), app: AppID(app), routes: routes, ready: report.ready(of: self),
            waitsForRate: report.rateLimited.contains(message), members: cut.members, isPlanned: cut.found.isLast,
            isFinished: state == .finished, unknownZoneMembers: cut.unknownZoneMembers)
    }
}

/// The database's report on the parcels that were just cut: the answer to `PlanSQL.cut`, in no order.
struct CutReport: Sendable {
    private struct ReportRow: Sendable {
        let message: UniversalID
        let route: RouteID
        let isReady: Bool
        let isRateLimited: Bool
        let provider: Provider?
        let environment: PushEnvironment?
        let topic: String

        init(_ row: inout Row) throws(PostgresError) {
            (message, route) = (try row.uuid(), RouteID(try row.int64()))
            (isReady, isRateLimited) = (try row.bool(), try row.bool())
            (provider, environment) = (Provider(rawValue: try row.int16()), PushEnvironment(rawValue: try row.int16()))
            topic = try row.text()
        }
    }

    private let ready: [UniversalID: [ReportRow]]  // lookup only
    /// Messages with rate-limited parcels.
    let rateLimited: Set<UniversalID>  // lookup only

    /// - Parameter answer: nil: nothing was cut.
    init(_ answer: ResultSet?) throws(PostgresError) {
        let rows = try answer?.map(ReportRow.init) ?? []
        ready = Dictionary(grouping: rows.filter(\.isReady), by: \.message)
        rateLimited = Set(rows.filter(\.isRateLimited).map(\.message))
    }

    func ready(of plan: ClaimedPlan) -> [ReadyRoute] {
        let isUrgent = plan.priority == MessageUrgency.transactional.rawValue
        return (ready[plan.message] ?? []).sorted { $0.route < $1.route }.compactMap {
            guard let provider = $0.provider, let environment = $0.environment else { return nil }
            return ReadyRoute(
                route: $0.route, service: plan.service, app: AppID(plan.app), provider: provider,
                environment: environment, topic: $0.topic, hasUrgent: isUrgent)
        }
    }
}
