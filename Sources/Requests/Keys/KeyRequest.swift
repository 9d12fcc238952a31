import Basis
import JSON
import Model

/// The body of `POST .../keys`.
package struct KeyRequest: Equatable, Sendable {
    static let nameBytesMax = 64
    /// The name of the operator's own key, which no other key may have.
    package static let nameOfOperatorsKey = "admin key"

    package let name: String
    /// The scopes in the order of the request, each once.
    package let scopes: [APIScope]
    /// nil: the key never expires.
    package let expiresAt: WallInstant?

    package static func read(_ body: [UInt8], now: WallInstant) throws(Problem) -> KeyRequest {
        var reader = try EnvelopeReader(body: body)
        let name = try reader.requiredString("name", bytesMax: nameBytesMax, "a name that says what the key is for")
        guard RegistrationRequest.isText(name) else { throw .controlCharacters(at: .root / "name") }
        guard name.lowercased() != nameOfOperatorsKey else {
            throw Problem(
                .invalidValue, "\"\(name)\" is the name of the operator's own key. Give another one.",
                at: .root / "name")
        }
        let asked = try reader.required("scopes", "an array of scope names")
        let scopes = try Self.scopes(asked)
        let expiresAt = try reader.futureInstant("expires_at", now: now, "the key would never be valid")
        try reader.end()
        return KeyRequest(name: name, scopes: scopes, expiresAt: expiresAt)
    }

    private static func scopes(_ value: JSONValue) throws(Problem) -> [APIScope] {
        let pointer = JSONPointer.root / "scopes"
        let names = try value.elements(countMax: APIScope.allCases.count, at: pointer)
        guard !names.isEmpty else { throw Problem(.invalidValue, "A key must have at least one scope.", at: pointer) }
        var scopes: [APIScope] = []
        for (place, name) in names.enumerated() {
            let text = try name.anyString(at: pointer / place)
            guard text != "webhooks" else {
                throw Problem(
                    .notSupported, "This version does not support webhooks, and has no scope for them. Leave it out.",
                    at: pointer / place)
            }
            guard let scope = APIScope(rawValue: text) else {
                throw Problem(
                    .invalidValue, "A scope is one of \(APIScope.allCases.map(\.rawValue).joined(separator: ", ")).",
                    at: pointer / place)
            }
            guard !scopes.contains(scope) else {
                throw Problem(.invalidValue, "This scope is listed twice.", at: pointer / place)
            }
            scopes.append(scope)
        }
        return scopes
    }
}
