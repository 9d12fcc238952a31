import Basis
import COpenSSL
import Signing

package struct CertificateSubject: Sendable {
    package var commonName: String
    /// The topic, as Apple uses this field.
    package var userID: String?
    /// The team id, as Apple uses this field.
    package var organizationalUnit: String?

    package init(commonName: String, userID: String? = nil, organizationalUnit: String? = nil) {
        (self.commonName, self.userID, self.organizationalUnit) = (commonName, userID, organizationalUnit)
    }
}

package struct CertificateValidity: Sendable {
    package var from: WallInstant
    package var until: WallInstant

    package init(from: WallInstant, until: WallInstant) { (self.from, self.until) = (from, until) }

    /// Starts an hour ago, because peers' clocks differ, and lasts this many days.
    package static func days(_ days: Int, from now: WallInstant) -> CertificateValidity {
        CertificateValidity(from: now + .seconds(-3_600), until: now + .seconds(days * 86_400))
    }
}

/// A certificate authority for simulators, the demonstration and tests. It creates identities in process.
///
/// It uses P-256 keys and SHA-256. Only peers that are given `pem` trust it.
package struct CertificateAuthority: Sendable {
    private let identity: TLSIdentity

    /// The authority's certificate, without its key.
    package let pem: [UInt8]

    package init(name: String = "Carillon test authority", validity: CertificateValidity) throws(TLSError) {
        let key = try Self.newKey()
        let draft = try CertificateDraft(CertificateSubject(commonName: name), validity, key)
        try draft.issue(as: nil)
        try draft.add(NID_basic_constraints, "critical,CA:TRUE")
        try draft.add(NID_key_usage, "critical,keyCertSign,cRLSign")
        try draft.add(NID_subject_key_identifier, "hash")
        identity = try TLSIdentity(key: key, certificates: [draft.sign(with: key)])
        guard let bio = MemoryBIO(), unsafe PEM_write_bio_X509(bio.pointer, identity.leaf.pointer) == 1 else {
            throw ErrorQueue.asLibraryError
        }
        pem = bio.bytes()
    }

    /// Issues a certificate for servers and clients alike, with its key.
    /// - Parameter names: the host names and IP literals that a server answers to.
    package func issue(
        _ subject: CertificateSubject, names: [String] = [], validity: CertificateValidity,
        apple: AppleExtensions? = nil
    ) throws(TLSError) -> TLSIdentity {
        let key = try Self.newKey()
        let draft = try CertificateDraft(subject, validity, key)
        try draft.issue(as: identity.leaf)
        try draft.add(NID_basic_constraints, "critical,CA:FALSE")
        try draft.add(NID_key_usage, "critical,digitalSignature")
        try draft.add(NID_authority_key_identifier, "keyid:always", authority: identity.leaf)
        try draft.add(NID_ext_key_usage, "serverAuth,clientAuth")
        if !names.isEmpty { try draft.add(NID_subject_alt_name, Self.alternativeNames(names)) }
        for (oid, value) in apple?.encoded ?? [] { try draft.add(oid: oid, value) }
        return try TLSIdentity(key: key, certificates: [draft.sign(with: identity.key)])
    }

    private static func newKey() throws(TLSError) -> KeyOwner {
        do { return try KeyOwner.generateP256() } catch { throw TLSError(error) }
    }

    private static func alternativeNames(_ names: [String]) throws(TLSError) -> String {
        var parts: [String] = []
        for name in names {
            // OpenSSL parses the list as text: a comma would begin another name.
            guard !name.isEmpty, !name.utf8.contains(where: { $0 == 0x2c || $0 == 0 }) else { throw .hostNameUnusable }
            let octets = unsafe a2i_IPADDRESS(name)
            defer { unsafe ASN1_OCTET_STRING_free(octets) }
            parts.append((unsafe octets == nil ? "DNS:" : "IP:") + name)
        }
        ErrorQueue.clear()
        return parts.joined(separator: ",")
    }
}

private struct CertificateDraft {
    private let certificate: CertificateHandle

