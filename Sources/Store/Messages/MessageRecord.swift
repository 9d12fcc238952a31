import Basis
import Content
import Model
import Postgres

/// A message as its sender asked for it, and how far it is.
package struct MessageRecord: Equatable, Sendable {
    package let id: MessageID
    package let app: AppID
    package let state: MessageState
    /// Its audience is not cut yet: the message waits for its time, or to be resumed.
    package let hasNotStarted: Bool
    package let urgency: MessageUrgency
    package let acceptedAt: WallInstant
    /// The scope that a key needs to change the message. It stays known when the content is deleted.
    package let scope: APIScope
    package var name: String?
    /// nil: the content is deleted, or a newer program wrote it.
    package var request: StoredRequest?
}

/// The request that a message was made from, with all changes since.
package struct StoredRequest: Equatable, Sendable {
    package var content: MessageContent
    package var audience: Audience
    /// nil: at once.
    package var sendAt: SendHour?
    package var ratePerSecond: Int32?
}

/// The changes of a message that one transaction writes.
package struct MessageRevision: Sendable {
    /// The message with its new content and audience; nil: both stay as they are.
    package var rewritten: NewMessage?
    /// Whether the due time of `rewritten` is new too.
    package var isRedated = false
    package var name: ProfileChange.Change<String> = .keep
    package var ratePerSecond: ProfileChange.Change<Int32> = .keep

    package init() {}
}

package enum RevisionReply<Refusal: Error & Sendable>: Sendable {
    case revised([WorkNotification])
    /// Nothing was changed.
    case refused(Refusal)
    case noSuchMessage
}

extension MessageStore {
    /// Reads a message's request; nil: the app has no such message.
    package func record(app: AppID, id: MessageID) async throws(StoreFault) -> MessageRecord? {
        let query = Query(RevisionSQL.read) { $0.message(id, of: app) }
        return try await translated(
            await pool.read(query).first { row throws(PostgresError) in try MessageRecord(&row, id, of: app) })
    }

    /// Changes a message in one transaction. Nobody else changes or starts it between the decision and the commit.
    ///
    /// - Parameters:
    ///   - beforeStart: whether the change requires that the message has not started. A paused message whose planning
    ///     has not begun is then put back, and starts when it is resumed.
    ///   - audience: the new audience, whose tokens need routes; nil: it stays.
    ///   - decide: called once at least, with the message as it is.
    package func revise<Refusal>(
        _ id: MessageID, of app: AppID, beforeStart: Bool, audience: Audience? = nil, now: WallInstant? = nil,
        _ decide: @escaping @Sendable (MessageRecord) -> Result<MessageRevision, Refusal>
    ) async throws(StoreFault) -> RevisionReply<Refusal> {
        let routes = Query.addRoutes(of: [audience].compactMap(\.self), app: app)
        let opening =
            beforeStart
            ? [ControlSQL.holdSchedule, RevisionSQL.holdPlan, ControlSQL.lock, RevisionSQL.putBack] : [ControlSQL.lock]
        let queries = (opening + [RevisionSQL.read]).map { statement in Query(statement) { $0.message(id, of: app) } }
        let reply = try await translated(
            await pool.retryingTransaction { transaction throws(PostgresError) -> RevisionReply<Refusal> in
                let rows = try await transaction.run(queries)[queries.count - 1]
                let record = try rows.first { row throws(PostgresError) in try MessageRecord(&row, id, of: app) }
                guard let record else { return .noSuchMessage }
                switch decide(record) {
                case .failure(let refusal): return await transaction.abandon(returning: .refused(refusal))
                case .success(let revision):
                    _ = try await transaction.runAndCommit(routes + revision.writes(id, of: app, now: now))
                    return .revised(revision.works)
                }
            })
        if case .revised(let works) = reply { for work in works { notifier.notify(work) } }
        return reply
    }
}

extension MessageRevision {
    /// The work that other processes are notified of.
    fileprivate var works: [WorkNotification] {
        (rewritten == nil ? [] : [.schedule]) + (ratePerSecond == .keep ? [] : [.stops])
    }

    /// The statements, in the order of their locks.
    fileprivate func writes(_ id: MessageID, of app: AppID, now: WallInstant?) -> [Query] {
        var queries: [Query] = []
        if let rewritten {
            queries.append(Query(rewriting: rewritten))
            if isRedated { queries.append(Query(redating: rewritten, now: now)) }
        }
        if name != .keep {
            queries.append(
                Query(RevisionSQL.rename) {
                    $0.message(id, of: app)
                    $0.text("name", name.value)
                })
        }
        if ratePerSecond != .keep {
            queries += ControlRequest.rate(ratePerSecond.value).changes(app: app, id: id, now: now)
        }
        return queries.isEmpty ? [Query(ControlSQL.state) { $0.message(id, of: app) }] : queries
    }
}

extension DeviceRegistration.Change {
    /// The new value; nil: there is none.
    fileprivate var value: Value? {
        if case .set(let value) = self { value } else { nil }
    }
}

extension Query {
    fileprivate init(rewriting message: NewMessage) {
        self.init(RevisionSQL.rewrite) {
            $0.uuid("message", message.id.value)
            $0.int16("priority", message.urgency.rawValue)
            $0.int16("kind", message.kind.rawValue)
            $0.bool("reads_locale", message.readsLocale)
            $0.bool("has_inline", message.audience.isInline)
            $0.textBytes("summary", AudienceText.summary(of: message.audience))
            $0.bytes("content", message.content)
            $0.bytes("audience", AudienceText.encode(message.audience))
        }
    }

    fileprivate init(redating message: NewMessage, now: WallInstant?) {
        self.init(RevisionSQL.redate) {
            $0.uuid("message", message.id.value)
            $0.instant("due_at", message.dueAt)
            $0.instant("hour", message.localSending?.hour.inUTC)
            $0.instant("last", message.localSending?.hour.last)
            $0.bool("late_at_once", message.localSending?.sendsPassed ?? false)
            $0.int64("lifetime_us", message.lifetime.wholeMicroseconds)
            $0.instant("now", now)
        }
    }
}

extension MessageRecord {
    /// Reads `RevisionSQL.columns`.
    fileprivate init(_ row: inout Row, _ id: MessageID, of app: AppID) throws(PostgresError) {
        let (state, waits) = (try row.stored() as MessageState, try row.bool())
        let (format, urgency) = (try row.int16(), try row.stored() as MessageUrgency)
        let (acceptedAt, name) = (try row.instant(), try row.textOrNil())
        let (dueAt, hour, sendsPassed) = (try row.instantOrNil(), try row.instantOrNil(), try row.bool())
        let (rate, ignored) = (try row.int32OrNil(), AppLimits(rawValue: try row.int16()))
        let summary = JSONText(bytes: try row.textBytes())
        let (content, audience) = (try row.bytesOrNil(), try row.bytesOrNil())
        let local = hour.map { SendHour.local(LocalSending(hour: LocalHour(inUTC: $0), sendsPassed: sendsPassed)) }
        var request: StoredRequest?
        if let content, let audience = audience.flatMap({ AudienceText.decode($0, asked: summary) }),
            var content = try? StoredContent.decode(content, format: format)
        {
            content.options.ignored = ignored
            request = StoredRequest(
                content: content, audience: audience, sendAt: local ?? dueAt.map { .instant($0) }, ratePerSecond: rate)
        }
        self.init(
            id: id, app: app, state: state, hasNotStarted: waits, urgency: urgency, acceptedAt: acceptedAt,
            scope: AudienceText.scope(ofSummary: summary), name: name, request: request)
    }
}
