import JSON
import Logging
import Model
import Store

/// The log's account of administration: what was changed, and by which key. It names no secret and no user.
struct AdministrationLog: Sendable {
    let log: Logger

    enum CredentialChange: String {
        case submitted = "Credential submitted"
        case activated = "Credential activated"
        case retired = "Credential retired"
        case deleted = "Credential deleted"
    }

    enum KeyChange: String {
        case created = "API key created"
        case revoked = "API key revoked"
    }

    enum AppChange: String {
        case created = "App created"
        case changed = "App settings changed"
        case deleted = "App deleted"
        case rulesSet = "Read rules set"
        case userKeyAdded = "User key added"
        case userKeyRemoved = "User key removed"
        case userErased = "User erased"
        case subscriptionsRevoked = "Wake-up subscriptions revoked"
    }

    /// - Parameters:
    ///   - app: the app's slug.
    ///   - more: fields of this change alone.
    func note(_ change: AppChange, app: String, by caller: Caller, _ more: Logger.Metadata = [:]) {
        let fields: Logger.Metadata = ["app": "\(app)", "by": "\(caller.name)", "by_key_id": "\(caller.keyText)"]
        log.notice("\(change.rawValue)", metadata: fields.merging(more) { own, _ in own })
    }

    /// - Parameter app: the app's slug.
    func note(_ change: CredentialChange, _ credential: CredentialRecord, app: String, by caller: Caller) {
        log.notice(
            "\(change.rawValue)",
            metadata: [
                "app": "\(app)", "credential": "\(credential.id.value)", "provider": "\(credential.provider.name)",
                "environment": "\(credential.environment.name)", "key": "\(credential.publicName)",
                "by": "\(caller.name)", "by_key_id": "\(caller.keyText)",
            ])
    }

    func note(_ change: KeyChange, _ key: APIKeyRecord, by caller: Caller) {
        log.notice(
            "\(change.rawValue)",
            metadata: [
                "app": "\(key.app ?? "all")", "key_id": "\(key.id)", "name": "\(key.name)",
                "scopes": "\(key.scopes.map(\.rawValue).joined(separator: ","))", "by": "\(caller.name)",
                "by_key_id": "\(caller.keyText)",
            ])
    }
}

extension Caller {
    /// Its key's id, for the log. A name may be that of another app's key.
    fileprivate var keyText: String { key.map { String($0) } ?? "operator" }
}

extension CredentialRecord {
    /// The id of its key, or the beginning of its certificate's fingerprint.
    fileprivate var publicName: String {
        let facts = (try? JSONReader.read(facts, limits: .trusted))?.object
        let keyID = facts?["key_id"]?.string ?? facts?["private_key_id"]?.string
        return keyID ?? facts?["sha256"]?.string.map { "sha256:" + $0.prefix(16) } ?? ""
    }
}
