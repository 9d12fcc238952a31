import Expressions
import HTTPTypes
import JSON
import Model
import Requests
import WakeUp
import WakeUpStore

/// An app's read rules, and the keys that verify the tokens of its users.
struct AccessHandlers: Sendable {
    let apps: AppHandlers
    let access: ReadAccess

    func readRules(_ call: Call) async throws(Problem) -> Answer {
        let app = try await apps.app(of: call)
        let rules = try await translating(.reads, await access.rules(of: app.id))
        let source = Array((rules?.source ?? "{}").utf8)
        return Answer(.ok, JSONWriter.body { $0.member("rules", raw: source) })
    }

    func setRules(_ call: Call) async throws(Problem) -> Answer {
        var reader = try EnvelopeReader(body: call.body, limits: ReadRuleLimits.json)
        let rules = try reader.required("rules", "an object with .read and the rules of children")
        try reader.end()
        let source = rules.bytes
        do throws(ReadRuleFault) { _ = try ReadRules.read(rules, at: .root / "rules") } catch { throw Problem(error) }
        let app = try await apps.app(of: call)
        try await translating(.isIdempotent, await access.setRules(source, app: app.id))
        apps.log.note(.rulesSet, app: app.slug, by: call.caller)
        return .done
    }

    func listKeys(_ call: Call) async throws(Problem) -> Answer {
        let app = try await apps.app(of: call)
        let keys = try await translating(.reads, await access.keys(of: app.id))
        return Answer(
            .ok,
            JSONWriter.page(keys, next: nil) { writer, key in
                writer.member("kid", key.kid)
                writer.member("algorithm", key.algorithm)
                writer.time("created_at", key.createdAt)
            })
    }

    func addKey(_ call: Call) async throws(Problem) -> Answer {
        var reader = try EnvelopeReader(body: call.body)
        let kid = try reader.requiredString("kid", bytesMax: UserTokenKey.kidBytesMax, "the key's name in tokens")
        guard RegistrationRequest.isText(kid) else { throw .controlCharacters(at: .root / "kid") }
        let algorithm = try reader.choice(
            "algorithm", UserTokenAlgorithm.allCases.map(\.rawValue), UserTokenAlgorithm.init(rawValue:))
        guard let algorithm else {
            throw Problem(.missingMember, "algorithm is missing: HS256, RS256 or ES256.", at: .root / "algorithm")
        }
        let text = try reader.required("key", "the secret in base64url, or the public key in PEM")
            .anyString(at: .root / "key")
        try reader.end()
        let key: UserTokenKey
        do throws(UserTokenKeyFault) {
            key = try UserTokenKey(kid: kid, algorithm: algorithm, submitted: text)
        } catch { throw Problem(error) }
        let app = try await apps.app(of: call)
        switch try await translating(.mayDouble, await access.add(key, submitted: text, app: app.id)) {
        case .added:
            apps.log.note(.userKeyAdded, app: app.slug, by: call.caller, ["kid": "\(kid)"])
            return Answer(
                .created,
                JSONWriter.body {
                    $0.member("kid", kid)
                    $0.member("algorithm", algorithm.rawValue)
                })
        case .kidTaken:
            throw Problem(
                .conflict, "A key of this app has this kid. Choose another one, or delete that key first.",
                at: .root / "kid")
        case .tooMany:
            throw Problem(
                .tooManyKeys,
                "The app has \(AccessStore.keysMax) of these keys already. Delete those that sign no more.")
        }
    }

    func removeKey(_ call: Call) async throws(Problem) -> Answer {
        let app = try await apps.app(of: call)
        guard try await translating(.isIdempotent, await access.removeKey(kid: call.subject, app: app.id)) else {
            throw Problem(.unknownKey, "No key has this kid. GET .../user-keys lists the keys.")
        }
        apps.log.note(.userKeyRemoved, app: app.slug, by: call.caller, ["kid": "\(call.subject)"])
        return .done
    }
}

extension Endpoint {
    static let access: [Endpoint] = [
        Endpoint("readRules", .get, "/v1/apps/{app}/rules", .scope(.nodes)) { try await $0.access.readRules($1) },
        Endpoint("setRules", .put, "/v1/apps/{app}/rules", .scope(.nodes), body: .json) {
            try await $0.access.setRules($1)
        },
        Endpoint("listUserKeys", .get, "/v1/apps/{app}/user-keys", .scope(.credentials)) {
            try await $0.access.listKeys($1)
        },
        Endpoint("addUserKey", .post, "/v1/apps/{app}/user-keys", .scope(.credentials), body: .json) {
            try await $0.access.addKey($1)
        },
        Endpoint("removeUserKey", .delete, "/v1/apps/{app}/user-keys/{kid}", .scope(.credentials)) {
            try await $0.access.removeKey($1)
        },
    ]
}
