import Basis
import Model
import Postgres

/// Accepts messages, plans them and keeps their accounts.
package struct MessageStore: Sendable {
    let pool: PostgresPool
    let notifier: WorkNotifier
    let steps: (any StepListener)?
    let rotation = PlanRotation()
    let sizes = SliceSizes()

    package init(pool: PostgresPool, notifier: WorkNotifier, steps: (any StepListener)? = nil) {
        self.pool = pool
        self.notifier = notifier
        self.steps = steps
    }

    /// Writes a message, all of it or nothing; it is committed when this returns `.accepted` (P1).
    ///
    /// It reaches the registrations that exist by then. A repeated request with the same idempotency key gets the first
    /// answer; a simultaneous duplicate waits for it.
    package func accept(_ message: NewMessage, now: WallInstant? = nil) async throws(StoreFault) -> AcceptReply {
        try await accept([message], now: now)
    }

    /// Accepts the messages of one request: all of them or none, each sent after the one before it. Their audience is
    /// one, and the first carries the request's idempotency key.
    package func accept(_ messages: [NewMessage], now: WallInstant? = nil) async throws(StoreFault) -> AcceptReply {
        guard let message = messages.first else { return .accepted }
        precondition(
            messages.dropFirst().allSatisfy {
                $0.idempotency == nil && $0.audience == message.audience && $0.dueAt == message.dueAt
                    && $0.localSending == nil
            })
        precondition(messages.count == 1 || message.localSending == nil)
        var queries = Self.acceptQueries(message, after: nil, now: now)
        if let sending = message.localSending { queries.append(Query(writing: sending, of: message)) }
        for (before, next) in zip(messages, messages.dropFirst()) {
            queries += Self.acceptQueries(next, after: before.id, now: now)
        }
        queries += messages.compactMap(\.ignoringLimits)
        for message in messages { queries += Query.rate(message.ratePerSecond, of: message.id, message.app, now: now) }
        let written = queries
        let routes = Query.addRoutes(of: [message.audience], app: message.app)
        let (pool, steps) = (pool, steps)
        // Routes are added before: they are for everybody, and delay nobody while the message is written.
        if !routes.isEmpty {
            _ = try await translating { () throws(PostgresError) in try await pool.run(routes) }
        }
        let answers = try await translating { () throws(PostgresError) in
            try await pool.transaction { transaction throws(PostgresError) in
                try await transaction.conclude(written, announcing: .messageWritten, to: steps)
            }
        }
        let isWritten = try await translating { () throws(PostgresError) in try answers[0].int64(0, 0) > 0 }
        guard !isWritten, let once = message.idempotency else {
            notifier.notify(message.dueAt == nil ? .plan : .schedule)
            return .accepted
        }
        return AcceptReply(
            try await translating { () throws(PostgresError) in try once.claim.reply(in: answers[1]) })
    }

    /// The answer to an earlier request with this key; nil: none. Waits for a simultaneous duplicate.
    package func earlier(_ claim: IdempotencyClaim, app: AppID) async throws(StoreFault) -> AcceptReply? {
        try await translating { () throws(PostgresError) in try await claim.earlier(app: app, in: pool) }
            .map(AcceptReply.init)
    }

    private static func acceptQueries(_ message: NewMessage, after: MessageID?, now: WallInstant?) -> [Query] {
        var parameters = Parameters()
        parameters.uuid(message.id.value)
        parameters.int64(message.app.value)
        parameters.int16(message.format)
        parameters.int16(message.urgency.rawValue)
        parameters.int16(message.kind.rawValue)
        parameters.int16(message.badge.column)
        parameters.int32(message.badge.columnValue)
        parameters.int64(message.lifetime.wholeMicroseconds)
        parameters.bytes(message.content)
        parameters.bytes(AudienceText.encode(message.audience))
        parameters.instant(now)
        parameters.bool(message.readsLocale)
        parameters.bool(message.audience.isInline)
        parameters.int16(message.pushType.rawValue)
        parameters.bool(message.isDryRun)
        parameters.textBytes(AudienceText.summary(of: message.audience))
        parameters.uuid(after?.value)
        parameters.instant(message.dueAt)
        guard after == nil else { return [Query(MessageSQL.acceptAfter, parameters)] }
        guard let once = message.idempotency else { return [Query(MessageSQL.accept, parameters)] }
        parameters.text(once.claim.operation)
        parameters.text(once.claim.key)
        parameters.bytes(once.claim.bodySHA256)
        parameters.bytes(once.answer)
        return [Query(MessageSQL.acceptOnce, parameters), once.claim.lookUp(app: message.app)]
    }
}

