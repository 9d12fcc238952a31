import Basis
import Content
import Encodings
import JSON
import Model
import ProviderInterface

// The forms of APNs' credentials: a key that signs provider tokens, and a certificate.
extension APNsProvider {
    private static let identifierBytesMax = 64
    private static let fileBytesMax = 65_536
    private static let passwordBytesMax = 1_024

    package var credentialForms: [CredentialForm] {
        [
            CredentialForm(
                .token,
                [
                    .init(
                        "key_id", .text, bytesMax: Self.identifierBytesMax, requirement: "the key's id of 10 characters"
                    ),
                    .init(
                        "team_id", .text, bytesMax: Self.identifierBytesMax,
                        requirement: "the team's id of 10 characters"),
                    .init(
                        "p8", .text, bytesMax: Self.fileBytesMax,
                        requirement: "the text of the file AuthKey_<key id>.p8"),
                ]),
            CredentialForm(
                .certificate,
                [
                    .init("pem", .text, bytesMax: Self.fileBytesMax),
                    .init("pkcs12", .base64, bytesMax: Self.fileBytesMax),
                    // A file may be locked with the empty password.
                    .init("password", .password, bytesMax: Self.passwordBytesMax),
                ]),
        ]
    }

    package var credentialKinds: String { "token (a .p8 key) or certificate" }

    package func checkForm(_ form: SubmittedForm) throws(ProviderFault) {
        guard form.kind == .certificate else { return }
        switch (form["pem"], form["pkcs12"]) {
        case (_?, nil), (nil, _?): break
        case (nil, nil):
            throw ProviderFault(
                "missing_member", at: .root / "pem",
                "A certificate needs its key: give both as pem or as pkcs12, with the password if there is one.")
        case (_?, _?):
            throw ProviderFault(
                "invalid_value", at: .root / "pkcs12", "Give a certificate as pem or as pkcs12, not both.")
        }
    }

    package func readCredential(
        _ form: SubmittedForm, _ keys: any KeyReader
    ) throws(ProviderFault) -> any ProviderCredential {
        if form.kind == .token { return try APNsKeyCredential(form, keys) }
        return try APNsCertificateCredential(form, keys)
    }
}

/// A key that signs provider tokens for all topics of its team.
struct APNsKeyCredential: ProviderCredential, ProviderTokenSource {
    private let identity: APNsKeyIdentity
    private let key: any SigningKey

    let kind = CredentialKind.token

    init(_ form: SubmittedForm, _ keys: any KeyReader) throws(ProviderFault) {
        let (keyID, teamID) = (form.text("key_id"), form.text("team_id"))
        guard APNsKeyIdentity(keyID: keyID, teamID: keyID) != nil else {
            throw ProviderFault(
                "key_id_malformed", at: .root / "key_id",
                "A key id has 10 letters and digits; it is part of the file name AuthKey_<key id>.p8.")
        }
        guard let identity = APNsKeyIdentity(keyID: keyID, teamID: teamID) else {
            throw ProviderFault(
                "team_id_malformed", at: .root / "team_id",
                "A team id has 10 letters and digits; Apple's membership page shows it.")
        }
        self.identity = identity
        do throws(KeyFault) { key = try keys.signingKey(.es256, pem: form["p8"] ?? []) } catch {
            throw Self.fault(of: error)
        }
    }

    private static func fault(of error: KeyFault) -> ProviderFault {
        guard error == .encrypted else {
            return ProviderFault(
                "key_unreadable", at: .root / "p8",
                "The p8 is not a PEM private key on the curve P-256. Send the file as Apple gave it.")
        }
        return ProviderFault(
            "key_encrypted", at: .root / "p8",
            "The p8 is encrypted, and there is no password for it. Send the file as Apple gave it: Apple's are "
                + "never encrypted.")
    }

    func sealedMembers() throws(ProviderFault) -> [JSONMember] {
        let pem: [UInt8]
        do throws(KeyFault) { pem = try key.privatePEM() } catch { throw Self.fault(of: error) }
        return facts().members + [JSONMember("p8", .string(String(decoding: pem, as: UTF8.self)))]
    }

    func facts() -> JSONObject {
        JSONObject([
            JSONMember("key_id", .string(identity.keyID)), JSONMember("team_id", .string(identity.teamID)),
        ])
    }

    func topics(asked: [String]) -> [String] { APNsTopicList.bundleIDs(usable: asked).sorted() }

