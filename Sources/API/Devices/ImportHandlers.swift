import Basis
import HTTPTypes
import Listener
import Registry
import Requests

struct ImportHandlers: Sendable {
    let apps: AppHandlers
    let registrations: RegistrationCommitter
    let clock: @Sendable () -> WallInstant
    let limits: GatewayLimits
    let authenticator: APIKeyAuthenticator
    /// The budgets of which each import takes a share: that of imports, and that of all bodies.
    let budgets: [ByteBudget]

    func run(_ call: Call) async throws(Problem) -> AnswerStream {
        let app = try await apps.app(of: call)
        let importing = DeviceImport(
            registry: apps.registry, registrations: registrations, app: app, clock: clock, limits: limits,
            checkKey: authenticator.check(of: call, app))
        let share: BudgetShare
        do { share = try BudgetShare(limits.importBytes, of: budgets, for: app.slug) } catch {
            throw Problem(error, of: app.slug)
        }
        let body = call.request.body
        return AnswerStream(headers: [.contentType: "application/x-ndjson"]) { write in
            defer { share.giveBack() }
            return try await importing.run(body, write)
        }
    }
}
