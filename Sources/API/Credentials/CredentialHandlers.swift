import Credentials
import HTTPTypes
import Model
import Store

/// Takes credentials, shows them without their secrets, activates and retires them.
struct CredentialHandlers: Sendable {
    let apps: AppHandlers
    let service: CredentialService

    func list(_ call: Call) async throws(Problem) -> Answer {
        let app = try await apps.app(of: call)
        do { return Answer(.ok, CredentialAnswer.page(try await service.list(app: app.id))) } catch {
            throw Problem(error, .reads)
        }
    }

    /// Stores one credential for each environment that it was submitted for.
    func submit(_ call: Call) async throws(Problem) -> Answer {
        let submission = try CredentialRequest.read(call.body)
        let app = try await apps.app(of: call)
        let claim = call.idempotencyClaim
        let reply: IdempotentReply
        do {
            reply = try await service.submit(
                submission, app: app.id, idempotency: claim, answer: CredentialAnswer.page)
        } catch {
            throw Problem(error, claim == nil ? .mayDouble : .isKeyed)
        }
        switch reply {
        case .done(let bytes): return Answer(.created, bytes)
        case .replayed(let bytes): return Answer(.created, bytes, headers: [Answer.replayedHeader])
        case .mismatch: throw .idempotencyMismatch
        }
    }

    func activate(_ call: Call) async throws(Problem) -> Answer {
        let id = try credential(of: call)
        let app = try await apps.app(of: call)
        do { return Answer(.ok, CredentialAnswer.body(try await service.activate(id, app: app.id))) } catch {
            throw Problem(error, .isIdempotent)
        }
    }

    func retire(_ call: Call) async throws(Problem) -> Answer {
        let id = try credential(of: call)
        let app = try await apps.app(of: call)
        do { try await service.retire(id, app: app.id) } catch { throw Problem(error, .isIdempotent) }
        return .done
    }

    func delete(_ call: Call) async throws(Problem) -> Answer {
        let id = try credential(of: call)
        let app = try await apps.app(of: call)
        do { try await service.delete(id, app: app.id) } catch { throw Problem(error, .isIdempotent) }
        return .done
    }

    private func credential(of call: Call) throws(Problem) -> CredentialID {
        guard let id = Int64(call.subject), id > 0 else { throw Problem(CredentialFault.unknownCredential, .reads) }
        return CredentialID(id)
    }
}
