import Credentials
import HTTPTypes
import Model
import Requests
import Store
import Synchronization

struct CredentialHandlers: Sendable {
    let apps: AppHandlers
    let service: CredentialService

    func list(_ call: Call) async throws(Problem) -> Answer {
        let app = try await apps.app(of: call)
        let credentials = try await translating(.reads, await service.list(app: app.id))
        let refusals = try await translating(.reads, await service.refusals())
        return Answer(.ok, CredentialAnswer.page(credentials, refusals))
    }

    /// Stores one credential for each environment that it was submitted for.
    func submit(_ call: Call) async throws(Problem) -> Answer {
        let submission = try CredentialRequest.read(call.body)
        let app = try await apps.app(of: call)
        let claim = call.idempotencyClaim
        let submitted = SubmittedRecords()
        let reply = try await translating(
            claim == nil ? .mayDouble : .isKeyed,
            await service.submit(
                submission, app: app.id, idempotency: claim,
                answer: { written in
                    submitted.records.withLock { $0 = written.records }
                    return CredentialAnswer.submitted(written)
                }))
        switch reply {
        case .done(let bytes):
            for record in submitted.records.withLock({ $0 }) {
                apps.log.note(.submitted, record, app: app.slug, by: call.caller)
                if submission.activate { apps.log.note(.activated, record, app: app.slug, by: call.caller) }
            }
            return Answer(.created, bytes)
        case .replayed(let bytes): return Answer(.created, bytes, headers: [Answer.replayedHeader])
        case .mismatch: throw .idempotencyMismatch
        }
    }

    func activate(_ call: Call) async throws(Problem) -> Answer {
        let both = try CredentialRequest.readBoth(call.body)
        let (id, app) = try await subject(of: call)
        // Reading comes first: a failure after the change would hide it.
        let refusals = try await translating(.reads, await service.refusals())
        let written = try await translating(.isIdempotent, await service.activate(id, app: app.id, both: both))
        for credential in written.records { apps.log.note(.activated, credential, app: app.slug, by: call.caller) }
        return Answer(.ok, CredentialAnswer.activated(written, refusals))
    }

    func retire(_ call: Call) async throws(Problem) -> Answer {
        let both = try CredentialRequest.readBoth(call.body)
        let (id, app) = try await subject(of: call)
        let retired = try await translating(.isIdempotent, await service.retire(id, app: app.id, both: both))
        for credential in retired { apps.log.note(.retired, credential, app: app.slug, by: call.caller) }
        return .done
    }

    func delete(_ call: Call) async throws(Problem) -> Answer {
        let (id, app) = try await subject(of: call)
        let credential = try await record(id, app)
        try await translating(.isIdempotent, await service.delete(id, app: app.id))
        apps.log.note(.deleted, credential, app: app.slug, by: call.caller)
        return .done
    }

    private func subject(of call: Call) async throws(Problem) -> (CredentialID, AppRecord) {
        guard let id = Int64(call.subject), id > 0 else { throw Problem(CredentialFault.unknownCredential, .reads) }
        return (CredentialID(id), try await apps.app(of: call))
    }

    private func record(_ id: CredentialID, _ app: AppRecord) async throws(Problem) -> CredentialRecord {
        let all = try await translating(.reads, await service.list(app: app.id))
        guard let record = all.first(where: { $0.id == id }) else {
            throw Problem(CredentialFault.unknownCredential, .reads)
        }
        return record
    }

    private func translating<Value>(
        _ repetition: Repetition, _ answer: @autoclosure () async throws(CredentialFault) -> Value
    ) async throws(Problem) -> Value { do { return try await answer() } catch { throw Problem(error, repetition) } }
}

/// The records that a submission wrote, for the log.
private final class SubmittedRecords: Sendable {
    let records = Mutex<[CredentialRecord]>([])
}