    func lane(topics: [String], at endpoint: ProviderEndpoint) -> LaneNeeds {
        let bundleIDs = APNsTopicList.bundleIDs(usable: topics)
        return LaneNeeds(
            .providerToken(self), reach: .topics(.apns, only: bundleIDs.count == 1 ? bundleIDs[0] : nil),
            firstRequestIsProof: true)
    }

    var provider: String { APNsProvider().title }
    let lifetime = ProviderTokenLifetime.apns
    var keyID: String { identity.keyID }
    var name: String { "\(identity.teamID)/\(identity.keyID)" }

    func publicPEM() throws(KeyFault) -> [UInt8] { try key.publicPEM() }

    func token(issuedAt: WallInstant) throws(KeyFault) -> ProviderToken {
        let input = ProviderTokenText.signingInput(identity: identity, issuedAt: issuedAt)
        return ProviderTokenText.assemble(signingInput: input, signature: try key.sign(input), issuedAt: issuedAt)
    }
}

struct APNsCertificateCredential: ProviderCredential {
    private let identity: any ClientIdentity

    let kind = CredentialKind.certificate

    init(_ form: SubmittedForm, _ keys: any KeyReader) throws(ProviderFault) {
        if let pem = form["pem"] {
            do throws(KeyFault) { identity = try keys.identity(pem: pem, password: form["password"]) } catch {
                throw Self.fault(of: error, in: "pem")
            }
        } else {
            do throws(KeyFault) {
                identity = try keys.identity(pkcs12: form["pkcs12"] ?? [], password: form.text("password"))
            } catch { throw Self.fault(of: error, in: "pkcs12") }
        }
    }

    private static func fault(of error: KeyFault, in member: String) -> ProviderFault {
        switch error {
        case .wrongPassword:
            ProviderFault("password_wrong", at: .root / "password", "The file does not open with this password.")
        case .encrypted:
            ProviderFault(
                "key_encrypted", at: .root / member,
                "The private key is encrypted, and its password is missing. Give it as password.")
        case .mismatch:
            ProviderFault("key_does_not_match_certificate", "The private key does not belong to the certificate.")
        case .unsupported:
            ProviderFault(
                "key_unreadable", at: .root / member,
                "The private key is neither an RSA key of at most 8,192 bits nor a key on the curve P-256, P-384 "
                    + "or P-521. Request a certificate for such a key.")
        case .derivationTooLong(let rounds, let roundsMax):
            ProviderFault(
                "derivation_too_long", at: .root / member,
                "The file asks for \(rounds) rounds of key derivation; at most \(roundsMax) are allowed. Export "
                    + "it again with the default of your tool, for example openssl pkcs12 -export.")
        case .keyMissing:
            ProviderFault(
                "certificate_unreadable", at: .root / member,
                "This is a certificate without its private key. Export both together: in Keychain, select the entry "
                    + "that has a key below it.")
        case .certificateMissing:
            ProviderFault(
                "certificate_unreadable", at: .root / member,
                "This is a private key without its certificate. Export both together.")
        case .encryptionUnsupported:
            ProviderFault(
                "certificate_unreadable", at: .root / member,
                "The file's encryption is unknown, or this machine's OpenSSL lacks it (its legacy provider). Export "
                    + "it again, for example with openssl pkcs12 -export.")
        case .unreadable:
            ProviderFault(
                "certificate_unreadable", at: .root / member,
                "No certificate with its private key could be read from what was sent.")
        }
    }

    func sealedMembers() throws(ProviderFault) -> [JSONMember] {
        let pem: [UInt8]
        do throws(KeyFault) { pem = try identity.pem() } catch { throw Self.fault(of: error, in: "pem") }
        return [JSONMember("pem", .string(String(decoding: pem, as: UTF8.self)))]
    }

    func facts() -> JSONObject {
        let certificate = identity.certificate
        return JSONObject([
            JSONMember("common_name", .string(certificate.commonName ?? "")),
            JSONMember("not_after_seconds", .number(.whole(certificate.notAfter.secondsSince1970))),
            JSONMember("sha256", .string(Hexadecimal.text(certificate.sha256))),
            JSONMember("serial", .string(Hexadecimal.text(certificate.serialNumber))),
        ])
    }

