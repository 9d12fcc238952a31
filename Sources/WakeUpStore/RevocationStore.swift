import Basis
import Model
import Postgres
import Reactor
import Store
import WakeUpRules

extension FanOutStore {
    /// The most subscriptions that one transaction ends.
    package static let revokedMax = 1_000

    /// Ends subscriptions that have expired or were revoked, a bounded number in one transaction. Their notices are
    /// committed with their end, or none of it is.
    ///
    /// A device whose token is retired gets no notice.
    package func revoke(
        _ order: FanOutOrder, now: WallInstant? = nil, contents: FanOutContents
    ) async throws(StoreFault) -> FanOutReply { try await revoke(nil, order, now, contents) }

    /// Ends one subscription, because the operator wants no more wake-ups for it. Its notice is committed with its end.
    ///
    /// - Returns: `.nothing` if the app has no such subscription.
    package func revoke(
        _ subscription: SubscriptionID, app: AppID, _ order: FanOutOrder, now: WallInstant? = nil,
        contents: FanOutContents
    ) async throws(StoreFault) -> FanOutReply {
        try await revoke(NamedSubscription(id: subscription, app: app), order, now, contents)
    }

    private func revoke(
        _ named: NamedSubscription?, _ order: FanOutOrder, _ now: WallInstant?, _ contents: FanOutContents
    ) async throws(StoreFault) -> FanOutReply {
        let reply = try await translated(
            await pool.retryingTransaction { transaction throws(PostgresError) -> FanOutReply in
                var run = RevocationRun(order, now: now, contents, rules)
                let hasFound =
                    if let named { try await run.find(named, in: transaction) } else {
                        try await run.find(after: revoked.app, in: transaction)
                    }
                guard hasFound else { return await transaction.abandon(returning: .nothing) }
                let reply = try await run.write(in: transaction)
                if named == nil { revoked.app = run.lastApp }
                return reply
            })
        if !reply.written.ready.isEmpty { notifier.notify(.parcels) }
        return reply
    }
}

/// The subscription that an operator ends.
private struct NamedSubscription: Sendable {
    let id: SubscriptionID
    let app: AppID
}

/// One transaction that ends subscriptions: expired ones, or the next ones of a job. Or it cuts the notices of some that
/// have ended.
private struct RevocationRun: Sendable {
    private let order: FanOutOrder
    private let now: WallInstant?
    private let contents: FanOutContents
    private let reader: RuleReader
    private var job: Job?
    private var reason = RevocationReason.expired
    private var found: [Subscription] = []
    /// The statement that removes what was found, with its notices.
    private var removal = FanOutSQL.remove
    /// Those that the read rules still let read, or that an order leaves out.
    private var kept: Set<Int64> = []  // lookup only
    /// The tokens that were unproven for too long.
    private var unproven: [Int64] = []

    init(_ order: FanOutOrder, now: WallInstant?, _ contents: FanOutContents, _ reader: RuleReader) {
        (self.order, self.now, self.contents, self.reader) = (order, now, contents, reader)
    }

    private struct Job: Sendable {
        let id: Int64
        let app: Int64
        let watch: Int64?
        let reason: RevocationReason
        let slug: String
        let through: Int64
        let after: Int64
        let kind: RevocationKind
        /// The number of a state; nil: any.
        let state: Int16?
        let endsAtMost: Int64?

        init(_ row: inout Row) throws(PostgresError) {
            (id, app, watch) = (try row.int64(), try row.int64(), try row.int64OrNil())
            (reason, slug, through, after) = (try row.stored(), try row.text(), try row.int64(), try row.int64())
            (kind, state, endsAtMost) = (try row.stored(), try row.int16OrNil(), try row.int64OrNil())
        }

        /// The most subscriptions that one transaction reads.
        var limit: Int64 { min(Int64(FanOutStore.revokedMax), endsAtMost ?? .max) }
    }

    private struct Subscription: Sendable {
        let id: Int64
        let watch: WatchID
        let app: AppID
        let path: NodePath
        let slug: String
        let settings: WakeUpSettings
        let member: Member
        let provider: Provider
        let isRetired: Bool
        let claims: KeptClaims?
        let isExpired: Bool

