import Basis
import Delivery
import Model
import Requests
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
        for _ in 1...Self.changeTriesMax {
            let start = try await localStart(of: id, change, for: call.caller, in: app)
            switch try await revise(id, change, start, for: call.caller, in: app) {
            case .revised: return try await answer(with: id, in: app, call)
            case .noSuchMessage: throw .unknownMessage
            case .refused(.declined(.outdated)): continue
            case .refused(.declined(.problem(let problem))): throw problem
            case .refused(.content(let fault)): throw Problem(fault)
            case .refused(.hour(let fault)): throw Problem(fault, at: ChangeRequest.timePlace, toSendNow: "Give null")
            case .refused(.backlogFull(let urgency)): throw .backlogFull(urgency)
            }
        }
        throw Problem(
            .overloaded, "Others are changing this message at the same time. Read it again before you change it.",
            retryAfterSeconds: RetryHint.overloaded)
    }

    /// Each further try means that somebody else changed the message within a moment.
    private static let changeTriesMax = 8

    private func revise(
        _ id: MessageID, _ change: ChangeRequest, _ start: LocalStart?, for caller: Caller, in app: AppRecord
    ) async throws(Problem) -> RevisionReply<RevisionRefusal<ChangeRefusal>> {
        let clock = clock
        do throws(StoreFault) {
            return try await intake.revise(
                id, of: app.id, beforeStart: change.isBeforeStart, audience: change.audience
            ) { record throws(ChangeRefusal) in
                var revision: RequestedRevision
                do throws(Problem) { revision = try change.revision(of: record, for: caller, in: app) } catch {
                    throw .problem(error)
                }
                guard change.movesStart, let needed = LocalStart(of: revision) else { return revision }
                guard let start, start.isFor(needed) else { throw .outdated }
                revision.firstDevice = start.firstDevice
                revision.isRedated = revision.isRedated || start.sending.hour.last >= clock()
                return revision
            }
        } catch { throw Problem(error, .isIdempotent).aboutTopics }
    }

    /// Reads when a message at a local hour would start after a change; nil: it has none, or the change is refused.
    private func localStart(
        of id: MessageID, _ change: ChangeRequest, for caller: Caller, in app: AppRecord
    ) async throws(Problem) -> LocalStart? {
        guard change.movesStart else { return nil }
        guard let record = try await reads.read(of: app.id, await store.record(app: app.id, id: id)),
            let revision = try? change.revision(of: record, for: caller, in: app), let request = revision.request,
            var start = LocalStart(of: revision)
        else { return nil }
        start.firstDevice = await firstDevice(of: request.content, to: start.audience, request.sendAt, in: app.id)
        return start
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

/// When a message at a local hour reaches its first device, and for which audience and hour that was read.
private struct LocalStart: Sendable {
    let audience: Audience
    let sending: LocalSending
    /// nil: not known.
    var firstDevice: WallInstant?

    /// nil: the message has no local hour.
    init?(of revision: RequestedRevision) {
        guard let request = revision.request, let sending = request.sendAt?.local else { return nil }
        (audience, self.sending) = (request.audience, sending)
    }

    func isFor(_ other: LocalStart) -> Bool { audience == other.audience && sending == other.sending }
}

private enum ChangeRefusal: Error, Equatable, Sendable {
    case problem(Problem)
    /// Somebody else changed the message after its start was read.
    case outdated
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
