import Basis
import CompiledMessages
import Content
import Encodings
import Model
import Reactor
import Store

/// A message whose content every provider concerned could take.
struct CheckedMessage: Sendable {
    var message: NewMessage
    let compiled: CompiledMessage
}

/// A sender's request: a message for each content, to be sent one after the other.
package struct IntakeRequest: Sendable {
    package var contents: [MessageContent]
    package var audience: Audience
    package var app: AppID
    /// The requested hour; nil: now.
    package var sendAt: SendHour?
    /// When a message at a local hour reaches the first device that its audience has now; nil: not known.
    package var firstDevice: WallInstant?
    /// The rate of each message; nil: as fast as its providers take it.
    package var ratePerSecond: Int32?
    package var name: String?
    /// The name of the sender's API key.
    package var author: String?
    /// Whether the messages are accepted paused, and start when they are resumed.
    package var isHeld = false
    package var idempotency: IdempotencyClaim?

    package init(
        _ contents: [MessageContent], to audience: Audience, app: AppID, sendAt: SendHour? = nil,
        ratePerSecond: Int32? = nil, name: String? = nil, author: String? = nil, idempotency: IdempotencyClaim? = nil
    ) {
        (self.contents, self.audience, self.app, self.sendAt) = (contents, audience, app, sendAt)
        (self.ratePerSecond, self.name, self.author, self.idempotency) = (ratePerSecond, name, author, idempotency)
    }
}

