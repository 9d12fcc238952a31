import PushModel
import TLS

/// What one connection has proven so far, and what Apple therefore allows it.
///
/// The first provider token binds the connection to its team and to its key's family; an expired one spoils the
/// connection for good.
struct ConnectionCredentials {
    let certificate: TLSCertificate?
    private(set) var current: Accepted?
    /// Practice: after `ExpiredProviderToken` not even a fresh token helps.
    private(set) var isSpoiled = false

    struct Accepted {
        let text: String
        let token: ProviderToken
        let key: RegisteredKey?
    }

    init(certificate: TLSCertificate?) { self.certificate = certificate }

    mutating func spoil() { isSpoiled = true }
    mutating func accept(_ accepted: Accepted) { current = accepted }

    /// Topics that the certificate is good for: its list, or where it has none its one topic.
    var certificateTopics: [String]? {
        guard let certificate else { return nil }
        return certificate.apple.topics ?? certificate.userID.map { [$0] } ?? []
    }

    /// Whether a token of this team and key may follow the ones before.
    func mayFollow(_ token: ProviderToken, _ key: RegisteredKey?) -> Bool {
        guard let current else { return true }
        guard current.token.teamID == token.teamID else { return false }
        guard let bound = current.key, let key else { return true }
        if bound.keyID == key.keyID { return true }
        switch (bound.scope, key.scope) {
        case (.topics(_, _, let related), .topics): return related == key.keyID
        case (.topics, _), (_, .topics): return false
        case (.team(let mine), .team(let other)): return mine == other
        case (.legacy, _), (_, .legacy): return true
        }
    }
}
