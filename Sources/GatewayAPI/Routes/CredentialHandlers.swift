import CredentialKeeping
import HTTPTypes
import PushModel
import Store

/// Credentials in, shown without their secrets, taken into use and out of it.
struct CredentialHandlers: Sendable {
    let apps: AppHandlers
    let keeper: CredentialKeeper

    func list(_ call: Call) async throws(Problem) -> Answer {
        let app = try await apps.app(of: call)
        do { return Answer(.ok, CredentialAnswer.page(try await keeper.list(app: app.id))) } catch {
            throw Problem(error)
        }
    }

    /// One credential for each environment that it was handed in for.
    func submit(_ call: Call) async throws(Problem) -> Answer {
        // Taken and not kept would be a promise broken in silence.
        guard call.idempotencyKey == nil else {
            throw Problem(
                .notSupported,
                "Handing in a credential takes no Idempotency-Key in this version. Where the answer was lost, list the "
                    + "credentials, and delete the one that stands there twice.")
        }
        let submission = try CredentialRequest.read(call.body)
        let app = try await apps.app(of: call)
        do {
            return Answer(.created, CredentialAnswer.page(try await keeper.submit(submission, app: app.id)))
        } catch {
            throw Problem(error)
        }
    }

    func activate(_ call: Call) async throws(Problem) -> Answer {
        let id = try credential(of: call)
        let app = try await apps.app(of: call)
        do { return Answer(.ok, CredentialAnswer.body(try await keeper.activate(id, app: app.id))) } catch {
            throw Problem(error)
        }
    }

    func retire(_ call: Call) async throws(Problem) -> Answer {
        let id = try credential(of: call)
        let app = try await apps.app(of: call)
        do { try await keeper.retire(id, app: app.id) } catch { throw Problem(error) }
        return .done
    }

    func delete(_ call: Call) async throws(Problem) -> Answer {
        let id = try credential(of: call)
        let app = try await apps.app(of: call)
        do { try await keeper.delete(id, app: app.id) } catch { throw Problem(error) }
        return .done
    }

    private func credential(of call: Call) throws(Problem) -> CredentialID {
        guard let id = Int64(call.subject), id > 0 else { throw Problem(CredentialFault.unknownCredential) }
        return CredentialID(id)
    }
}
