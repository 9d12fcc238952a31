import Basis
import HTTPTypes
import JSON
import Model
import Requests
import Signing
import Store

/// Makes, lists and revokes API keys. Only the answer to its creation contains a key itself.
struct KeyHandlers: Sendable {
    let apps: AppHandlers
    let store: KeyStore
    let authenticator: APIKeyAuthenticator
    let clock: @Sendable () -> WallInstant
    let entropy: @Sendable (Int) -> [UInt8]

    func list(_ call: Call) async throws(Problem) -> Answer {
        let limit = try call.query.limit()
        let after = try call.query.cursor { Int64($0).flatMap { $0 < 0 ? nil : $0 } }
        let app = try await owner(of: call)
        let keys = try await translating(.reads, await store.list(app: app, after: after ?? 0, limit: limit))
        return Answer(.ok, KeyAnswer.page(keys, next: keys.count == limit ? keys.last.map { String($0.id) } : nil))
    }

    /// Creates a key. Its name is unique among its owner's keys, so that a repeated request makes no second.
    func create(_ call: Call) async throws(Problem) -> Answer {
        let request = try KeyRequest.read(call.body, now: clock())
        for (place, scope) in request.scopes.enumerated() where !call.caller.has(scope) {
            throw Problem(
                .forbidden,
                "A key can't have more scopes than the key that creates it, and this key lacks the scope "
                    + "\"\(scope.rawValue)\". Use a key that has it, or leave the scope out.",
                at: .root / "scopes" / place, missing: [scope])
        }
        let app = try await owner(of: call)
        let text = APIKeyText.make(from: entropy(APIKeyText.randomBytes))
        let key = NewAPIKey(
            name: request.name, scopes: request.scopes, sha256: Hashes.sha256(Array(text.utf8)),
            hint: String(text.suffix(APIKeyText.hintCharacters)), expiresAt: request.expiresAt)
        let made = try await translating(.isIdempotent, await store.create(key, app: app, maker: call.caller.key))
        guard let made else {
            // A cached key opens the API a moment after its revocation, but must make no key that lasts.
            if let maker = call.caller.key, try await !translating(.reads, await store.lives(maker)) {
                authenticator.forget()
                throw Problem(.unauthorized, "This API key is not valid here: it was revoked, or has expired.")
            }
            throw Problem(
                .tooManyKeys, "There are \(KeyStore.keysMax) keys already. Revoke those that are no longer used.")
        }
        // The key may have been tried, and cached as unknown, before it existed.
        authenticator.forget()
        apps.log.note(.created, made, by: call.caller)
        return Answer(.created, KeyAnswer.body(made, key: text), headers: [(.cacheControl, "no-store")])
    }

    /// Revokes only a key that the caller could have made: no client's key may revoke the administrator's.
    func delete(_ call: Call) async throws(Problem) -> Answer {
        let app = try await owner(of: call)
        let text = call.match.names.last ?? ""
        let unknown = Problem(.unknownKey, "No key has this id. GET .../keys lists the keys.")
        guard let id = Int64(text), id > 0 else { throw unknown }
        let found = try await translating(.reads, await store.list(app: app, after: id - 1, limit: 1)).first
        guard let found, found.id == id else { throw unknown }
        // A key's scopes never change: those read here are still right when it is revoked.
        if let more = found.scopes.first(where: { !call.caller.has($0) }) {
            throw Problem(
                .forbidden,
                "A key can only revoke keys that it could have created. This key lacks the other key's scope "
                    + "\"\(more.rawValue)\". Use a key that has it.", missing: [more])
        }
        let isDeleted = try await translating(.isIdempotent, await store.delete(id, app: app))
        authenticator.forget()
        guard isDeleted else { throw unknown }
        apps.log.note(.revoked, found, by: call.caller)
        return .done
    }

    private func owner(of call: Call) async throws(Problem) -> AppID? {
        guard call.match.endpoint.isOfApp else { return nil }
        return try await apps.app(of: call).id
    }
}
