import APNs
import Encodings
import TLS

/// The credentials that one connection has shown so far, and what Apple therefore allows.
///
/// The first provider token binds the connection to its team and to its key's family. An expired token spoils the
/// connection for good.
struct ConnectionCredentials {
    let certificate: TLSCertificate?
    /// The certificate's SHA-256 in hexadecimal, recorded with every push.
    let certificateName: String?
    private(set) var current: Accepted?
    private var first: Accepted?
    /// Practice: after `ExpiredProviderToken` not even a fresh token helps.
    private(set) var isInvalidated = false

    struct Accepted {
        let text: String
        let token: ProviderToken
        let key: RegisteredKey?
    }

    init(certificate: TLSCertificate?) {
        self.certificate = certificate
        certificateName = certificate.map { Hexadecimal.text($0.sha256) }
    }

    mutating func invalidate() { isInvalidated = true }

    mutating func accept(_ accepted: Accepted) {
        if first == nil { first = accepted }
        current = accepted
    }

    var certificateTopics: [String]? { certificate?.usableTopics }

    func mayFollow(_ token: ProviderToken, _ key: RegisteredKey?) -> Bool {
        guard let first else { return true }
        guard first.token.teamID == token.teamID else { return false }
        guard let bound = first.key, let key else { return true }
        if bound.keyID == key.keyID { return true }
        switch (bound.scope, key.scope) {
        case (.topics(_, _, let related), .topics): return related == key.keyID
        case (.topics, _), (_, .topics): return false
        case (.team(let own), .team(let other)): return own == other
        case (.legacy, _), (_, .legacy): return true
        }
    }
}

extension TLSCertificate {
    /// The certificate's topics: its list, or without a list its one topic. An unreadable list gives none.
    package var usableTopics: [String] {
        APNsTopicList.usableTopics(extension: appleTopicList, subjectUID: userID) ?? []
    }
}
