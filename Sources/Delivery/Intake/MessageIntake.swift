import Basis
import Content
import Encodings
import Model
import Reactor
import Store

/// Accepts messages: checks that every provider could take them, writes them durably, wakes the planner.
package struct MessageIntake: Sendable {
    /// A message that names more receivers than this is a bulk message.
    private static let transactionalMax = 100

    private let backlog: BacklogCache
    private let store: MessageStore
    private let steps: (any StepListener)?
    /// Called with the messages that were committed.
    private let accepted: @Sendable ([NewMessage]) -> Void

    package init(
        store: MessageStore, backlog: BacklogBounds, steps: (any StepListener)?,
        accepted: @escaping @Sendable ([NewMessage]) -> Void
    ) {
        self.store = store
        self.backlog = BacklogCache(bounds: backlog)
        self.steps = steps
        self.accepted = accepted
    }

    /// The result of validation and acceptance.
    package enum Reply: Sendable, Equatable {
        /// One id for each content, in order.
        case accepted([MessageID], MessageState)
        /// The same request came before; this is its answer, byte for byte.
        case replayed([UInt8])
        case mismatch
        /// The fault, and the place of the content that has it.
        case refused(ContentFault, Int)
        case refusedHour(SendTimeFault)
        /// The app has as many unfinished messages of this urgency as allowed (P8).
        case backlogFull(MessageUrgency)
    }

    /// Accepts a message for each content, all or none, to be sent one after the other. They are committed when this
    /// returns `.accepted` (P1).
    ///
    /// - Parameters:
    ///   - sendAt: the requested hour; nil: now.
    ///   - ratePerSecond: the rate of each message; nil: as fast as its providers take it.
    ///   - answer: makes the bytes that a repetition of the request will get.
    package func accept(
        _ contents: [MessageContent], audience: Audience, app: AppID, sendAt: SendHour? = nil,
        ratePerSecond: Int32? = nil, idempotency: IdempotencyClaim?,
        answer: @Sendable ([MessageID], MessageState) -> [UInt8]
    ) async throws(StoreFault) -> Reply {
        steps?.reached(.messageRead)
        let now = Clocks.wallNow()
        let sendAt = SendTime.left(of: sendAt, now: now)
        let dueAt: WallInstant?
        do throws(SendTimeFault) { dueAt = try SendTime.due(sendAt, now: now) } catch {
            // The hour may have passed between the request and its repetition.
            if let earlier = try await earlier(idempotency, app) { return earlier }
            return .refusedHour(error)
        }
        let state: MessageState = dueAt == nil ? .accepted : .scheduled
        let urgency = urgency(of: audience)
        let room = backlog.take(contents.count, of: app, urgency, now: Clocks.monotonicNow())
        let status: AppStatus
        do {
            status = try await store.status(
                of: app, urgency, countingTo: room == .uncounted ? backlog.bounds.max(urgency) : 0)
        } catch {
            switch room {
            case .taken: backlog.giveBack(contents.count, of: app, urgency)
            case .uncounted: backlog.stopCounting(app, urgency)
            case .full: break
            }
            throw error
        }
        let isTaken: Bool =
            switch room {
            case .taken: true
            case .full: false
            case .uncounted:
                backlog.note(
                    status.openMessages, adding: contents.count, of: app, urgency, now: Clocks.monotonicNow())
            }
        var isUnused = isTaken
        defer { if isUnused { backlog.giveBack(contents.count, of: app, urgency) } }
        var messages: [NewMessage]
        do throws(FaultyContent) {
            messages = try self.messages(
                contents, audience, app: app, sendAt, dueAt, ratePerSecond: ratePerSecond, reached: status.providers)
        } catch {
            // The first request may have been accepted while the app reached fewer providers. Its repetition gets the
            // first answer (P10).
            if let earlier = try await earlier(idempotency, app) { return earlier }
            return .refused(error.fault, error.place)
        }
        let ids = messages.map(\.id)
        messages[0].idempotency = idempotency.map { IdempotentAnswer(claim: $0, answer: answer(ids, state)) }
        guard isTaken else {
            // A repetition adds nothing to the backlog. The query runs only here, so that a request with room saves it.
            return try await earlier(idempotency, app) ?? .backlogFull(urgency)
        }
        let outcome = try await store.accept(messages)
        if outcome == .accepted {
            isUnused = false
            steps?.reached(.messageCommitted)
            accepted(messages)
        }
        return reply(to: outcome, ids: ids, state)
    }

    /// Returns the answer to the first request with this key; nil: there was none.
    private func earlier(_ claim: IdempotencyClaim?, _ app: AppID) async throws(StoreFault) -> Reply? {
        guard let claim else { return nil }
        return try await store.earlier(claim, app: app).map { reply(to: $0, ids: [], .accepted) }
    }

    private func reply(to outcome: AcceptReply, ids: [MessageID], _ state: MessageState) -> Reply {
        switch outcome {
        case .accepted: .accepted(ids, state)
        case .replayed(let bytes): .replayed(bytes)
        case .mismatch: .mismatch
        }
    }

    private struct FaultyContent: Error {
        let fault: ContentFault
        let place: Int
    }

    /// Returns a checked message for each content.
    private func messages(
        _ contents: [MessageContent], _ audience: Audience, app: AppID, _ sendAt: SendHour?, _ dueAt: WallInstant?,
        ratePerSecond: Int32?, reached: [Provider]
    ) throws(FaultyContent) -> [NewMessage] {
        var messages: [NewMessage] = []
        var first: CompiledMessage?
        for (place, content) in contents.enumerated() {
            let asked = audience.providersAsked ?? CompiledMessage.providersAsked(content, reached: reached)
            let id = Self.newID(sendAt, dueAt)
            let compiled: CompiledMessage
            do {
                compiled = try CompiledMessage.compile(content, message: id, providers: asked, besides: first)
            } catch { throw FaultyContent(fault: error, place: place) }
            first = first ?? compiled
            var message = message(content, id, kind: compiled.tokenKind, audience, app: app, sendAt, dueAt)
            message.ratePerSecond = ratePerSecond
            messages.append(message)
        }
        return messages
    }

    /// Makes an id that carries the due time of the message. Retention, and every time within a push, count from it.
    private static func newID(_ sendAt: SendHour?, _ dueAt: WallInstant?) -> MessageID {
        let now = Clocks.wallNow()
        let hour = local(sendAt).map { max($0.hour.inUTC, now) } ?? dueAt ?? now
        return MessageID(UUIDv7.make(at: hour, random: (Entropy.uint64(), Entropy.uint64())))
    }

    private static func local(_ sendAt: SendHour?) -> LocalSending? {
        if case .local(let sending) = sendAt { sending } else { nil }
    }

    private func message(
        _ content: MessageContent, _ id: MessageID, kind: TokenKind, _ audience: Audience, app: AppID,
        _ sendAt: SendHour?, _ dueAt: WallInstant?
    ) -> NewMessage {
        var message = NewMessage(
            id: id, app: app, format: StoredContent.format, urgency: urgency(of: audience),
            kind: audience.kind ?? kind, badge: content.options.isDryRun ? .none : content.badge,
            lifetime: content.options.lifetime, content: StoredContent.encode(content), audience: audience,
            readsLocale: !content.localizations.isEmpty, pushType: content.options.pushType,
            isDryRun: content.options.isDryRun, dueAt: dueAt, localSending: Self.local(sendAt))
        message.ignoredLimits = content.options.ignored
        return message
    }

    package func account(_ id: MessageID, app: AppID) async throws(StoreFault) -> MessageAccount? {
        try await store.account(app: app, id: id)
    }

    package func control(_ control: ControlRequest, _ id: MessageID, app: AppID) async throws(StoreFault)
        -> ControlReply
    {
        try await store.control(control, app: app, id: id)
    }

    /// Returns the account of a message, and its remaining progress.
    package func progress(_ id: MessageID, app: AppID) async throws(StoreFault) -> MessageProgress? {
        try await store.progress(app: app, id: id)
    }

    /// Returns nil if there is no such message.
    package func failures(
        _ id: MessageID, app: AppID, filter: FailureFilter, from cursor: FailureCursor?, limit: Int
    ) async throws(StoreFault) -> FailurePage? {
        try await store.failures(app: app, id: id, filter: filter, from: cursor, limit: limit)
    }

    /// Returns nil if there is no such message.
    package func pushHistory(
        _ id: MessageID, app: AppID, installation: String
    ) async throws(StoreFault) -> PushHistory? {
        try await store.pushHistory(app: app, id: id, installation: installation)
    }

    /// Lists messages, newest first.
    package func list(
        app: AppID, before: MessageID?, limit: Int, state: MessageState?
    ) async throws(StoreFault) -> MessagePage {
        try await store.list(app: app, before: before, limit: limit, state: state)
    }

    private func urgency(of audience: Audience) -> MessageUrgency {
        guard let count = audience.namedCount else { return .bulk }
        return count <= Self.transactionalMax ? .transactional : .bulk
    }
}
