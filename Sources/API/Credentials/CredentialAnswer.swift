import Basis
import JSON
import Store

/// Credentials as the API shows them, without their secrets.
enum CredentialAnswer {
    /// - Parameter refusals: those that hold, maybe of other credentials too.
    static func page(_ credentials: [CredentialRecord], _ refusals: [CredentialRefusal]) -> [UInt8] {
        JSONWriter.page(credentials, next: nil) { write($1, refusals, to: &$0) }
    }

    /// No provider has seen these credentials yet.
    static func submitted(_ written: WrittenCredentials) -> [UInt8] {
        JSONWriter.body(capacity: 4_096) { writer in
            writer.objects("items", written.records) { write($1, [], to: &$0) }
            writer.optional("next", nil)
            writeWarnings(written.mismatches, to: &writer)
        }
    }

    /// - Parameter written: the activated credential, and maybe that of the sibling environment.
    static func activated(_ written: WrittenCredentials, _ refusals: [CredentialRefusal]) -> [UInt8] {
        JSONWriter.body(capacity: 1_024) { writer in
            write(written.records[0], refusals, to: &writer)
            if let sibling = written.records.dropFirst().first {
                writer.object("sibling") { write(sibling, refusals, to: &$0) }
            } else {
                writer.optional("sibling", nil)
            }
            writeWarnings(written.mismatches, to: &writer)
        }
    }

    private static func write(
        _ credential: CredentialRecord, _ refusals: [CredentialRefusal], to writer: inout JSONWriter
    ) {
        writer.member("id", String(credential.id.value))
        writer.member("submission", String(credential.submission.value))
        writer.member("provider", credential.provider.name)
        writer.member("kind", credential.kind.rawValue)
        writer.member("environment", credential.environment.name)
        writer.strings("topics", credential.topics)
        writer.member("state", credential.state.name)
        writeFacts(credential.facts, to: &writer)
        writer.time("created_at", credential.createdAt)
        writer.optionalTime("activated_at", credential.activatedAt)
        writer.optionalTime("retired_at", credential.retiredAt)
        if let refusal = refusals.first(where: { $0.credential == credential.id }) {
            writer.object("refused") {
                $0.member("reason", refusal.reason)
                $0.time("since", refusal.since)
            }
        } else {
            writer.optional("refused", nil)
        }
    }

    private static func writeWarnings(_ mismatches: [TopicMismatch], to writer: inout JSONWriter) {
        writer.objects("warnings", mismatches) { writer, mismatch in
            writer.member("code", mismatch.code)
            writer.member("detail", mismatch.sentence)
        }
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

extension TopicMismatch {
    /// Stable words: docs/openapi.yaml lists them.
    fileprivate var code: String {
        switch kind {
        case .withoutDevices: "topic_without_devices"
        case .withoutCredential: "topic_without_credential"
        }
    }

    fileprivate var sentence: String {
        switch kind {
        case .withoutDevices:
            "The credential names the topic \(topic), but no device of the app does. Compare it with the bundle id of the "
                + "app's build."
        case .withoutCredential(let environment):
            "Devices of the \(environment.name) environment have the topic \(topic), but no active credential covers it: "
                + "their pushes wait. Submit a credential for that topic."
        }
    }
}