    private static let version3 = 2
    private static let serialBits: Int32 = 127

    init(_ subject: CertificateSubject, _ validity: CertificateValidity, _ key: KeyOwner) throws(TLSError) {
        ErrorQueue.clear()
        guard let made = unsafe X509_new() else { throw ErrorQueue.asLibraryError }
        certificate = unsafe CertificateHandle(adopting: made)
        guard unsafe X509_set_version(made, Self.version3) == 1, unsafe Self.setSerial(made),
            unsafe ASN1_TIME_set(X509_getm_notBefore(made), Int(validity.from.secondsSince1970)) != nil,
            unsafe ASN1_TIME_set(X509_getm_notAfter(made), Int(validity.until.secondsSince1970)) != nil,
            unsafe X509_set_pubkey(made, key.pointer) == 1,
            unsafe Self.write(subject, into: X509_get_subject_name(made))
        else { throw ErrorQueue.asLibraryError }
    }

    /// Sets the issuer's name. nil: the certificate is its own issuer.
    func issue(as authority: CertificateHandle?) throws(TLSError) {
        let name = unsafe X509_get_subject_name(authority?.pointer ?? certificate.pointer)
        guard unsafe X509_set_issuer_name(certificate.pointer, name) == 1 else { throw ErrorQueue.asLibraryError }
    }

    /// - Parameter authority: the certificate whose key an authority key identifier names.
    func add(_ nid: Int32, _ value: String, authority: CertificateHandle? = nil) throws(TLSError) {
        var context = unsafe X509V3_CTX()
        let issuer = unsafe authority?.pointer ?? certificate.pointer
        unsafe X509V3_set_ctx(&context, issuer, certificate.pointer, nil, nil, 0)
        let made = unsafe X509V3_EXT_nconf_nid(nil, &context, nid, value)
        defer { unsafe X509_EXTENSION_free(made) }
        guard unsafe made != nil, unsafe X509_add_ext(certificate.pointer, made, -1) == 1 else {
            throw ErrorQueue.asLibraryError
        }
    }

    func add(oid: String, _ value: [UInt8]) throws(TLSError) {
        let object = unsafe OBJ_txt2obj(oid, 1)
        defer { unsafe ASN1_OBJECT_free(object) }
        let octets = unsafe ASN1_OCTET_STRING_new()
        defer { unsafe ASN1_OCTET_STRING_free(octets) }
        guard unsafe object != nil, unsafe octets != nil,
            unsafe ASN1_OCTET_STRING_set(octets, value, Int32(value.count)) == 1
        else { throw ErrorQueue.asLibraryError }
        let made = unsafe X509_EXTENSION_create_by_OBJ(nil, object, 0, octets)
        defer { unsafe X509_EXTENSION_free(made) }
        guard unsafe made != nil, unsafe X509_add_ext(certificate.pointer, made, -1) == 1 else {
            throw ErrorQueue.asLibraryError
        }
    }

    func sign(with key: KeyOwner) throws(TLSError) -> CertificateHandle {
        guard unsafe X509_sign(certificate.pointer, key.pointer, EVP_sha256()) > 0 else {
            throw ErrorQueue.asLibraryError
        }
        return certificate
    }

    private static func setSerial(_ certificate: OpaquePointer) -> Bool {
        let number = unsafe BN_new()
        defer { unsafe BN_free(number) }
        guard unsafe number != nil, unsafe BN_rand(number, serialBits, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1
        else { return false }
        return unsafe BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nil
    }

    private static func write(_ subject: CertificateSubject, into name: OpaquePointer?) -> Bool {
        let parts = [
            (NID_commonName, subject.commonName), (NID_userId, subject.userID),
            (NID_organizationalUnitName, subject.organizationalUnit),
        ]
        for (nid, text) in parts {
            guard let text else { continue }
            let bytes = Array(text.utf8)
            guard unsafe X509_NAME_add_entry_by_NID(name, nid, MBSTRING_UTF8, bytes, Int32(bytes.count), -1, 0) == 1
            else { return false }
        }
        return true
    }
}
