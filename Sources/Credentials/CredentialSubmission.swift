import Content
import Model
import ProviderInterface
import Store

/// A credential as an operator submits it. Its secrets are never returned.
package struct CredentialSubmission: Sendable, CustomStringConvertible {
    package let provider: Provider
    package let form: SubmittedForm
    package let environments: [PushEnvironment]
    /// Empty: a key serves every topic of its team; a certificate itself names its topics.
    package let topics: [String]
    package let activate: Bool

    package init(
        provider: Provider, form: SubmittedForm, environments: [PushEnvironment], topics: [String], activate: Bool
    ) {
        (self.provider, self.form, self.environments) = (provider, form, environments)
        (self.topics, self.activate) = (topics, activate)
    }

    package var description: String { "\(provider.name) credential submission for \(environments.map(\.name))" }
}

/// The reason why a credential is refused, as values; the sentence is for the operator.
package enum CredentialFault: Error, Equatable, Sendable, CustomStringConvertible {
    /// The provider could not use it, or can't use it any more.
    case unusable(ProviderFault)
    case unknownCredential
    /// Both environments were asked for, and the credential was submitted for one, or its sibling was deleted.
    case hasNoSibling(PushEnvironment)
    /// Too many apps have key files to open; nothing was done.
    case overloaded
    /// Too many of this app's key files wait to be opened; nothing was done.
    case shareUsedUp
    case openingTooSlow(deadline: Duration)
    case store(StoreFault)
    case vault(VaultError)

    package var description: String {
        switch self {
        case .unusable(let fault): fault.detail
        case .unknownCredential: "This app has no such credential."
        case .hasNoSibling(let environment):
            "This credential is for \(environment.name) only. Leave environment out, or submit the credential again with "
                + "the environment both."
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
