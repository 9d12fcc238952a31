import Basis
import Encodings
import JSON
import Reactor
import Signing

/// Google's OAuth server: verifies the assertions of service accounts, and issues access tokens for them.
/// Source: RFC 7523; Google, "Using OAuth 2.0 for server to server applications".
struct AccessTokens {
    struct Grant {
        let account: ServiceAccount
        let scopes: [String]
        let expiresAt: WallInstant
    }

    /// OAuth's answer to a request that it doesn't grant.
    struct Refusal: Error, Equatable {
        let status: Int
        let error: String
        let description: String

        static func invalidGrant(_ description: String) -> Refusal {
            Refusal(status: 400, error: "invalid_grant", description: description)
        }

        var body: [UInt8] { (["error": .string(error), "error_description": .string(description)] as JSONValue).bytes }
    }

    private let accounts: [(account: ServiceAccount, verifier: RS256PublicKey)]
    private let lifetimeSeconds: Int
    private var issued: [String: Grant] = [:]
    private var order: [String] = []

    /// Older ones are forgotten, and thereby revoked.
    static let issuedMax = 10_000
    private static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    private static let assertionSecondsMax = 3_600.0
    /// The tolerated difference of clocks.
    private static let skewSecondsMax = 300.0
    /// google-auth uses this audience, whatever `token_uri` says.
    private static let audienceOfGoogle = "https://oauth2.googleapis.com/token"
    private static let scopePrefix = "https://www.googleapis.com/auth/"
    private static let sendScopes = [scopePrefix + "firebase.messaging", scopePrefix + "cloud-platform"]

    init(_ settings: FCMSimulatorSettings) throws(SigningError) {
        var accounts: [(account: ServiceAccount, verifier: RS256PublicKey)] = []
        for account in settings.accounts { accounts.append((account, try RS256PublicKey(pem: account.publicKeyPEM))) }
        self.accounts = accounts
        lifetimeSeconds = settings.accessTokenSeconds
    }

    /// The body of an answer of 200.
    /// - Parameter url: the URL of the request; the assertion's audience must be this or Google's.
    mutating func answer(_ form: [UInt8], url: String, now: WallInstant) throws(Refusal) -> [UInt8] {
        let fields = AccessTokens.fields(form)
        let type = fields.first { $0.name == "grant_type" }?.value ?? ""
        guard type == AccessTokens.grantType else {
            throw Refusal(status: 400, error: "unsupported_grant_type", description: "Invalid grant_type: \(type)")
        }
        guard let assertion = fields.first(where: { $0.name == "assertion" })?.value else {
            throw Refusal(status: 400, error: "invalid_request", description: "Missing parameter: assertion")
        }
        let token = issue(try believe(Array(assertion.utf8), url: url, now: now))
        let answer: JSONValue = [
            "access_token": .string(token), "expires_in": .integer(lifetimeSeconds), "token_type": "Bearer",
        ]
        return answer.bytes
    }

    private func believe(_ assertion: [UInt8], url: String, now: WallInstant) throws(Refusal) -> Grant {
        let parts = assertion.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let header = JSONObject(base64URL: parts[0]),
            let claims = JSONObject(base64URL: parts[1]), let signature = Base64.urlDecode(parts[2])
        else { throw .invalidGrant("Bad Request") }
        guard header["alg"]?.string == "RS256" else { throw .invalidGrant("Invalid JWT: Unsupported algorithm.") }
        guard let (account, verifier) = accounts.first(where: { $0.account.clientEmail == claims["iss"]?.string })
        else { throw .invalidGrant("Invalid grant: account not found") }
        let signed = Array(assertion[..<parts[2].startIndex].dropLast())
        guard header["kid"].map({ $0.string == account.privateKeyID }) ?? true,
            verifier.verifies(signed, signature: signature)
        else { throw .invalidGrant("Invalid JWT Signature.") }
        let audience = claims["aud"]?.string
        guard audience == url || audience == AccessTokens.audienceOfGoogle else {
            throw .invalidGrant("Invalid JWT: Failed audience check.")
        }
        try checkTimes(claims, now)
        let scopes = (claims["scope"]?.string ?? "").split(separator: " ").map(String.init)
        guard !scopes.isEmpty, scopes.allSatisfy({ $0.hasPrefix(Self.scopePrefix) || $0 == "openid" || $0 == "email" })
        else {
            throw Refusal(
                status: 400, error: "invalid_scope", description: "Invalid OAuth scope or ID token audience provided.")
        }
        guard claims["sub"].map({ $0.string == account.clientEmail }) ?? true else {
            throw Refusal(
                status: 401, error: "unauthorized_client",
                description: "Client is unauthorized to retrieve access tokens using this method.")
        }
        return Grant(account: account, scopes: scopes, expiresAt: now + .seconds(lifetimeSeconds))
    }

    private func checkTimes(_ claims: JSONObject, _ now: WallInstant) throws(Refusal) {
        let nowSeconds = Double(now.microseconds) / 1_000_000
        let skew = AccessTokens.skewSecondsMax
        guard let issuedAt = claims["iat"]?.number?.double, let expiresAt = claims["exp"]?.number?.double,
            expiresAt - issuedAt <= AccessTokens.assertionSecondsMax, expiresAt > issuedAt,
            issuedAt <= nowSeconds + skew, expiresAt > nowSeconds - skew
        else {
            throw .invalidGrant(
                "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. "
                    + "Check your iat and exp values in the JWT claim.")
        }
    }

    private mutating func issue(_ grant: Grant) -> String {
        // Real tokens may end in a run of dots, which no client may trim. The prefix makes these easy to find in a log.
        let token =
            "ya29.c.stand-in-" + String(decoding: Base64.urlEncode(Entropy.bytes(48)), as: UTF8.self)
            + String(repeating: ".", count: 8)
        if order.count >= AccessTokens.issuedMax {
            for old in order.prefix(AccessTokens.issuedMax / 2) { issued.removeValue(forKey: old) }
            order.removeFirst(AccessTokens.issuedMax / 2)
        }
        issued[token] = grant
        order.append(token)
        return token
    }

    /// Returns the grant of a request's access token. Throws if the token is unknown or expired, or its scopes don't
    /// allow sending.
    func grant(_ authorization: String?, now: WallInstant) throws(FCMRefusal) -> Grant {
        let scheme = "bearer "
        guard let authorization, authorization.prefix(scheme.count).lowercased() == scheme,
            let grant = issued[String(authorization.dropFirst(scheme.count))], now < grant.expiresAt
        else { throw .unauthenticated }
        guard grant.scopes.contains(where: Self.sendScopes.contains) else { throw .scopeInsufficient }
        return grant
    }

    mutating func revokeAll() {
        issued.removeAll()
        order.removeAll()
    }

    /// Parses `application/x-www-form-urlencoded`; what can't be read is left out.
    private static func fields(_ form: [UInt8]) -> [(name: String, value: String)] {
        String(decoding: form, as: UTF8.self).split(separator: "&").compactMap { pair in
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let texts = halves.map { half in PercentDecoding.decode(String(half.map { $0 == "+" ? " " : $0 })) }
            guard texts.count == 2, let name = texts[0], let value = texts[1] else { return nil }
            return (name, value)
        }
    }
}
