import APNs
import Encodings
import TLS

/// The credentials that one connection has shown so far, and what Apple therefore allows.
///
/// The first provider token binds the connection to its team. An expired token spoils the connection for good.
struct ConnectionCredentials {
    let certificate: TLSCertificate?
    /// The certificate's SHA-256 in hexadecimal, recorded with every push.
    let certificateName: String?
    /// The provider token that was accepted last.
    var current: Accepted?
    /// Practice: after `ExpiredProviderToken` not even a fresh token helps.
    var isInvalidated = false

    struct Accepted {
        let text: String
        let token: ProviderToken
    }

    init(certificate: TLSCertificate?) {
        self.certificate = certificate
        certificateName = certificate.map { Hexadecimal.text($0.sha256) }
    }

    var certificateTopics: [String]? { certificate?.usableTopics }

    func mayFollow(_ token: ProviderToken) -> Bool { current.map { $0.token.teamID == token.teamID } ?? true }
}

extension TLSCertificate {
    /// The certificate's topics: its list, or without a list its one topic. An unreadable list gives none.
    package var usableTopics: [String] {
        APNsTopicList.usableTopics(extension: appleTopicList, subjectUID: userID) ?? []
    }
}
