import APNs
import Basis
import Content
import Encodings
import FCM
import JSON
import Model
import Signing
import TLS

/// A credential that was read and found usable. The vault seals its `sealedForm`.
package enum CredentialMaterial: Sendable {
    case token(keyID: String, teamID: String, ES256Key)
    case certificate(TLSIdentity)
    case serviceAccount(FCMServiceAccount, RS256Key)

    /// Reads a submission. An encrypted file may take a second, so call this in a `KeyFileQueue`.
    package static func read(_ form: CredentialSubmission.Form) throws(CredentialFault) -> CredentialMaterial {
        switch form {
        case .token(let keyID, let teamID, let p8):
            guard APNsKeyIdentity(keyID: keyID, teamID: keyID) != nil else { throw .keyIDMalformed }
            guard APNsKeyIdentity(keyID: keyID, teamID: teamID) != nil else { throw .teamIDMalformed }
            do { return .token(keyID: keyID, teamID: teamID, try ES256Key(pem: p8)) } catch {
                throw error == .keyEncrypted ? .keyEncrypted : .keyUnreadable
            }
        case .certificatePEM(let pem):
            do { return .certificate(try TLSIdentity(pem: pem)) } catch { throw fault(of: error, in: .pem) }
        case .certificatePKCS12(let bytes, let password):
            do { return .certificate(try TLSIdentity(pkcs12: bytes, password: password)) } catch {
                throw fault(of: error, in: .pkcs12)
            }
        case .serviceAccount(let json):
            let account: FCMServiceAccount
            do { account = try FCMServiceAccount(json: json) } catch { throw .serviceAccount(error) }
            do { return .serviceAccount(account, try RS256Key(pem: account.privateKey.revealed)) } catch {
                switch error {
                case .keyOfOtherKind: throw .serviceAccount(.keyNotRSA)
                case .keyEncrypted: throw .serviceAccount(.keyEncrypted)
                default: throw .serviceAccount(.malformed(.privateKey))
                }
            }
        }
    }

    private static func fault(of error: TLSError, in member: CertificateMember) -> CredentialFault {
        guard case .identity(let identity) = error else { return .certificateUnreadable }
        switch identity {
        case .wrongPassword: return .passwordWrong
        case .keyMismatch: return .keyDoesNotMatchCertificate
        case .keyUnsupported: return .keyUnsupported(member)
        case .derivationTooLong(let rounds): return .derivationTooLong(rounds: rounds, member)
        default: return .certificateUnreadable
        }
    }

    /// Returns the bytes that the vault seals. The keys in them are plain, whatever file they came in, so that reading
    /// needs no key derivation.
    func sealedForm() throws(CredentialFault) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        switch self {
        case .token(let keyID, let teamID, let key):
            writer.member("key_id", keyID)
            writer.member("team_id", teamID)
            do { writer.member("p8", String(decoding: try key.privatePEM(), as: UTF8.self)) } catch {
                throw .keyUnreadable
            }
        case .certificate(let identity):
            do { writer.member("pem", String(decoding: try identity.pem(), as: UTF8.self)) } catch {
                throw .certificateUnreadable
            }
        case .serviceAccount(let account, let key):
            writer.name("service_account")
            writer.beginObject()
            writer.member("project_id", account.project.name)
            writer.member("client_email", account.clientEmail)
            writer.optionalMember("private_key_id", account.privateKeyID)
            do { writer.member("private_key", String(decoding: try key.privatePEM(), as: UTF8.self)) } catch {
                throw .serviceAccount(.malformed(.privateKey))
            }
            writer.member("token_uri", account.tokenURI)
            writer.endObject()
        }
        writer.endObject()
        return writer.bytes
    }

    static func read(sealedForm bytes: [UInt8]) throws(CredentialFault) -> CredentialMaterial {
        guard case .object(let object)? = try? JSONReader.read(bytes) else { throw .keyUnreadable }
        if let account = object["service_account"] { return try read(.serviceAccount(account.bytes)) }
        if case .string(let pem)? = object["pem"] { return try read(.certificatePEM(Array(pem.utf8))) }
        guard case .string(let keyID)? = object["key_id"], case .string(let teamID)? = object["team_id"],
            case .string(let p8)? = object["p8"]
        else { throw .keyUnreadable }
        return try read(.token(keyID: keyID, teamID: teamID, p8: Array(p8.utf8)))
    }

    /// Returns the facts about the credential that may be shown.
    func facts() -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        switch self {
        case .token(let keyID, let teamID, _):
            writer.member("key_id", keyID)
            writer.member("team_id", teamID)
        case .certificate(let identity):
            let certificate = identity.certificate
            writer.member("common_name", certificate.commonName ?? "")
            writer.member("not_after_seconds", certificate.notAfter.secondsSince1970)
            writer.member("sha256", Hexadecimal.text(certificate.sha256))
        case .serviceAccount(let account, _):
            writer.member("project_id", account.project.name)
            writer.member("client_email", account.clientEmail)
            writer.optionalMember("private_key_id", account.privateKeyID)
        }
        writer.endObject()
        return writer.bytes
    }
}

