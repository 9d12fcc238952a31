import Basis

/// A permission of an API key. `admin` includes all others.
package enum APIScope: String, CaseIterable, Sendable {
    /// Registrations and badges, and erasing users.
    case devices
    /// Shows tokens in full wherever another scope shows them.
    case tokens
    /// Messages to named devices, users and tokens; accounts of messages.
    case messages
    /// Messages to described audiences (all, tags, stale devices), and everything that `messages` may read.
    case broadcast
    case feedback
    case credentials
    /// Reading and writing the app's data tree.
    case nodes
    /// Creating and revoking keys with at most this key's scopes.
    case keys
    case admin
}

/// A key as listed. The key itself is shown once, when it is created.
package struct APIKeyRecord: Equatable, Sendable {
    package let id: Int64
    /// The slug of the key's app; nil: the key is for all apps.
    package let app: String?
    /// The app's id, because another app may have the slug later.
    package let appID: AppID?
    package let name: String
    /// The scopes in the order of `APIScope.allCases`.
    package let scopes: [APIScope]
    /// The last characters of the key.
    package let hint: String
    package let createdAt: WallInstant
    /// The name of the key that created it, which may be revoked since; nil: the operator's key.
    package let createdBy: String?
    package let expiresAt: WallInstant?
    /// The last use that was noted. Later ones within an hour are not.
    package let lastUsedAt: WallInstant?

    package init(
        id: Int64, app: String?, appID: AppID?, name: String, scopes: [APIScope], hint: String, createdAt: WallInstant,
        createdBy: String?, expiresAt: WallInstant?, lastUsedAt: WallInstant?
    ) {
        (self.id, self.app, self.appID, self.name, self.scopes) = (id, app, appID, name, scopes)
        (self.hint, self.createdAt, self.createdBy) = (hint, createdAt, createdBy)
        (self.expiresAt, self.lastUsedAt) = (expiresAt, lastUsedAt)
    }
}

package struct NewAPIKey: Equatable, Sendable {
    package let name: String
    package let scopes: [APIScope]
    package let sha256: [UInt8]
    package let hint: String
    package let expiresAt: WallInstant?

    package init(name: String, scopes: [APIScope], sha256: [UInt8], hint: String, expiresAt: WallInstant?) {
        (self.name, self.scopes, self.sha256, self.hint, self.expiresAt) = (name, scopes, sha256, hint, expiresAt)
    }
}
