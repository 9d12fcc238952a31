import Basis
import Delivery
import Encodings
import HTTPTypes
import JSON
import Model
import ProviderInterface
import Providers
import Store

struct MessageHandlers: Sendable {
    let apps: AppHandlers
    let store: MessageStore
    let intake: MessageIntake
    let clock: @Sendable () -> WallInstant
    let reads: ReadAdmission

    func send(_ call: Call) async throws(Problem) -> Answer {
        let request = try MessageRequest.read(call.body)
        try checkScope(of: request.audience, call)
        let app = try await apps.app(of: call)
        let claim = call.idempotencyClaim
        let reply: MessageIntake.Reply
        do {
            reply = try await intake.accept(
                request.contents, audience: audience(request.audience, in: app), app: app.id, sendAt: request.sendAt,
                ratePerSecond: request.ratePerSecond, idempotency: claim, answer: MessageAnswer.accepted)
        } catch {
            let problem = Problem(error, claim == nil ? .mayDouble : .isKeyed)
            // Too many topics can only come from tokens that the message itself names.
            throw problem.code == .tooManyTopics
                ? Problem(problem.code, problem.detail, at: .root / "audience" / "tokens") : problem
        }
        switch reply {
        case .accepted(let ids, let state): return accepted(MessageAnswer.accepted(ids, state), in: app)
        case .replayed(let bytes):
            return accepted(bytes, in: app, [Answer.replayedHeader])
        case .mismatch: throw .idempotencyMismatch
        case .refused(let fault, let place): throw Problem(fault).inRecord(request.isList ? place : nil)
        case .refusedHour(let fault): throw Problem(fault)
        case .backlogFull(.transactional):
            throw Problem(
                .backlogFull,
                "This app has reached its limit of unfinished messages to few receivers. Messages that wait for their "
                    + "send time, for the end of quiet hours or for a credential count. Wait until some have finished, "
                    + "cancel some, or combine receivers of the same message into one audience.",
                retryAfterSeconds: RetryHint.backlogFull)
        case .backlogFull(.bulk):
            throw Problem(
                .backlogFull,
                "This app has reached its limit of unfinished broadcasts; scheduled and paused ones count. Wait until "
                    + "some have finished, or cancel some. Messages that name at most 100 receivers are still taken.",
                retryAfterSeconds: RetryHint.backlogFull)
        }
    }

    func checkScope(of audience: Audience, _ call: Call) throws(Problem) {
        let scope: APIScope = audience.selection.isBroadcast ? .broadcast : .messages
        guard call.caller.has(scope) else { throw .missingScope([scope]) }
    }

    /// Fixes the cutoffs of a stale audience when the message is accepted.
    func audience(_ asked: Audience, in app: AppRecord) -> Audience {
        guard case .stale = asked.selection else { return asked }
        var audience = asked
        audience.selection = .stale(app.settings.stale.staleCutoffs(now: clock()))
        return audience
    }

    private func accepted(_ body: [UInt8], in app: AppRecord, _ more: [Answer.Header] = []) -> Answer {
        let id = MessageAnswer.id(inAccepted: body)
        return Answer(
            .accepted, body, headers: (id.map { [(.location, "/v1/apps/\(app.slug)/messages/\($0)")] } ?? []) + more)
    }

    func read(_ call: Call) async throws(Problem) -> Answer {
        let id = try messageID(call)
        let app = try await apps.app(of: call)
        return Answer(.ok, MessageAnswer.body(try await progress(id, of: app.id)))
    }

    func progress(_ id: MessageID, of app: AppID) async throws(Problem) -> MessageProgress {
        guard let progress = try await reads.read(of: app, await store.progress(app: app, id: id)) else {
            throw .unknownMessage
        }
        return progress
    }

    func messageID(_ call: Call) throws(Problem) -> MessageID {
        guard let id = UniversalID(text: call.subject) else { throw .unknownMessage }
        return MessageID(id)
    }

    /// Lists messages, newest first. A page may be short while more follow: each reads a bounded number of rows.
    func list(_ call: Call) async throws(Problem) -> Answer {
        let limit = try call.query.limit(.messages)
        let before = try call.query.cursor { UniversalID(text: $0).map(MessageID.init) }
        let state: MessageState? = try call.query.choice("state")
        let app = try await apps.app(of: call)
        let page = try await reads.read(
            of: app.id, await store.list(app: app.id, before: before, limit: limit, state: state))
        return Answer(.ok, MessageAnswer.page(page.items, next: page.next?.value.text))
    }
}

extension Problem {
    /// Points the problem to one record of a list.
    fileprivate func inRecord(_ place: Int?) -> Problem {
        let names = PushProviders.offered.filter(\.takesRecords).map(\.id.name)
        guard let place, let pointer, let name = pointer.tokens.first, names.contains(name) else { return self }
        return Problem(code, detail, at: JSONPointer(tokens: [name, String(place)] + pointer.tokens.dropFirst()))
    }

    static let unknownMessage = Problem(
        .unknownMessage, "This app has no message with this id. The answer to POST .../messages contains the id.")
}
