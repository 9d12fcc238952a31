import JSON
import Model

enum KeyAnswer {
    /// The creator's name for people, if the operator's key created a key.
    private static let adminKey = "admin key"

    static func page(_ keys: [APIKeyRecord], next: String?) -> [UInt8] {
        JSONWriter.page(keys, next: next) { write($1, nil, to: &$0) }
    }

    static func body(_ key: APIKeyRecord, key text: String) -> [UInt8] { JSONWriter.body { write(key, text, to: &$0) } }

    private static func write(_ key: APIKeyRecord, _ text: String?, to writer: inout JSONWriter) {
        writer.member("id", String(key.id))
        writer.optional("app", key.app)
        writer.member("name", key.name)
        writer.strings("scopes", key.scopes.map(\.rawValue))
        if let text { writer.member("key", text) }
        writer.member("hint", key.hint)
        writer.time("created_at", key.createdAt)
        writer.member("created_by", key.createdBy ?? adminKey)
        writer.optionalTime("expires_at", key.expiresAt)
        writer.optionalTime("last_used_at", key.lastUsedAt)
    }
}