        var state: SubscriptionState { isExpired ? .expired : isRetired ? .dormant : .active }

        init(_ row: inout Row) throws(PostgresError) {
            (id, watch, app) = (try row.int64(), WatchID(try row.int64()), AppID(try row.int64()))
            (path, slug) = (NodePath(stored: try row.text()), try row.text())
            guard let settings = AppSettings(stored: try row.json()) else {
                throw .unexpectedShape(statement: RevocationSQL.expired.name, column: 5)
            }
            self.settings = settings.wakeUp
            let registration = try row.int64()
            member = Member(id: registration, route: try row.int64())
            (provider, isRetired) = (try row.stored(), try row.bool())
            claims = try KeptClaims(found: &row)
            isExpired = try row.bool()
        }
    }

    /// The app of the job; after subscriptions of all apps, the first job comes next.
    var lastApp: Int64 { job?.app ?? 0 }

    /// Finds subscriptions to end: those of the next app's job, and after the last job those that have ended or expired,
    /// or the other way round if there are none. Returns false if there is nothing to do.
    mutating func find(after lastApp: Int64, in transaction: PostgresTransaction) async throws(PostgresError) -> Bool {
        let claim = Query(RevocationSQL.claim) { $0.int64("last_app", lastApp) }
        let next = try await transaction.runThroughKeys(claim).first(Job.init)
        if next.map({ $0.app <= lastApp }) ?? true, try await findOfAllApps(in: transaction) { return true }
        guard let job = next else { return false }
        self.job = job
        reason = job.reason
        if job.kind == .unproven {
            let tokens = Query(RevocationOrderSQL.unproven) {
                $0.int64("app", job.app)
                $0.instant("now", now)
                $0.int64("limit", job.limit)
            }
            unproven = try await transaction.run(tokens).map(Int64.init)
        }
        found = try await transaction.run(self.next(of: job)).map(Subscription.init)
        if let state = job.state { kept = Set(found.filter { $0.state.column != state }.map(\.id)) }
        guard job.kind == .caused, job.reason == .permissionDenied, let first = found.first else { return true }
        let reading = reader.reading(of: job.app)
        let (rules, _) = try reading.rules(try await transaction.run(reading.query))
        let check = RuleCheck(app: first.app.value, rules: rules, now: now ?? Clocks.wallNow())
        let mayRead = try await check.mayRead(
            found.map { .init(path: $0.path, auth: $0.claims?.auth) }, in: transaction)
        kept = Set(zip(found, mayRead).filter(\.1).map(\.0.id))
        return true
    }

    /// Finds subscriptions that have ended already, whose devices still need their notices, or else expired ones.
    private mutating func findOfAllApps(in transaction: PostgresTransaction) async throws(PostgresError) -> Bool {
        let ended = Query(RevocationSQL.ended) { $0.int64("limit", Int64(FanOutStore.revokedMax)) }
        found = try await transaction.run(ended).map(Subscription.init)
        if !found.isEmpty {
            (reason, removal) = (.permissionDenied, RevocationSQL.forgetEnded)
            return true
        }
        let expired = Query(RevocationSQL.expired) {
            $0.instant("now", now)
            $0.int64("limit", Int64(FanOutStore.revokedMax))
        }
        found = try await transaction.run(expired).map(Subscription.init)
        return !found.isEmpty
    }

    /// Finds one subscription. Returns false if there is none.
    mutating func find(
        _ named: NamedSubscription, in transaction: PostgresTransaction
    ) async throws(PostgresError) -> Bool {
        let one = Query(RevocationSQL.ofOne) {
            $0.int64("subscription", named.id.value)
            $0.int64("app", named.app.value)
            $0.int64("limit", 1)
        }
        reason = .permissionDenied
        found = try await transaction.runThroughKeys(one).map(Subscription.init)
        return !found.isEmpty
    }