/// A message as it is handed in.
package struct NewMessage: Equatable, Sendable {
    /// A UUID of version 7, which rises with time.
    package var id: MessageID
    package var app: AppID
    /// A process works only on formats that it knows (`StoredContent`).
    package var format: Int16
    package var urgency: MessageUrgency
    /// The kind of tokens that the push type asks for.
    package var kind: TokenKind
    package var badge: BadgeChange
    /// The time from acceptance, or from the due time, to `expires_at`, by the database's clock.
    package var lifetime: Duration
    /// The time when the message is due; nil: at once. The horizon is read then.
    package var dueAt: WallInstant?
    /// nil: the due time is the same instant everywhere.
    package var localSending: LocalSending?
    /// Pushes per second over all processes; nil: as fast as the providers take them.
    package var ratePerSecond: Int32?
    package var content: [UInt8]
    package var audience: Audience
    /// Whether its texts depend on a member's locale.
    package var readsLocale: Bool
    package var pushType: PushType
    package var isDryRun: Bool
    /// The app's limits that the message ignores.
    package var ignoredLimits: AppLimits = []
    package var idempotency: IdempotentAnswer?

    package init(
        id: MessageID, app: AppID, format: Int16, urgency: MessageUrgency, kind: TokenKind, badge: BadgeChange,
        lifetime: Duration, content: [UInt8], audience: Audience, readsLocale: Bool = false,
        pushType: PushType = .alert, isDryRun: Bool = false, dueAt: WallInstant? = nil,
        localSending: LocalSending? = nil, ratePerSecond: Int32? = nil, idempotency: IdempotentAnswer? = nil
    ) {
        self.id = id
        self.app = app
        self.format = format
        self.urgency = urgency
        self.kind = kind
        self.badge = badge
        self.lifetime = lifetime
        self.content = content
        self.audience = audience
        self.readsLocale = readsLocale
        self.pushType = pushType
        self.isDryRun = isDryRun
        self.dueAt = dueAt
        self.localSending = localSending
        self.ratePerSecond = ratePerSecond
        self.idempotency = idempotency
    }
}

/// An app's status when a message is handed in for it.
package struct AppStatus: Equatable, Sendable {
    /// Unfinished messages of one urgency, which decide on `backlog_full`.
    package let openMessages: Int
    /// Providers with registrations' routes or an active credential.
    package let providers: [Provider]

    package init(openMessages: Int, providers: [Provider]) {
        self.openMessages = openMessages
        self.providers = providers
    }
}

package enum AcceptReply: Equatable, Sendable {
    case accepted
    /// The same request was accepted before: nothing new is written, and this was its answer.
    case replayed(answer: [UInt8])
    /// The key was used for another body.
    case mismatch

    /// Converts the reply to a request that came before.
    init(_ reply: IdempotentReply) {
        switch reply {
        case .done(let answer), .replayed(let answer): self = .replayed(answer: answer)
        case .mismatch: self = .mismatch
        }
    }
}

extension BadgeChange {
    var column: Int16 {
        switch self {
        case .none: 0
        case .increment: 1
        case .value: 2
        }
    }

    var columnValue: Int32 {
        if case .value(let badge) = self { badge } else { 0 }
    }
}

extension Query {
    /// The statements that set a new message's rate, if it was written.
    fileprivate static func rate(
        _ perSecond: Int32?, of id: MessageID, _ app: AppID, now: WallInstant?
    ) -> [Query] {
        perSecond == nil ? [] : ControlRequest.rate(perSecond).changes(app: app, id: id, now: now)
    }

    static func addRoute(_ target: InlineTarget, app: AppID) -> Query {
        Query(AppSQL.addRoute) {
            $0.int64("app", app.value)
            $0.int16("provider", target.provider.rawValue)
            $0.int16("environment", target.environment.rawValue)
            $0.text("topic", target.topic)
        }
    }
}
