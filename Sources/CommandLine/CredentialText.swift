import Basis
import Calendar
import JSON
import Model
import Providers
import Reactor

/// Credentials as commands show them.
package enum CredentialText {
    /// The body of a request that concerns the credentials of both environments.
    static let bothEnvironments: JSONValue = ["environment": "both"]
    /// People compare as much. Apple's and Google's pages show the whole one.
    private static let fingerprintCharacters = 16

    static func writeTable(_ credentials: [JSONValue]) {
        guard !credentials.isEmpty else { return Console.remark("No credentials yet: carillon credentials add --help") }
        table(of: credentials, now: Clocks.wallNow()).write()
    }

    package static func table(of credentials: [JSONValue], now: WallInstant) -> TextTable {
        var table = TextTable(
            "ID", "PROVIDER", "KIND", "ENVIRONMENT", "STATE", "KEY", "TOPICS", "VALID UNTIL", "REFUSED")
        for credential in credentials {
            let topics = credential.strings("topics").joined(separator: ",")
            table.add(
                credential.shown("id"), credential.shown("provider"), credential.shown("kind"),
                credential.shown("environment"), credential.shown("state"), key(of: credential),
                topics.isEmpty ? "-" : topics, validity(of: credential, now: now), refusal(of: credential))
        }
        return table
    }

    /// The id of a key, or the fingerprint and serial number of a certificate.
    static func key(of credential: JSONValue) -> String {
        func text(_ name: String) -> String? { credential.object?[name]?.string }
        if let sha256 = text("sha256") {
            let serial = text("serial").map { ", serial \($0)" } ?? ""
            return sha256.prefix(fingerprintCharacters) + serial
        }
        return text("key_id") ?? text("private_key_id").map { String($0.prefix(fingerprintCharacters)) } ?? "-"
    }

    private static func validity(of credential: JSONValue, now: WallInstant) -> String {
        guard let text = credential.object?["expires_at"]?.string, let end = RFC3339.parse(text) else { return "-" }
        let date = text.prefix { $0 != "T" }
        guard now < end else { return "\(date) (expired)" }
        let days = (end - now).components.seconds / 86_400
        return "\(date) (\(days) \(days == 1 ? "day" : "days") left)"
    }

    private static func refusal(of credential: JSONValue) -> String {
        guard let refused = credential.object?["refused"], !refused.isNull else { return "-" }
        return "\(refused.shown("reason")) since \(refused.shown("since"))"
    }

    /// "APNs production", or "FCM", which has one environment.
    package static func place(provider name: String, environment: String) -> String {
        guard let provider = Provider(name: name).flatMap({ PushProviders.offered($0) }) else {
            return "\(name) \(environment)"
        }
        return provider.hasSiblingEnvironment ? "\(provider.title) \(environment)" : provider.title
    }

    /// "key ABCDE12345 (credential 1)", as the provider's page and `credentials list` name it.
    package static func title(of credential: JSONValue) -> String {
        let noun = credential.shown("kind") == CredentialKind.certificate.rawValue ? "certificate" : "key"
        return "\(noun) \(key(of: credential)) (credential \(credential.shown("id")))"
    }

    /// The sentence about an activated credential, and about that of the sibling environment.
    package static func activated(_ answer: JSONValue) -> String {
        let id = answer.shown("id")
        guard let sibling = answer.object?["sibling"], !sibling.isNull else { return "The credential \(id) is active." }
        return "The credentials \(id) (\(answer.shown("environment"))) and \(sibling.shown("id")) "
            + "(\(sibling.shown("environment"))) are active."
    }

    static func writeWarnings(_ answer: JSONValue) {
        for warning in warnings(in: answer) { Console.remark(warning) }
    }

    package static func warnings(in answer: JSONValue) -> [String] {
        answer.elements("warnings").map { "warning: " + $0.shown("detail") }
    }
}
