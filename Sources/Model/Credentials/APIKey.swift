import Basis

/// What an API key opens. Of `admin`, everything.
package enum APIScope: String, CaseIterable, Sendable {
    /// Registrations and badges, and erasing people.
    case devices
    /// Tokens are shown whole, where one of the other scopes shows them at all.
    case tokens
    /// Messages to devices, users and tokens that are named; accounts of messages.
    case messages
    /// Messages to audiences that are described: all, tags, stale devices. And what `messages` reads.
    case broadcast
    case feedback
    case credentials
    /// Making and revoking keys that open no more than this one.
    case keys
    case admin
}

/// A key as it is listed; the key itself is shown once, when it is made.
package struct APIKeyRecord: Equatable, Sendable {
    package let id: Int64
    /// The slug of the app whose it is; nil: of all.
    package let app: String?
    /// Another app may have that slug later.
    package let appID: AppID?
    package let name: String
    /// In the order of `APIScope.allCases`.
    package let scopes: [APIScope]
    /// Its last characters.
    package let hint: String
    package let createdAt: WallInstant
    package let expiresAt: WallInstant?
    /// To the minute.
    package let lastUsedAt: WallInstant?

    package init(
        id: Int64, app: String?, appID: AppID?, name: String, scopes: [APIScope], hint: String, createdAt: WallInstant,
        expiresAt: WallInstant?, lastUsedAt: WallInstant?
    ) {
        self.id = id
        self.app = app
        self.appID = appID
        self.name = name
        self.scopes = scopes
        self.hint = hint
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.lastUsedAt = lastUsedAt
    }
}

/// A key that is about to be made.
package struct NewAPIKey: Equatable, Sendable {
    package let name: String
    package let scopes: [APIScope]
    package let sha256: [UInt8]
    package let hint: String
    package let expiresAt: WallInstant?

    package init(name: String, scopes: [APIScope], sha256: [UInt8], hint: String, expiresAt: WallInstant?) {
        self.name = name
        self.scopes = scopes
        self.sha256 = sha256
        self.hint = hint
        self.expiresAt = expiresAt
    }
}
