import APNs
import Credentials
import Encodings
import JSON
import Model

/// Reads the body of `POST .../credentials`. Whether the key or certificate is valid is found out later.
package enum CredentialRequest {
    static let topicsMax = 100
    static let pemBytesMax = 65_536
    static let passwordBytesMax = 1_024
    private static let identifierBytesMax = 64

    package static func read(_ body: [UInt8]) throws(Problem) -> CredentialSubmission {
        var reader = try EnvelopeReader(body: body)
        switch try readProvider(&reader) {
        case .fcm: return try readFCM(&reader)
        case .apns: return try readAPNs(&reader)
        case .hms, .webpush: throw .notOffered(at: reader.pointer / "provider")
        }
    }

    private static func readProvider(_ reader: inout EnvelopeReader) throws(Problem) -> Provider {
        let names = [Provider.apns, .fcm].map(\.name)
        _ = try reader.required("provider", "one of \(names.joined(separator: ", "))")
        return try reader.choice("provider", names, Provider.init(name:)) ?? .apns
    }

    private static func readAPNs(_ reader: inout EnvelopeReader) throws(Problem) -> CredentialSubmission {
        let environments = try readEnvironments(&reader)
        let topics = try readTopics(&reader)
        let activate = try reader.bool("activate") ?? false
        let form = try readForm(&reader)
        try reader.end()
        return CredentialSubmission(
            provider: .apns, form: form, environments: environments, topics: topics, activate: activate)
    }

    /// FCM has neither environments nor topics of this kind: a token belongs to a project.
    private static func readFCM(_ reader: inout EnvelopeReader) throws(Problem) -> CredentialSubmission {
        _ = try reader.choice("environment", ["production"]) { $0 == "production" ? $0 : nil }
        let activate = try reader.bool("activate") ?? false
        guard try reader.choice("kind", ["service_account"], { $0 == "service_account" ? $0 : nil }) != nil else {
            throw Problem(
                .missingMember, "kind is missing: FCM's only kind is service_account.", at: reader.pointer / "kind")
        }
        let account = try reader.required(
            "service_account", "the JSON object from the file of the Firebase console")
        let pointer = reader.pointer / "service_account"
        guard account.object != nil else { throw .wrongType(account, "an object", at: pointer) }
        let bytes = account.bytes
        guard bytes.count <= pemBytesMax else {
            throw Problem(.valueTooLong, "A service account has at most \(pemBytesMax) bytes.", at: pointer)
        }
        try reader.end()
        return CredentialSubmission(
            provider: .fcm, form: .serviceAccount(bytes), environments: [.production], topics: [], activate: activate)
    }

    private static func readEnvironments(_ reader: inout EnvelopeReader) throws(Problem) -> [PushEnvironment] {
        let names = PushEnvironment.allCases.map(\.name) + ["both"]
        _ = try reader.required("environment", "one of \(names.joined(separator: ", "))")
        let environments: [PushEnvironment]? = try reader.choice("environment", names) { choice in
            choice == "both" ? PushEnvironment.allCases : PushEnvironment(name: choice).map { [$0] }
        }
        return environments ?? []
    }

    private static func readTopics(_ reader: inout EnvelopeReader) throws(Problem) -> [String] {
        guard let elements = try reader.array("topics", countMax: topicsMax) else { return [] }
        var topics = DistinctTexts()
        for (place, element) in elements.enumerated() {
            let pointer = reader.pointer / "topics" / place
            let topic = try element.text(bytesMax: RegistrationLimits.topicBytesMax, at: pointer)
            guard RegistrationRequest.isVisibleASCII(topic) else {
                throw Problem(
                    .invalidValue, "A topic is a bundle id such as com.example.app, without spaces.", at: pointer)
            }
            topics.add(topic)
        }
        return topics.texts
    }

    private static func readForm(_ reader: inout EnvelopeReader) throws(Problem) -> CredentialSubmission.Form {
        let isToken = try reader.choice("kind", ["token", "certificate"]) { choice in
            ["token": true, "certificate": false][choice]
        }
        switch isToken {
        case true?:
            return .token(
                keyID: try reader.requiredString(
                    "key_id", bytesMax: identifierBytesMax, "the key's id of 10 characters"),
                teamID: try reader.requiredString(
                    "team_id", bytesMax: identifierBytesMax, "the team's id of 10 characters"),
                p8: Array(
                    try reader.requiredString("p8", bytesMax: pemBytesMax, "the text of the file AuthKey_<key id>.p8")
                        .utf8))
        case false?: return try readCertificate(&reader)
        case nil:
            throw Problem(
                .missingMember, "kind is missing: token (a .p8 key) or certificate.", at: reader.pointer / "kind")
        }
    }

    private static func readCertificate(_ reader: inout EnvelopeReader) throws(Problem) -> CredentialSubmission.Form {
        let pem = try reader.string("pem", bytesMax: pemBytesMax)
        let archive = try reader.string("pkcs12", bytesMax: pemBytesMax)
        switch (pem, archive) {
        case (let pem?, nil): return .certificatePEM(Array(pem.utf8))
        case (nil, let archive?):
            guard let bytes = Base64.decode(archive) else {
                throw Problem(
                    .invalidValue, "The file must be padded base64 without line breaks.",
                    at: reader.pointer / "pkcs12")
            }
            // A file may be locked with the empty password.
            let password = reader.take("password") ?? ""
            guard let text = password.string else {
                throw .wrongType(password, "a string", at: reader.pointer / "password")
            }
            guard text.utf8.count <= passwordBytesMax else {
                throw Problem(
                    .valueTooLong, "A password has at most \(passwordBytesMax) bytes.", at: reader.pointer / "password")
            }
            return .certificatePKCS12(bytes, password: text)
        case (nil, nil):
            throw Problem(
                .missingMember, "A certificate needs its key: give both as pem, or as pkcs12 with password.",
                at: reader.pointer / "pem")
        case (_?, _?):
            throw Problem(
                .invalidValue, "Give a certificate as pem or as pkcs12, not both.", at: reader.pointer / "pkcs12")
        }
    }
}