extension CredentialMaterial {
    /// Returns the topics of its slot: the bundle ids of the apps that it can serve, checked against the requested
    /// ones.
    ///
    /// Apple's topic list, if a certificate has one, is complete; without one its UID is the only topic. A universal
    /// certificate lists its app several times (`.voip`, `.complication`): registrations name the app, and the suffix
    /// is derived when sending. If no topic is requested, the slot is the app of the UID, if listed.
    ///
    /// A certificate for other services alone (VoIP) gets a slot of its own, with its whole topics. In the app's slot
    /// it would replace the certificate that alerts need.
    /// - Parameter asked: bundle ids or whole topics.
    package func topics(asked: [String]) throws(CredentialFault) -> [String] {
        guard case .certificate(let identity) = self else { return APNsTopicList.bundleIDs(usable: asked).sorted() }
        let certificate = identity.certificate
        let usable = APNsTopicList.usableTopics(
            extension: certificate.appleTopicList, subjectUID: certificate.userID)
        let listed = usable.map(APNsTopicList.bundleIDs(usable:)) ?? []
        let apps = listed.filter { usable?.contains($0) ?? false }
        let own = certificate.userID.map { APNsPushTypes.bundleID(ofTopic: $0) }
        if apps.isEmpty, let other = listed.first {
            let base = own.flatMap { listed.contains($0) ? $0 : nil } ?? other
            return try Self.wholeTopics(usable ?? [], of: base, asked: asked)
        }
        guard let base = apps.first(where: { $0 == own }) ?? apps.first else { throw .certificateNamesNoTopic }
        let asked = APNsTopicList.bundleIDs(usable: asked)
        guard !asked.isEmpty else { return [base] }
        for topic in asked where !apps.contains(topic) { throw .topicNotCovered(topic) }
        return asked.sorted()
    }

    /// Returns the topics of a certificate that does not cover the app itself.
    private static func wholeTopics(
        _ usable: [String], of base: String, asked: [String]
    ) throws(CredentialFault) -> [String] {
        let own = usable.filter { APNsPushTypes.isOfOwnService(topic: $0) }
        for topic in asked where !own.contains(topic) { throw .topicNotCovered(topic) }
        let slot = asked.isEmpty ? own.filter { APNsPushTypes.bundleID(ofTopic: $0) == base } : asked
        // A slot without a service of its own would never be chosen.
        guard !slot.isEmpty else { throw .topicNotCovered(base) }
        return slot.sorted()
    }

    /// Checks that the certificate is valid now, and covers these environments if it names any.
    package func checkUse(in environments: [PushEnvironment], now: WallInstant) throws(CredentialFault) {
        guard case .certificate(let identity) = self else { return }
        let certificate = identity.certificate
        guard now < certificate.notAfter else { throw .certificateExpired(at: certificate.notAfter) }
        guard certificate.notBefore <= now else { throw .certificateNotYetValid(from: certificate.notBefore) }
        guard certificate.isForSandbox || certificate.isForProduction else { return }
        for environment in environments {
            let isCovered = environment == .sandbox ? certificate.isForSandbox : certificate.isForProduction
            guard isCovered else { throw .environmentNotCovered(environment) }
        }
    }
}
