import Basis
import Encodings
import HTTPTypes
import JSON
import Model
import Providers
import Requests
import Signing
import Store
import WakeUp
import WakeUpRules
import WakeUpStore

/// Subscribing to the nodes of an app's tree, by the app on a device.
///
/// Source: the described service, "Add a wake-up subscription". The caller has no key, so no answer says whether a
/// device exists.
struct WakeUpHandlers: Sendable {
    let apps: AppHandlers
    let store: SubscriptionStore
    let access: ReadAccess

    /// A refusal, in the words of the described service.
    private struct Refusal: Error {
        let status: HTTPResponse.Status
        let name: String
    }

    private static let noNamespace = Refusal(status: .notFound, name: "namespace_does_not_exist")
    private static let disabled = Refusal(status: .forbidden, name: "disabled")
    private static let invalidRequest = Refusal(status: .badRequest, name: "invalid_request")
    private static let invalidToken = Refusal(status: .unauthorized, name: "invalid_token")
    private static let permissionDenied = Refusal(status: .forbidden, name: "permission_denied")
    private static let tooBig = Refusal(status: .forbidden, name: "too_big")
    private static let tooMany = Refusal(status: .tooManyRequests, name: "too_many")

    /// A request whose path and query are well-formed.
    private struct Asked {
        let app: AppRecord
        let path: NodePath
        let device: String
        let mode: WakeUpMode
    }

    func subscribe(_ call: Call) async throws -> Answer {
        try await answering {
            let asked = try await asked(call)
            let user = try await user(call, asked.app)
            for _ in 0..<Self.permitTriesMax {
                let permit = try await translating(
                    .reads, await access.permit(toSubscribe: asked.path, user: user, app: asked.app.id))
                guard let permit else { throw Self.permissionDenied }
                switch try await add(asked, user, permit) {
                case .subscribed: return
                case .disabled: throw Self.disabled
                case .unusableToken: throw Self.invalidRequest
                case .tooBig: throw Self.tooBig
                case .tooMany: throw Self.tooMany
                case .formerUser: throw Self.permissionDenied
                case .rulesChanged: access.forget(asked.app.id)
                }
            }
            throw Problem(StoreFault.contended, .isIdempotent)
        }
    }

    /// The rules may change while a device subscribes.
    private static let permitTriesMax = 4

    func unsubscribe(_ call: Call) async throws -> Answer {
        try await answering {
            let asked = try await asked(call)
            let user = try await user(call, asked.app)
            let isDone = try await translating(
                .isIdempotent,
                await store.unsubscribe(
                    app: asked.app.id, path: asked.path, token: asked.device,
                    installation: Self.name(of: asked.device), user: user?.subject ?? ""))
            guard isDone else { throw Self.permissionDenied }
        }
    }

    private func answering(_ carryOut: () async throws -> Void) async throws -> Answer {
        do {
            try await carryOut()
            return .done
        } catch let refusal as Refusal {
            return Answer(refusal.status, StatusAnswer.body(refusal.name))
        }
    }

    private func asked(_ call: Call) async throws -> Asked {
        let app: AppRecord
        do throws(Problem) { app = try await apps.app(of: call) } catch {
            guard error.code == .unknownApp else { throw error }
            throw Self.noNamespace
        }
        guard app.settings.wakeUp.isEnabled else { throw Self.disabled }
        let keys = call.rest == [""] ? [] : call.rest
        guard call.fault == nil, let path = try? NodePath(keys),
            let device = call.query["id"], let mode = Self.mode(call.query["mode"]),
            Self.canWake(device, at: WakeUpAddress(app: app.slug, path: path), app.settings.wakeUp.presentation)
        else { throw Self.invalidRequest }
        return Asked(app: app, path: path, device: device, mode: mode)
    }

    /// Whether a provider reads the token, and each that does takes the smallest payloads of the path, with the app's
    /// own texts. Others could never be notified.
    private static func canWake(
        _ device: String, at address: WakeUpAddress, _ presentation: WakeUpPresentation
    ) -> Bool {
        let providers = PushProviders.offered.filter { (try? $0.readToken(device)) != nil }
        guard !providers.isEmpty, WakeUpShaping.canAddress(address) else { return false }
        let payload = WakeUpShaping.childEvent(nil, of: address) { _ in true }
        let id = MessageID(UniversalID(high: 0, low: 0))
        return providers.allSatisfy { (try? $0.compile($0.wakeUp(payload.data, presentation), message: id)) != nil }
    }

    private func user(_ call: Call, _ app: AppRecord) async throws -> ReadAccess.User? {
        // An empty token is one that a client failed to fill in: it is not nobody.
        guard let token = call.query.parameter("token") else { return nil }
        guard let user = try await translating(.reads, await access.user(token: token, app: app.id)) else {
            throw Self.invalidToken
        }
        return user
    }

    private func add(
        _ asked: Asked, _ user: ReadAccess.User?, _ permit: ReadAccess.SubscriptionPermit
    ) async throws -> SubscriptionStore.Reply {
        let settings = asked.app.settings.wakeUp
        var request = SubscriptionStore.Request(
            app: asked.app.id, path: asked.path, token: asked.device, installation: Self.name(of: asked.device),
            mode: asked.mode, lifetime: settings.expiresAfter, weightBytesMax: Int64(settings.weightBytesMax),
            weightLeavesMax: Int64(settings.weightLeavesMax))
        request.perAppMax = Int64(settings.subscriptionsMax)
        if let user { request.user = user.subject }
        (request.claims, request.hasAllClaims) = (permit.claims, permit.hasAllClaims)
        request.rulesRevision = permit.rulesRevision
        let asking = request
        do throws(Problem) {
            return try await translating(.isIdempotent, await store.subscribe(asking))
        } catch {
            // A claim may be a number of a million digits, which no database stores.
            guard error.code == .invalidValue, user != nil else { throw error }
            throw Self.invalidToken
        }
    }

    /// Source: the described service, "mode": "noData (or null, this is the default value)".
    private static func mode(_ name: String?) -> WakeUpMode? {
        guard let name, name != "null" else { return .noData }
        return WakeUpMode(name: name)
    }

    /// Returns the same name for the same token. The name reveals nothing about the token.
    private static func name(of token: String) -> String {
        "wakeup-" + Hexadecimal.text(Array(Hashes.sha256(Array(token.utf8)).prefix(16)))
    }
}

/// The refusals of the described service: an object with a status.
enum StatusAnswer {
    static func body(_ status: String) -> [UInt8] { JSONWriter.body { $0.member("status", status) } }

    /// Answers a problem that the service knows nothing of.
    static func answer(_ problem: Problem) -> Answer {
        switch problem.code {
        case .malformedPath, .invalidQuery: Answer(.badRequest, body("invalid_request"))
        case .shareUsedUp: answer(problem, "too_many")
        default: answer(problem, problem.code.rawValue)
        }
    }

    private static func answer(_ problem: Problem, _ status: String) -> Answer {
        Answer(
            HTTPResponse.Status(code: problem.code.status), body(status),
            headers: problem.retryAfterSeconds.map { [(.retryAfter, String($0))] } ?? [])
    }
}
