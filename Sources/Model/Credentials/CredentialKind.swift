/// The form of a credential. The names stand in the API and in the database.
package enum CredentialKind: String, Sendable, CaseIterable {
    case token
    case certificate
    case serviceAccount = "service_account"
    case client
}
