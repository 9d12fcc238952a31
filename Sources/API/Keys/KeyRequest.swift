import Basis
import Calendar
import JSON
import Model

/// The body of `POST .../keys`.
struct KeyRequest: Equatable, Sendable {
    static let nameBytesMax = 64

    let name: String
    /// The scopes in the order of the request, each once.
    let scopes: [APIScope]
    let expiresAt: WallInstant?

    static func read(_ body: [UInt8], now: WallInstant) throws(Problem) -> KeyRequest {
        var reader = try EnvelopeReader(body: body)
        let name = try reader.requiredString("name", bytesMax: nameBytesMax, "what the key is for, for people")
        guard RegistrationRequest.isText(name) else { throw .controlCharacters(at: .root / "name") }
        let asked = try reader.required("scopes", "what the key opens, an array of words")
        let scopes = try Self.scopes(asked)
        let expiresAt = try reader.string("expires_at", bytesMax: 64).map { (text) throws(Problem) in
            guard let instant = RFC3339.parse(text) else {
                throw Problem(
                    .invalidValue, "This must be an instant such as 2027-01-31T12:00:00Z.", at: .root / "expires_at")
            }
            guard instant > now else {
                throw Problem(
                    .invalidValue, "This is over already: the key would open nothing.", at: .root / "expires_at")
            }
            return instant
        }
        try reader.end()
        return KeyRequest(name: name, scopes: scopes, expiresAt: expiresAt)
    }

    private static func scopes(_ value: JSONValue) throws(Problem) -> [APIScope] {
        let pointer = JSONPointer.root / "scopes"
        let names = try value.elements(countMax: APIScope.allCases.count, at: pointer)
        guard !names.isEmpty else { throw Problem(.invalidValue, "A key without scopes opens nothing.", at: pointer) }
        var scopes: [APIScope] = []
        for (place, name) in names.enumerated() {
            guard let text = name.string else { throw .wrongType(name, "a string", at: pointer / place) }
            guard text != "webhooks" else {
                throw Problem(
                    .notSupported, "This version has no webhooks, and no scope for them. Leave it out.",
                    at: pointer / place)
            }
            guard let scope = APIScope(rawValue: text) else {
                throw Problem(
                    .invalidValue,
                    "A scope is one of \(APIScope.allCases.map(\.rawValue).joined(separator: ", ")).",
                    at: pointer / place)
            }
            guard !scopes.contains(scope) else {
                throw Problem(.invalidValue, "This scope stands here twice.", at: pointer / place)
            }
            scopes.append(scope)
        }
        return scopes
    }
}
