import Credentials
import HTTPTypes
import Model
import Store

struct CredentialHandlers: Sendable {
    let apps: AppHandlers
    let service: CredentialService

    func list(_ call: Call) async throws(Problem) -> Answer {
        let app = try await apps.app(of: call)
        let credentials = try await translating(.reads, await service.list(app: app.id))
        let blocks = try await translating(.reads, await service.blocks())
        return Answer(.ok, CredentialAnswer.page(credentials, blocks))
    }

    /// Stores one credential for each environment that it was submitted for.
    func submit(_ call: Call) async throws(Problem) -> Answer {
        let submission = try CredentialRequest.read(call.body)
        let app = try await apps.app(of: call)
        let claim = call.idempotencyClaim
        let reply = try await translating(
            claim == nil ? .mayDouble : .isKeyed,
            await service.submit(submission, app: app.id, idempotency: claim, answer: CredentialAnswer.submitted))
        switch reply {
        case .done(let bytes): return Answer(.created, bytes)
        case .replayed(let bytes): return Answer(.created, bytes, headers: [Answer.replayedHeader])
        case .mismatch: throw .idempotencyMismatch
        }
    }

    func activate(_ call: Call) async throws(Problem) -> Answer {
        let both = try CredentialRequest.readBoth(call.body)
        let (id, app) = try await subject(of: call)
        // Reading comes first: a failure after the change would hide it.
        let blocks = try await translating(.reads, await service.blocks())
        let written = try await translating(.isIdempotent, await service.activate(id, app: app, both: both))
        return Answer(.ok, CredentialAnswer.activated(written, blocks))
    }

    func retire(_ call: Call) async throws(Problem) -> Answer {
        let both = try CredentialRequest.readBoth(call.body)
        let (id, app) = try await subject(of: call)
        try await translating(.isIdempotent, await service.retire(id, app: app, both: both))
        return .done
    }

    func delete(_ call: Call) async throws(Problem) -> Answer {
        let (id, app) = try await subject(of: call)
        try await translating(.isIdempotent, await service.delete(id, app: app))
        return .done
    }

    private func subject(of call: Call) async throws(Problem) -> (CredentialID, AppID) {
        guard let id = Int64(call.subject), id > 0 else { throw Problem(CredentialFault.unknownCredential, .reads) }
        return (CredentialID(id), try await apps.app(of: call).id)
    }

    private func translating<Value>(
        _ repetition: Repetition, _ answer: @autoclosure () async throws(CredentialFault) -> Value
    ) async throws(Problem) -> Value { do { return try await answer() } catch { throw Problem(error, repetition) } }
}