    /// Returns the bundle ids of the apps that it can serve, checked against the requested ones.
    ///
    /// Apple's topic list, if the certificate has one, is complete; without one its UID is the only topic. A universal
    /// certificate lists its app several times (`.voip`, `.complication`): registrations name the app, and the suffix
    /// is derived when sending. If no topic is requested, the slot is the app of the UID, if listed.
    ///
    /// A certificate for other services alone (VoIP) gets a slot of its own, with its whole topics. In the app's slot
    /// it would replace the certificate that alerts need.
    /// - Parameter asked: bundle ids or whole topics.
    func topics(asked: [String]) throws(ProviderFault) -> [String] {
        let (usable, own) = (usableTopics, ownBundleID)
        let listed = APNsTopicList.bundleIDs(usable: usable)
        let apps = listed.filter { usable.contains($0) }
        if apps.isEmpty, let other = listed.first {
            let base = own.flatMap { listed.contains($0) ? $0 : nil } ?? other
            return try Self.slot(ofServices: usable, of: base, asked: asked)
        }
        guard let base = apps.first(where: { $0 == own }) ?? apps.first else {
            throw ProviderFault(
                "certificate_names_no_topic", "The certificate names no topic: it is not an APNs certificate.")
        }
        let asked = APNsTopicList.bundleIDs(usable: asked)
        guard !asked.isEmpty else { return [base] }
        for topic in asked where !apps.contains(topic) { throw Self.notCovered(topic) }
        return asked.sorted()
    }

    /// Returns the slot of a certificate that covers no app itself.
    private static func slot(
        ofServices usable: [String], of base: String, asked: [String]
    ) throws(ProviderFault) -> [String] {
        for topic in asked where !usable.contains(topic) { throw notCovered(topic) }
        return (asked.isEmpty ? usable.filter { APNsPushTypes.bundleID(ofTopic: $0) == base } : asked).sorted()
    }

    /// A service that the certificate does not list is not covered: APNs would refuse its pushes (`TopicDisallowed`).
    func wholeTopics(in slot: [String]) -> [String] {
        let named = usableTopics.filter { slot.contains($0) || slot.contains(APNsPushTypes.bundleID(ofTopic: $0)) }
        let unnamed = unnamedBundleID(in: slot)
        let suffixes = named.filter { APNsPushTypes.bundleID(ofTopic: $0) == unnamed }.map { topic in
            String(decoding: topic.utf8.dropFirst(unnamed?.utf8.count ?? 0), as: UTF8.self)
        }
        return named + suffixes
    }

    /// The topics that Apple listed. Empty: none, or a list that can't be read.
    private var usableTopics: [String] {
        let certificate = identity.certificate
        return APNsTopicList.usableTopics(extension: certificate.appleTopicList, subjectUID: certificate.userID) ?? []
    }

    private var ownBundleID: String? { identity.certificate.userID.map { APNsPushTypes.bundleID(ofTopic: $0) } }

    /// The bundle id for registrations without a topic.
    private func unnamedBundleID(in slot: [String]) -> String? {
        let bundleIDs = APNsTopicList.bundleIDs(usable: slot)
        return bundleIDs.count == 1 ? bundleIDs[0] : ownBundleID
    }

    private static func notCovered(_ topic: String) -> ProviderFault {
        ProviderFault("topic_not_covered", at: .root / "topics", "The certificate does not cover the topic \(topic).")
    }

    /// Checks that the certificate is valid now, and covers these environments if it names any.
    func checkUse(in environments: [PushEnvironment], now: WallInstant) throws(ProviderFault) {
        let certificate = identity.certificate
        guard now < certificate.notAfter else {
            throw ProviderFault(
                "certificate_expired",
                "The certificate has expired. Request a new one from Apple and submit that, or submit a key (.p8), which "
                    + "does not expire.")
        }
        guard certificate.notBefore <= now else {
            throw ProviderFault(
                "certificate_not_yet_valid",
                "The certificate is not valid yet. Wait, or correct the clock of the gateway's machine.")
        }
        guard certificate.isForSandbox || certificate.isForProduction else { return }
        for environment in environments {
            let isCovered = environment == .sandbox ? certificate.isForSandbox : certificate.isForProduction
            guard isCovered else {
                throw ProviderFault(
                    "environment_not_covered", at: .root / "environment",
                    "The certificate may not be used in the \(environment.name) environment.")
            }
        }
    }

    func lane(topics: [String], at endpoint: ProviderEndpoint) -> LaneNeeds {
        LaneNeeds(.certificate(identity), reach: .topics(.apns, only: unnamedBundleID(in: topics)))
    }
}
