import Basis
import Delivery
import Encodings
import HTTPTypes
import JSON
import Model
import Store

/// Accepts messages, and shows their accounts and progress.
struct MessageHandlers: Sendable {
    let apps: AppHandlers
    let store: MessageStore
    let intake: MessageIntake
    let clock: @Sendable () -> WallInstant
    let reads: ReadAdmission

    func send(_ call: Call) async throws(Problem) -> Answer {
        let request = try MessageRequest.read(call.body)
        let scope: APIScope = request.audience.selection.isBroadcast ? .broadcast : .messages
        guard call.caller.has(scope) else { throw .missingScope([scope]) }
        let app = try await apps.app(of: call)
        let claim = call.idempotencyClaim
        let reply: MessageIntake.Reply
        do {
            reply = try await intake.accept(
                request.contents, audience: audience(request.audience, in: app), app: app.id, sendAt: request.sendAt,
                ratePerSecond: request.ratePerSecond, idempotency: claim, answer: MessageAnswer.accepted)
        } catch {
            throw refusal(error, isKeyed: claim != nil)
        }
        switch reply {
        case .accepted(let ids, let state): return accepted(MessageAnswer.accepted(ids, state), in: app)
        case .replayed(let bytes):
            var answer = accepted(bytes, in: app)
            answer.headers.append(Answer.replayedHeader)
            return answer
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

    /// Fixes the cutoffs of a stale audience when the message is accepted.
    private func audience(_ asked: Audience, in app: AppRecord) -> Audience {
        guard case .stale = asked.selection else { return asked }
        var audience = asked
        audience.selection = .stale(app.settings.stale.staleCutoffs(now: clock()))
        return audience
    }

    /// Points to the tokens if their topics are too many.
    private func refusal(_ fault: StoreFault, isKeyed: Bool) -> Problem {
        let problem = Problem(fault, isKeyed ? .isKeyed : .mayDouble)
        guard problem.code == .tooManyTopics else { return problem }
        return Problem(problem.code, problem.detail, at: .root / "audience" / "tokens")
    }

    private func accepted(_ body: [UInt8], in app: AppRecord) -> Answer {
        let location = MessageAnswer.id(inAccepted: body).map { "/v1/apps/\(app.slug)/messages/\($0)" }
        return Answer(.accepted, body, headers: location.map { [(.location, $0)] } ?? [])
    }

    func read(_ call: Call) async throws(Problem) -> Answer {
        let id = try messageID(call)
        let app = try await apps.app(of: call)
        return Answer(.ok, MessageAnswer.body(try await progress(id, of: app.id)))
    }

    func progress(_ id: MessageID, of app: AppID) async throws(Problem) -> MessageProgress {
        guard let progress = try await reads.read(of: app, await store.progress(app: app, id: id)) else { throw .unknownMessage }
        return progress
    }

    func messageID(_ call: Call) throws(Problem) -> MessageID {
        guard let id = UniversalID(text: call.subject) else { throw .unknownMessage }
        return MessageID(id)
    }

    private static let states = MessageState.allCases.map(\.name).joined(separator: ", ")

    /// Lists messages, newest first. A page may be short, or empty, while more follow: each reads a bounded number of
    /// rows.
    func list(_ call: Call) async throws(Problem) -> Answer {
        let limit = try call.query.limit(.messages)
        let before = try call.query["cursor"].map { (text) throws(Problem) in
            guard let id = UniversalID(text: text) else { throw Problem.invalidCursor }
            return MessageID(id)
        }
        let state = try call.query["state"].map { (text) throws(Problem) in
            guard let state = MessageState(name: text) else {
                throw Problem(.invalidQuery, "state must be one of \(Self.states).")
            }
            return state
        }
        let app = try await apps.app(of: call)
        let page = try await reads.read(
            of: app.id, await store.list(app: app.id, before: before, limit: limit, state: state))
        return Answer(.ok, MessageAnswer.page(page.items, next: page.next?.value.text))
    }
}

extension Problem {
    /// Points the problem to one record of a list.
    fileprivate func inRecord(_ place: Int?) -> Problem {
        guard let place, let pointer, pointer.tokens.first == "apns" else { return self }
        return Problem(code, detail, at: JSONPointer(tokens: ["apns", String(place)] + pointer.tokens.dropFirst()))
    }

    static let unknownMessage = Problem(
        .unknownMessage, "This app has no message with this id. The answer to POST .../messages contains the id.")
}
