import Basis
import Signing

struct ProviderTokenValidator {
    /// By key id; nil: the signature is not checked.
    private let keys: [String: (teamID: String, verifier: ES256PublicKey)]?
    private let ageMax: Duration
    private let spoilsConnection: Bool
    private var changes: ProviderTokenChanges
    /// Verified tokens by their text: verifying a signature is expensive.
    private var verified: [String: ProviderToken] = [:]

    /// A real provider has one token per key and hour.
    private static let verifiedMax = 1_000
    private static let scheme = "bearer"

    init(_ settings: APNsSimulatorSettings) throws(SigningError) {
        ageMax = settings.providerTokenAgeMax
        spoilsConnection = settings.expiredTokenSpoilsConnection
        changes = ProviderTokenChanges(
            apart: settings.providerTokenChangeInterval, ageMax: settings.providerTokenAgeMax)
        guard case .registered(let registered) = settings.keys else {
            keys = nil
            return
        }
        var keys: [String: (teamID: String, verifier: ES256PublicKey)] = [:]
        for key in registered { keys[key.keyID] = (key.teamID, try ES256PublicKey(pem: key.publicKeyPEM)) }
        self.keys = keys
    }

    /// nil: the request may pass. With a certificate the header is ignored.
    mutating func judge(
        _ authorization: String?, _ credentials: inout ConnectionCredentials, now: WallInstant
    ) -> APNsRefusal? {
        if credentials.certificate != nil { return nil }
        guard !credentials.isInvalidated else { return .expiredProviderToken }
        guard let authorization else { return .missingProviderToken }
        if let current = credentials.current, current.text == authorization {
            return expiry(current.token, &credentials, now)
        }
        if authorization.isEmpty || authorization.lowercased() == Self.scheme { return .missingProviderToken }
        guard let token = verify(authorization) else { return .invalidProviderToken }
        if let refusal = expiry(token, &credentials, now) { return refusal }
        guard credentials.mayFollow(token) else { return .unrelatedKeyID }
        guard changes.admit(authorization, token, nowSeconds: Self.seconds(now)) else {
            return .tooManyProviderTokenUpdates
        }
        credentials.current = .init(text: authorization, token: token)
        return nil
    }

    mutating func forgetChanges() { changes.forget() }

    private static func seconds(_ instant: WallInstant) -> Double { Double(instant.microseconds) / 1_000_000 }

    private func expiry(
        _ token: ProviderToken, _ credentials: inout ConnectionCredentials, _ now: WallInstant
    ) -> APNsRefusal? {
        let age = Self.seconds(now) - token.issuedAt
        let seconds = Double(ageMax.components.seconds)
        guard age > seconds || age < -seconds else { return nil }
        if spoilsConnection { credentials.isInvalidated = true }
        return .expiredProviderToken
    }

    private mutating func verify(_ authorization: String) -> ProviderToken? {
        if let known = verified[authorization] { return known }
        let scheme = ProviderTokenValidator.scheme + " "
        guard authorization.prefix(scheme.count).lowercased() == scheme,
            let token = ProviderToken(Array(authorization.utf8.dropFirst(scheme.utf8.count)))
        else { return nil }
        if let keys {
            guard let key = keys[token.keyID], key.teamID == token.teamID,
                key.verifier.verifies(token.signingInput, signature: token.signature)
            else { return nil }
        }
        if verified.count >= ProviderTokenValidator.verifiedMax { verified.removeAll(keepingCapacity: true) }
        verified[authorization] = token
        return token
    }
}