    private func next(of job: Job) -> Query {
        if job.kind == .unproven {
            return Query(RevocationOrderSQL.ofRegistrations) {
                $0.int64Array("registrations", unproven)
                $0.int64("limit", job.limit)
            }
        }
        if job.kind == .ordered, let watch = job.watch {
            return Query(RevocationOrderSQL.ofPath) {
                $0.int64("watch", watch)
                $0.int64("after", job.after)
                $0.int64("through", job.through)
                $0.int64("limit", job.limit)
            }
        }
        guard let watch = job.watch else {
            return Query(RevocationSQL.ofApp) {
                $0.int64("app", job.app)
                $0.int64("after", job.after)
                $0.int64("through", job.through)
                $0.int64("limit", Int64(FanOutStore.revokedMax))
            }
        }
        return Query(RevocationSQL.ofWatch) {
            $0.int64("watch", watch)
            $0.int64("through", job.through)
            $0.int64("limit", Int64(FanOutStore.revokedMax))
        }
    }

    /// Removes the subscriptions, writes their notices, and commits.
    mutating func write(in transaction: PostgresTransaction) async throws(PostgresError) -> FanOutReply {
        let ended = found.filter { !kept.contains($0.id) }
        let notices = notices(of: ended)
        var queries: [Query] = []
        if !ended.isEmpty { queries.append(Query(removal) { $0.int64Array("subscriptions", ended.map(\.id)) }) }
        if let job { queries += next(job, ended: ended.count) }
        var writer = MessageWriter(notices, now: now)
        let written = try await writer.write(beside: queries, in: transaction)
        return .notified(messages: notices.count, subscriptions: ended.count, written)
    }

    /// The queries that take a job on to its next subscriptions, or end it.
    private func next(_ job: Job, ended: Int) -> [Query] {
        let end = Query(RevocationSQL.end) { $0.int64("job", job.id) }
        if let most = job.endsAtMost {
            if unproven.isEmpty || ended >= most { return [end] }
            let renew = Query(RevocationOrderSQL.renewUnproven) {
                $0.int64Array("registrations", unproven)
                $0.instant("now", now)
            }
            let reduce = Query(RevocationOrderSQL.reduce) {
                $0.int64("job", job.id)
                $0.int64("ended", Int64(ended))
            }
            return [renew, reduce]
        }
        // The subscriptions of one path are read by their registrations.
        let isOfPath = job.kind == .ordered && job.watch != nil
        guard let last = found.map({ isOfPath ? $0.member.id : $0.id }).max() else { return [end] }
        let advance = Query(RevocationSQL.advance) {
            $0.int64("job", job.id)
            $0.int64("after", last)
        }
        return [advance]
    }

    private func notices(of ended: [Subscription]) -> [MessageDraft] {
        let watches = Dictionary(grouping: ended.filter { !$0.isRetired }, by: \.watch).sorted { $0.key < $1.key }
        return watches.flatMap { watch, ended in
            ended.byProvider(\.provider).compactMap { provider, members -> MessageDraft? in
                let first = members[0]
                let group = RevocationGroup(
                    address: WakeUpAddress(app: job?.slug ?? first.slug, path: first.path), settings: first.settings,
                    provider: provider, reason: reason)
                return contents.revocation(group).map { content in
                    MessageDraft(
                        content, .revocation, app: first.app, audience: .revoked(watch),
                        members: members.map(\.member).byRisingID, order)
                }
            }
        }
    }
}

extension [Member] {
    /// Each device once: several of its subscriptions to a path may have ended since the last notices.
    fileprivate var byRisingID: [Member] {
        reduce(into: [Int64: Member]()) { members, member in members[member.id] = member }.values.sorted {
            $0.id < $1.id
        }
    }
}

extension Query {
    /// Orders the end of a watch's subscriptions, because its node has become too heavy.
    init(revoking watch: WatchSnapshot) {
        self.init(RevocationSQL.revokeWatch) {
            $0.int64("app", watch.app.value)
            $0.int64("watch", watch.id.value)
            $0.int16("reason", RevocationReason.tooBig.rawValue)
            $0.text("slug", watch.address.app)
            $0.int64("bytes_max", Int64(watch.settings.weightBytesMax))
            $0.int64("leaves_max", Int64(watch.settings.weightLeavesMax))
        }
    }
}