/// Accepts messages: checks that every provider could take them, writes them durably, wakes the planner.
package struct MessageIntake: Sendable {
    /// A message that names more receivers than this is a bulk message.
    private static let transactionalMax = 100

    let backlog: BacklogCache
    let store: MessageStore
    private let direct: DirectMessages
    private let reached = ReachedProviders()
    private let steps: (any StepListener)?
    /// Called once messages are committed that wait for a planner or for their time.
    private let accepted: @Sendable () -> Void

    package init(
        store: MessageStore, backlog: BacklogBounds, direct: DirectMessages, steps: (any StepListener)?,
        accepted: @escaping @Sendable () -> Void
    ) {
        (self.store, self.direct) = (store, direct)
        self.backlog = BacklogCache(bounds: backlog)
        (self.steps, self.accepted) = (steps, accepted)
    }

    /// Makes the answer from the ids of the messages, their state, and when they start by themselves.
    package typealias MakeAnswer = @Sendable ([MessageID], MessageState, _ startsAt: WallInstant?) -> [UInt8]

    /// The result of validation and acceptance.
    package enum Reply: Sendable, Equatable {
        /// One id for each content, in order.
        case accepted([MessageID], MessageState, startsAt: WallInstant?)
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
    /// - Parameter answer: makes the bytes that a repetition of the request will get.
    package func accept(_ asked: IntakeRequest, answer: MakeAnswer) async throws(StoreFault) -> Reply {
        steps?.reached(.messageRead)
        let now = Clocks.wallNow()
        let request: Request
        do throws(SendTimeFault) { request = try Request(asked, now: now) } catch {
            // The hour may have passed between the request and its repetition.
            if let earlier = try await earlier(asked) { return earlier }
            return .refusedHour(error)
        }
        let (app, urgency, count) = (asked.app, request.urgency, asked.contents.count)
        let known = backlog.take(count, of: app, urgency, now: Clocks.monotonicNow())
        let status = try await status(for: request, hasRoom: known)
        let hasRoom =
            known ?? backlog.note(status.openMessages, adding: count, of: app, urgency, now: Clocks.monotonicNow())
        return try await write(request, status, hasRoom: hasRoom, answer)
    }

    /// A request with what follows from it and from the time.
    struct Request: Sendable {
        let asked: IntakeRequest
        let urgency: MessageUrgency
        /// The hour that still applies.
        let sendAt: SendHour?
        let dueAt: WallInstant?

        init(_ asked: IntakeRequest, now: WallInstant) throws(SendTimeFault) {
            self.asked = asked
            urgency = MessageIntake.urgency(of: asked.audience)
            sendAt = SendTime.left(of: asked.sendAt, now: now)
            dueAt = try SendTime.due(sendAt, now: now, firstDevice: asked.firstDevice)
        }

        var state: MessageState { asked.isHeld ? .paused : dueAt == nil ? .accepted : .scheduled }
        var startsAt: WallInstant? { asked.isHeld ? nil : dueAt }
        /// It may be cut when it is accepted (`CutMessage`).
        var isDirect: Bool {
            asked.contents.count == 1 && urgency == .transactional && sendAt == nil && asked.ratePerSecond == nil
                && !asked.isHeld
        }
    }

    private struct KnownStatus {
        let openMessages: Int
        var providers: [Provider]
        /// The providers were read a moment ago, for another request.
        var isRemembered: Bool
    }

    /// Returns the app's status. While there is room by the remembered count, a direct message is checked for the
    /// remembered providers, because the transaction that writes it reads them again.
    ///
    /// - Parameter hasRoom: nil: the unfinished messages have to be counted.
    private func status(for request: Request, hasRoom: Bool?) async throws(StoreFault) -> KnownStatus {
        let now = Clocks.monotonicNow()
        if request.isDirect, hasRoom == true, let providers = reached.providers(of: request.asked.app, now: now) {
            return KnownStatus(openMessages: 0, providers: providers, isRemembered: true)
        }
        let status = try await store.status(
            of: request.asked.app, request.urgency, countingTo: hasRoom == nil ? backlog.bounds.max(request.urgency) : 0
        )
        reached.note(status.providers, of: request.asked.app, now: now)
        return KnownStatus(openMessages: status.openMessages, providers: status.providers, isRemembered: false)
    }

    private func write(
        _ request: Request, _ known: KnownStatus, hasRoom: Bool, _ answer: MakeAnswer
    ) async throws(StoreFault) -> Reply {
        var status = known
        while true {
            var messages: [CheckedMessage]
            do throws(FaultyContent) { messages = try self.messages(request, reached: status.providers) } catch {
                if status.isRemembered {
                    status = try await self.status(for: request, hasRoom: false)
                    continue
                }
                // The first request may have been accepted while the app reached fewer providers. Its repetition gets
                // the first answer (P10).
                if let earlier = try await earlier(request.asked) { return earlier }
                return .refused(error.fault, error.place)
            }
            let ids = messages.map(\.message.id)
            messages[0].message.idempotency = request.asked.idempotency.map {
                IdempotentAnswer(claim: $0, answer: answer(ids, request.state, request.startsAt))
            }
            guard hasRoom else {
                // A repetition adds nothing to the backlog. The query runs only here, so that a request with room saves
                // it.
                return try await earlier(request.asked) ?? .backlogFull(request.urgency)
            }
            if request.isDirect, let cut = CutMessage(messages[0].message, checkedFor: status.providers) {
                switch try await send(cut, messages[0]) {
                case .reaches(let providers)?:
                    reached.note(providers, of: request.asked.app, now: Clocks.monotonicNow())
                    status = KnownStatus(openMessages: 0, providers: providers, isRemembered: false)
                    continue
                case .replayed(let bytes)?: return .replayed(bytes)
                case .mismatch?: return .mismatch
                case .cut?, .planned?: return .accepted(ids, request.state, startsAt: request.startsAt)
                case nil: break
                }
            }
            let outcome = try await store.accept(messages.map(\.message))
            if outcome == .accepted {
                steps?.reached(.messageCommitted)
                accepted()
            }
            return reply(to: outcome, ids: ids, request)
        }
    }

    /// Writes a direct message in a group with others.
    ///
    /// - Returns: nil if others hold its key or a device's badge for long. It must be written by itself, and wait for
    ///   the key alone.
    private func send(_ cut: CutMessage, _ message: CheckedMessage) async throws(StoreFault) -> CutReply? {
        let direct = DirectMessage(cut: cut, compiled: message.compiled)
        switch await self.direct.accept(direct) {
        case .success(.planned):
            accepted()
            return .planned
        case .success(let reply): return reply
        case .failure(.contended): return nil
        case .failure(let fault): throw fault
        }
    }

    /// Returns the answer to the first request with this key; nil: there was none.
    private func earlier(_ asked: IntakeRequest) async throws(StoreFault) -> Reply? {
        guard let claim = asked.idempotency else { return nil }
        return try await store.earlier(claim, app: asked.app).map { reply(to: $0, ids: [], nil) }
    }

    /// - Parameter request: nil: it came before, and is not accepted now.
    private func reply(to outcome: AcceptReply, ids: [MessageID], _ request: Request?) -> Reply {
        switch outcome {
        case .accepted: .accepted(ids, request?.state ?? .accepted, startsAt: request?.startsAt)
        case .replayed(let bytes): .replayed(bytes)
        case .mismatch: .mismatch
        }
    }

    struct FaultyContent: Error {
        let fault: ContentFault
        let place: Int
    }

    /// - Parameter revised: the id of the message that becomes the request's only one; nil: they are new.
    func messages(
        _ request: Request, reached: [Provider], revised: MessageID? = nil
    ) throws(FaultyContent) -> [CheckedMessage] {
        var messages: [CheckedMessage] = []
        var first: CompiledMessage?
        for (place, content) in request.asked.contents.enumerated() {
            let asked =
                request.asked.audience.providersAsked ?? CompiledMessage.providersAsked(content, reached: reached)
            let id = revised ?? Self.newID(request.sendAt, request.dueAt)
            let compiled = CompiledMessage(content, message: id, for: asked, besides: first)
            first = first ?? compiled
            do throws(ContentFault) { try compiled.check(asked: asked) } catch {
                throw FaultyContent(fault: error, place: place)
            }
            let message = message(content, id, kind: compiled.tokenKind, request)
            messages.append(CheckedMessage(message: message, compiled: compiled))
        }
        return messages
    }

    /// Makes an id that carries the due time of the message. Retention, and every time within a push, count from it.
    private static func newID(_ sendAt: SendHour?, _ dueAt: WallInstant?) -> MessageID {
        let now = Clocks.wallNow()
        let hour = sendAt?.local.map { max($0.hour.inUTC, now) } ?? dueAt ?? now
        return MessageID(UUIDv7.make(at: hour, random: (Entropy.uint64(), Entropy.uint64())))
    }

    private func message(
        _ content: MessageContent, _ id: MessageID, kind: TokenKind, _ request: Request
    ) -> NewMessage {
        let asked = request.asked
        var message = NewMessage(
            id: id, app: asked.app, format: StoredContent.format, urgency: request.urgency,
            kind: asked.audience.kind ?? kind, badge: content.options.isDryRun ? .none : content.badge,
            lifetime: content.options.lifetime, content: StoredContent.encode(content), audience: asked.audience,
            readsLocale: !content.localizations.isEmpty, pushType: content.options.pushType,
            isDryRun: content.options.isDryRun, dueAt: request.dueAt, localSending: request.sendAt?.local)
        message.ignoredLimits = content.options.ignored
        message.ratePerSecond = asked.ratePerSecond
        (message.name, message.author, message.isHeld) = (asked.name, asked.author, asked.isHeld)
        return message
    }

    static func urgency(of audience: Audience) -> MessageUrgency {
        guard let count = audience.namedCount else { return .bulk }
        return count <= transactionalMax ? .transactional : .bulk
    }
}
