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

    /// Writes the messages of one request, all of them or nothing, each sent after the one before it. They are committed
    /// when this returns `.accepted` (P1). Their audience is one, and the first carries the request's idempotency key.
    ///
    /// They reach the registrations that exist by then. A repeated request with the same idempotency key gets the first
    /// answer; a simultaneous repeat waits for it.
    package func accept(_ messages: [NewMessage], now: WallInstant? = nil) async throws(StoreFault) -> AcceptReply {
        guard let message = messages.first else { return .accepted }
        precondition(
            messages.dropFirst().allSatisfy {
                $0.idempotency == nil && $0.audience == message.audience && $0.dueAt == message.dueAt
                    && $0.localSending == nil
            })
        precondition(messages.count == 1 || message.localSending == nil)
        let drafts = zip(messages, [nil] + messages.map(\.id)).map { MessageDraft($0, cut: nil, after: $1) }
        var queries = MessageWriter(drafts, once: message.idempotency, now: now).writes()
        if let claim = message.idempotency?.claim { queries.append(claim.lookUp(app: message.app)) }
        if let sending = message.localSending { queries.append(Query(writing: sending, of: message)) }
        queries += messages.flatMap { $0.settingRate(now: now) }
        let written = queries
        let routes = Query.addRoutes(of: [message.audience], app: message.app)
        let earlier = try await translating { () throws(PostgresError) -> IdempotentReply? in
            // Routes are added before: they are for everybody, and delay nobody while the message is written.
            if !routes.isEmpty { _ = try await pool.run(routes) }
            let answers = try await pool.transaction { transaction throws(PostgresError) in
                try await transaction.runAndCommit(written)
            }
            guard let claim = message.idempotency?.claim, try answers[0].one(Int64.init) == 0 else { return nil }
            return try claim.reply(in: answers[1])
        }
        if let earlier { return AcceptReply(earlier) }
        if !message.isHeld { notifier.notify(message.dueAt == nil ? .plan : .schedule) }
        return .accepted
    }

    /// The answer to an earlier request with this key; nil: none. Waits for a simultaneous repeat.
    package func earlier(_ claim: IdempotencyClaim, app: AppID) async throws(StoreFault) -> AcceptReply? {
        try await translated(await claim.earlier(app: app, in: pool)).map(AcceptReply.init)
    }
}

extension NewMessage {
    /// The statements that set the message's rate, if it was written.
    fileprivate func settingRate(now: WallInstant?) -> [Query] {
        ratePerSecond == nil ? [] : ControlRequest.rate(ratePerSecond).changes(app: app, id: id, now: now)
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
    package var origin = MessageOrigin.sender
    /// The name that its sender gave it.
    package var name: String?
    /// The name of the API key that sent it.
    package var author: String?
    /// Whether it is accepted paused, and its audience is not cut before it is resumed.
    package var isHeld = false
    package var idempotency: IdempotentAnswer?

    package init(
        id: MessageID, app: AppID, format: Int16, urgency: MessageUrgency, kind: TokenKind, badge: BadgeChange,
        lifetime: Duration, content: [UInt8], audience: Audience, readsLocale: Bool = false,
        pushType: PushType = .alert, isDryRun: Bool = false, dueAt: WallInstant? = nil,
        localSending: LocalSending? = nil, ratePerSecond: Int32? = nil, idempotency: IdempotentAnswer? = nil
    ) {
        (self.id, self.app, self.format, self.urgency, self.kind) = (id, app, format, urgency, kind)
        (self.badge, self.lifetime, self.content, self.audience) = (badge, lifetime, content, audience)
        (self.readsLocale, self.pushType, self.isDryRun) = (readsLocale, pushType, isDryRun)
        (self.dueAt, self.localSending, self.ratePerSecond) = (dueAt, localSending, ratePerSecond)
        self.idempotency = idempotency
    }
}

/// An app's status when a message is handed in for it.
package struct AppStatus: Equatable, Sendable {
    /// Unfinished messages of one urgency, which decide on `backlog_full`.
    package let openMessages: Int
    /// Providers with registrations' routes or an active credential.
    package let providers: [Provider]
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
