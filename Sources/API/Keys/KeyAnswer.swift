import JSON
import Model

enum KeyAnswer {
    static func page(_ keys: [APIKeyRecord], next: String?) -> [UInt8] {
        var writer = JSONWriter(capacity: 4_096)
        writer.page(keys, next: next) { writer, key in write(key, nil, to: &writer) }
        return writer.bytes
    }

    static func body(_ key: APIKeyRecord, key text: String) -> [UInt8] {
        var writer = JSONWriter()
        write(key, text, to: &writer)
        return writer.bytes
    }

    private static func write(_ key: APIKeyRecord, _ text: String?, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("id", String(key.id))
        writer.optional("app", key.app)
        writer.member("name", key.name)
        writer.name("scopes")
        writer.beginArray()
        for scope in key.scopes { writer.string(scope.rawValue) }
        writer.endArray()
        if let text { writer.member("key", text) }
        writer.member("hint", key.hint)
        writer.time("created_at", key.createdAt)
        writer.optionalTime("expires_at", key.expiresAt)
        writer.optionalTime("last_used_at", key.lastUsedAt)
        writer.endObject()
    }
}
