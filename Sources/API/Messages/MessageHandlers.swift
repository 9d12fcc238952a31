import Basis
import Delivery
import Encodings
import HTTPTypes
import JSON
import Model
import ProviderInterface
import Providers
import Requests
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
        let asked = IntakeRequest(
            request.contents, to: audience(request.audience, in: app), app: app.id,
            sendAt: request.sendAt, ratePerSecond: request.ratePerSecond, name: request.name,
            author: call.caller.author, idempotency: call.idempotencyClaim)
        return try await accept(asked, in: app, isList: request.isList, .accepted)
    }

    /// Hands a message to delivery, and answers.
    func accept(
        _ asked: IntakeRequest, in app: AppRecord, isList: Bool = false, _ status: HTTPResponse.Status
    ) async throws(Problem) -> Answer {
        let label = MessageLabel(
            name: asked.name, author: asked.author, texts: asked.contents[0].commonText.map { [$0.shortened] } ?? [])
        let audience = AudienceLine.text(of: asked.audience, acceptedAt: clock())
        let answer: MessageIntake.MakeAnswer = { ids, state, startsAt in
            MessageAnswer.accepted(ids, state, startsAt: startsAt, label, to: audience)
        }
        var asked = asked
        asked.firstDevice = await firstDevice(of: asked.contents[0], to: asked.audience, asked.sendAt, in: app.id)
        let reply: MessageIntake.Reply
        do { reply = try await intake.accept(asked, answer: answer) } catch {
            throw Problem(error, asked.idempotency == nil ? .mayDouble : .isKeyed).aboutTopics
        }
        switch reply {
        case .accepted(let ids, let state, let startsAt): return made(answer(ids, state, startsAt), in: app, status)
        case .replayed(let bytes): return made(bytes, in: app, status, [Answer.replayedHeader])
        case .mismatch: throw .idempotencyMismatch
        case .refused(let fault, let place): throw Problem(fault).inRecord(isList ? place : nil)
        case .refusedHour(let fault): throw Problem(fault)
        case .backlogFull(let urgency): throw .backlogFull(urgency)
        }
    }

    func checkScope(of audience: Audience, _ call: Call) throws(Problem) {
        let scope = audience.scope
        guard call.caller.has(scope) else { throw .missingScope([scope]) }
    }

    /// Fixes the cutoffs of a stale audience when the message is accepted.
    func audience(_ asked: Audience, in app: AppRecord) -> Audience { asked.withCutoffs(of: app, at: clock()) }

    func made(
        _ body: [UInt8], in app: AppRecord, _ status: HTTPResponse.Status, _ more: [Answer.Header] = []
    ) -> Answer {
        let id = MessageAnswer.id(inAccepted: body)
        return Answer(
            status, body, headers: (id.map { [(.location, "/v1/apps/\(app.slug)/messages/\($0)")] } ?? []) + more)
    }

    func read(_ call: Call) async throws(Problem) -> Answer {
        let id = try messageID(call)
        let app = try await apps.app(of: call)
        let found = try await reads.read(of: app.id, await whole(id, of: app.id))
        guard let progress = found.progress else { throw .unknownMessage }
        let request = RequestAnswer(found.record?.request, call.caller.tokenView)
        return Answer(.ok, MessageAnswer.body(progress, request))
    }

    private func whole(
        _ id: MessageID, of app: AppID
    ) async throws(StoreFault) -> (progress: MessageProgress?, record: MessageRecord?) {
        (try await store.progress(app: app, id: id), try await store.record(app: app, id: id))
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

    /// Lists messages, the last accepted first. A page may be short while more follow: each reads a bounded number of rows.
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

    static func backlogFull(_ urgency: MessageUrgency) -> Problem {
        let detail =
            switch urgency {
            case .transactional:
                "This app has reached its limit of unfinished messages to few receivers. Messages that wait for their "
                    + "send time, for the end of quiet hours or for a credential count. Wait until some have finished, "
                    + "cancel some, or combine receivers of the same message into one audience."
            case .bulk:
                "This app has reached its limit of unfinished broadcasts; scheduled and paused ones count. Wait until "
                    + "some have finished, or cancel some. Messages that name at most 100 receivers are still taken."
            }
        return Problem(.backlogFull, detail, retryAfterSeconds: RetryHint.backlogFull)
    }

    /// Too many topics can only come from tokens that the message itself names.
    var aboutTopics: Problem {
        code == .tooManyTopics ? Problem(code, detail, at: .root / "audience" / "tokens") : self
    }

    static let unknownMessage = Problem(
        .unknownMessage, "This app has no message with this id. The answer to POST .../messages contains the id.")
}
