import Basis
import JSON
import Store

/// Credentials as the API shows them, without their secrets.
enum CredentialAnswer {
    static func body(_ credential: CredentialRecord) -> [UInt8] {
        var writer = JSONWriter(capacity: 512)
        write(credential, to: &writer)
        return writer.bytes
    }

    static func page(_ credentials: [CredentialRecord]) -> [UInt8] {
        var writer = JSONWriter(capacity: 4_096)
        writer.page(credentials, next: nil) { writer, credential in write(credential, to: &writer) }
        return writer.bytes
    }

    private static func write(_ credential: CredentialRecord, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("id", String(credential.id.value))
        writer.member("provider", credential.provider.name)
        writer.member("kind", credential.kind.rawValue)
        writer.member("environment", credential.environment.name)
        writer.name("topics")
        writer.beginArray()
        for topic in credential.topics { writer.string(topic) }
        writer.endArray()
        writer.member("state", credential.state.name)
        writeFacts(credential.facts, to: &writer)
        writer.time("created_at", credential.createdAt)
        writer.optionalTime("activated_at", credential.activatedAt)
        writer.optionalTime("retired_at", credential.retiredAt)
        writer.endObject()
    }

    /// The gateway wrote the facts, beside the sealed part, to be shown.
    private static func writeFacts(_ facts: [UInt8], to writer: inout JSONWriter) {
        guard let members = (try? JSONReader.read(facts, limits: .trusted))?.object?.members else { return }
        for member in members {
            if member.name == "not_after_seconds", let seconds = member.value.integer.flatMap(Int32.init(exactly:)) {
                writer.time("expires_at", WallInstant(secondsSince1970: Int64(seconds)))
            } else {
                writer.member(member.name, member.value)
            }
        }
    }
}

extension CredentialState {
    var name: String {
        switch self {
        case .staged: "staged"
        case .active: "active"
        case .retired: "retired"
        }
    }
}
