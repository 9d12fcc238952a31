import Delivery
import Model
import Store

/// Pause, resume, cancel and changes. Each may be repeated: a message that is already as requested stays so.
extension MessageHandlers {
    func changeMessage(_ call: Call) async throws(Problem) -> Answer {
        let change = try ChangeRequest.read(call.body)
        switch change.rateAlone {
        case .set(let perSecond): return try await self.change(.rate(perSecond), call)
        case .clear: return try await self.change(.rate(nil), call)
        case .keep: break
        }
        let id = try messageID(call)
        let app = try await apps.app(of: call)
        let caller = call.caller
        let reply: RevisionReply<RevisionRefusal<Problem>>
        do throws(StoreFault) {
            reply = try await intake.revise(
                id, of: app.id, beforeStart: change.isBeforeStart, audience: change.audience
            ) { record throws(Problem) in try change.revision(of: record, for: caller, in: app) }
        } catch { throw Problem(error, .isIdempotent).aboutTopics }
        switch reply {
        case .revised: break
        case .noSuchMessage: throw .unknownMessage
        case .refused(let refusal): throw Problem(refusal)
        }
        return try await answer(with: id, in: app, call)
    }

    func change(_ control: ControlRequest, _ call: Call) async throws(Problem) -> Answer {
        let id = try messageID(call)
        let app = try await apps.app(of: call)
        let caller = call.caller
        let reply = try await translating(
            .isIdempotent, await store.control(control, app: app.id, id: id) { caller.has($0) })
        switch reply {
        case .forbidden(let scope): throw .missingScope([scope])
        case .over(let state): throw .over(state, control.participle)
        case .noSuchMessage: throw .unknownMessage
        case .done: return try await answer(with: id, in: app, call)
        }
    }

    /// Reads the message without a timeout: the change is made, and its answer must follow.
    private func answer(with id: MessageID, in app: AppRecord, _ call: Call) async throws(Problem) -> Answer {
        let account: MessageAccount?
        let record: MessageRecord?
        do throws(StoreFault) {
            (account, record) = try await reads.readWithoutTimeout(of: app.id) { () async throws(StoreFault) in
                (try await store.account(app: app.id, id: id), try await store.record(app: app.id, id: id))
            }
        } catch { throw Problem(error, .isIdempotent) }
        guard let account else { throw .unknownMessage }
        return Answer(.ok, MessageAnswer.body(account, RequestAnswer(record?.request, call.caller.tokenView)))
    }
}

extension Problem {
    fileprivate init(_ refusal: RevisionRefusal<Problem>) {
        self =
            switch refusal {
            case .declined(let problem): problem
            case .content(let fault): Problem(fault)
            case .hour(let fault): Problem(fault, at: ChangeRequest.timePlace, toSendNow: "Give null")
            case .backlogFull(let urgency): .backlogFull(urgency)
            }
    }
}

extension ControlRequest {
    fileprivate var participle: String {
        switch self {
        case .pause: "paused"
        case .resume: "resumed"
        case .cancel: "cancelled"
        case .rate: "made faster or slower"
        }
    }
}
