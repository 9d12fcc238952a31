import Basis
import FCM
import Model
import Signing
import Store

/// A credential as an operator submits it. Its secrets are never returned.
package struct CredentialSubmission: Sendable, CustomStringConvertible {
    package enum Form: Sendable {
        /// A provider-token key: the PKCS#8 PEM that Apple lets download once.
        case token(keyID: String, teamID: String, p8: [UInt8])
        /// Certificate (chain) and key in one PEM text.
        case certificatePEM([UInt8])
        case certificatePKCS12([UInt8], password: String)
        /// The JSON file of a Google service account.
        case serviceAccount([UInt8])
    }

    package let provider: Provider

    package let form: Form
    /// The environments whose slots are filled, one or both.
    package let environments: [PushEnvironment]
    /// Empty: a key serves every topic of its team; a certificate itself names its topics.
    package let topics: [String]
    package let activate: Bool

    package init(
        provider: Provider, form: Form, environments: [PushEnvironment], topics: [String], activate: Bool
    ) {
        self.provider = provider
        self.form = form
        self.environments = environments
        self.topics = topics
        self.activate = activate
    }

    package var description: String { "\(provider.name) credential submission for \(environments.map(\.name))" }
}

/// The member of a submission that holds a certificate and its key.
package enum CertificateMember: String, Sendable {
    case pem
    case pkcs12
}

/// The reason why a credential is refused, as values; the sentence is for the operator.
package enum CredentialFault: Error, Equatable, Sendable, CustomStringConvertible {
    case keyIDMalformed
    case teamIDMalformed
    case keyUnreadable
    /// The p8 is encrypted, and the API takes no password for it.
    case keyEncrypted
    /// The certificate's key has an unsupported type, curve or length.
    case keyUnsupported(CertificateMember)
    /// The file asks for at least that many rounds of key derivation, which is too many. None was done for the layer
    /// that asks for them.
    case derivationTooLong(rounds: Int, CertificateMember)
    case certificateUnreadable
    case passwordWrong
    case keyDoesNotMatchCertificate
    case certificateExpired(at: WallInstant)
    case certificateNotYetValid(from: WallInstant)
    case environmentNotCovered(PushEnvironment)
    case topicNotCovered(String)
    case certificateNamesNoTopic
    case serviceAccount(FCMServiceAccountFault)
    /// The token_uri leads into our own network, and no setting allows that.
    case tokenURIPrivate
    case unknownCredential
    /// Too many apps have key files to open; nothing was done.
    case overloaded
    /// Too many of this app's key files wait to be opened; nothing was done.
    case shareUsedUp
    /// A sealed key has not been opened within this time.
    case openingTooSlow(deadline: Duration)
    case store(StoreFault)
    case vault(VaultError)

    package var description: String {
        switch self {
        case .keyIDMalformed: "A key id has 10 letters and digits; it is part of the file name AuthKey_<key id>.p8."
        case .teamIDMalformed: "A team id has 10 letters and digits; Apple's membership page shows it."
        case .keyUnreadable: "The p8 is not a PEM private key on the curve P-256. Send the file as Apple gave it."
        case .keyEncrypted:
            "The p8 is encrypted, and there is no password for it. Send the file as Apple gave it: Apple's are never "
                + "encrypted."
        case .keyUnsupported:
            "The private key is neither an RSA key of at most 8,192 bits nor a key on the curve P-256, P-384 or P-521. "
                + "Request a certificate for such a key."
        case .derivationTooLong(let rounds, _):
            "The file asks for \(rounds) rounds of key derivation; at most \(DerivationBudget.roundsMax) are allowed. "
                + "Export it again with the default of your tool, for example openssl pkcs12 -export."
        case .certificateUnreadable: "No certificate with its private key could be read from what was sent."
        case .passwordWrong: "The PKCS#12 file does not open with this password."
        case .keyDoesNotMatchCertificate: "The private key does not belong to the certificate."
        case .certificateExpired: "The certificate has expired; request a new one from Apple."
        case .certificateNotYetValid: "The certificate is not valid yet."
        case .environmentNotCovered(let environment):
            "The certificate may not be used in the \(environment.name) environment."
        case .topicNotCovered(let topic): "The certificate does not cover the topic \(topic)."
        case .certificateNamesNoTopic: "The certificate names no topic: it is not an APNs certificate."
        case .serviceAccount(let fault): fault.detail
        case .tokenURIPrivate:
            "The token_uri leads to a private address, or is not https. Google's is https://oauth2.googleapis.com/token; "
                + "for a stand-in set CARILLON_ALLOW_PRIVATE_TARGETS=true."
        case .unknownCredential: "This app has no such credential."
        case .overloaded: "Too many keys are being read at once; nothing was changed. Try again."
        case .shareUsedUp:
            "\(KeyFileQueue.waitingPerAppMax) key files of this app wait to be opened already; nothing was changed. Try "
                + "again, with fewer at once."
        case .openingTooSlow(let deadline):
            "The sealed key did not open within \(deadline.components.seconds) seconds: too many key files are being "
                + "opened, or the machine is too busy. It is used as soon as it opens; else add it again."
        case .store(let fault): "The database could not be used: \(fault)."
        case .vault(let error): error.description
        }
    }
}
