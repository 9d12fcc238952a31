import Basis
import JSON
import Store

/// Credentials as the API shows them, without their secrets.
enum CredentialAnswer {
    static func body(_ credential: CredentialRecord) -> [UInt8] {
        JSONWriter.body(capacity: 512) { write(credential, to: &$0) }
    }

    static func page(_ credentials: [CredentialRecord]) -> [UInt8] {
        JSONWriter.page(credentials, next: nil) { write($1, to: &$0) }
    }

    private static func write(_ credential: CredentialRecord, to writer: inout JSONWriter) {
        writer.member("id", String(credential.id.value))
        writer.member("provider", credential.provider.name)
        writer.member("kind", credential.kind.rawValue)
        writer.member("environment", credential.environment.name)
        writer.strings("topics", credential.topics)
        writer.member("state", credential.state.name)
        writeFacts(credential.facts, to: &writer)
        writer.time("created_at", credential.createdAt)
        writer.optionalTime("activated_at", credential.activatedAt)
        writer.optionalTime("retired_at", credential.retiredAt)
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
