import Basis
import COpenSSL
import Glibc
import Signing

/// The fields of a certificate, read once: a value that holds no OpenSSL object. Two are equal if their bytes are.
package struct TLSCertificate: Sendable, Equatable {
    package let der: [UInt8]
    package let commonName: String?
    /// The subject's UID, which Apple sets to the default topic.
    package let userID: String?
    /// The team id, as Apple uses this field.
    package let organizationalUnit: String?
    package let notBefore: WallInstant
    package let notAfter: WallInstant
    /// The fingerprint (32 bytes) that names the certificate in logs and rows.
    package let sha256: [UInt8]
    /// The bytes of the serial number, the highest first.
    package let serialNumber: [UInt8]
    private let extensions: [Extension]

    private struct Extension: Equatable {
        let oid: String
        let value: [UInt8]
    }

    package static func == (left: TLSCertificate, right: TLSCertificate) -> Bool { left.der == right.der }

    /// Reads one certificate. Throws `.identity(.unreadable)`.
    package init(der: [UInt8]) throws(TLSError) { self = try TLSCertificate(Self.handle(der: der)) }

    /// The DER value of an extension, by its dotted OID; nil if the certificate lacks it.
    package func extensionValue(oid: String) -> [UInt8]? { extensions.first { $0.oid == oid }?.value }

    /// Apple's marks for the environment. A certificate without either leaves the environment open.
    package var isForSandbox: Bool { extensionValue(oid: AppleExtensions.OID.development) != nil }
    package var isForProduction: Bool { extensionValue(oid: AppleExtensions.OID.production) != nil }
    /// Apple's topic list, undecoded: the APNs module parses it.
    package var appleTopicList: [UInt8]? { extensionValue(oid: AppleExtensions.OID.topics) }
}

extension TLSCertificate {
    /// Throws `.identity(.unreadable)`, or `.identity(.keyUnsupported)` if the key spells out its curve.
    static func handle(der: [UInt8]) throws(TLSError) -> CertificateHandle {
        do throws(SigningError) { try checkKey(der) } catch {
            throw .identity(error == .keyOfOtherKind ? .keyUnsupported : .unreadable)
        }
        ErrorQueue.clear()
        guard let pointer = unsafe decodedDER(der, { unsafe d2i_X509(nil, $0, $1) }) else {
            ErrorQueue.clear()
            throw .identity(.unreadable)
        }
        return unsafe CertificateHandle(adopting: pointer)
    }

    private static let ellipticCurve: [UInt8] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01]

    /// Lets only named curves pass. A certificate may spell its curve out with numbers instead, over which OpenSSL
    /// computes for a tenth of a second while it decodes the key.
    /// Source: RFC 5280, section 4.1; RFC 5480, section 2.1.1, which forbids such curves.
    private static func checkKey(_ der: [UInt8]) throws(SigningError) {
        var file = DERReader(der)
        var certificate = try file.structure()
        var body = try certificate.structure()
        if body.isNext(DERTag.context0) { _ = try body.structure(DERTag.context0) }
        _ = try body.contents(of: DERTag.integer)
        // Skip the signature's algorithm, the issuer, the validity and the subject.
        for _ in 0..<4 { _ = try body.structure() }
        var key = try body.structure()
        var algorithm = try key.structure()
        guard try algorithm.contents(of: DERTag.objectIdentifier) == ellipticCurve else { return }
        guard algorithm.isNext(DERTag.objectIdentifier) else { throw .keyOfOtherKind }
    }

    init(_ handle: CertificateHandle) throws(TLSError) {
        let pointer = unsafe handle.pointer
        guard let notBefore = unsafe Self.instant(X509_get0_notBefore(pointer)),
            let notAfter = unsafe Self.instant(X509_get0_notAfter(pointer))
        else { throw .identity(.unreadable) }
        (self.notBefore, self.notAfter) = (notBefore, notAfter)
        der = unsafe encodedDER { unsafe i2d_X509(pointer, $0) }
        sha256 = unsafe Self.digest(pointer)
        let serial = unsafe X509_get0_serialNumber(pointer)
        serialNumber = unsafe Array(
            UnsafeBufferPointer(start: ASN1_STRING_get0_data(serial), count: Int(ASN1_STRING_length(serial))))
        let subject = unsafe X509_get_subject_name(pointer)
        commonName = unsafe Self.text(NID_commonName, in: subject)
        userID = unsafe Self.text(NID_userId, in: subject)
        organizationalUnit = unsafe Self.text(NID_organizationalUnitName, in: subject)
        extensions = unsafe (0..<max(0, X509_get_ext_count(pointer))).compactMap { index in
            unsafe X509_get_ext(pointer, index).flatMap { unsafe Self.readExtension($0) }
        }
        ErrorQueue.clear()
    }

    private static func digest(_ certificate: OpaquePointer) -> [UInt8] {
        unsafe Array(unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { buffer, count in
            var length: UInt32 = 0
            let isDone = unsafe X509_digest(certificate, EVP_sha256(), buffer.baseAddress, &length)
            count = isDone == 1 ? Int(length) : 0
        }
    }

    private static func instant(_ time: UnsafePointer<ASN1_TIME>?) -> WallInstant? {
        var broken = unsafe tm()
        guard unsafe ASN1_TIME_to_tm(time, &broken) == 1 else { return nil }
        return WallInstant(secondsSince1970: Int64(unsafe timegm(&broken)))
    }

    static func text(_ nid: Int32, in name: OpaquePointer?) -> String? {
        let index = unsafe X509_NAME_get_index_by_NID(name, nid, -1)
        guard index >= 0, let entry = unsafe X509_NAME_get_entry(name, index) else { return nil }
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = unsafe ASN1_STRING_to_UTF8(&bytes, X509_NAME_ENTRY_get_data(entry))
        guard count >= 0, let start = unsafe bytes else { return nil }
        defer { unsafe CRYPTO_free(start, nil, 0) }
        return unsafe String(decoding: UnsafeBufferPointer(start: start, count: Int(count)), as: UTF8.self)
    }

    private static func readExtension(_ pointer: OpaquePointer) -> Extension? {
        var name = [CChar](repeating: 0, count: 128)
        let object = unsafe X509_EXTENSION_get_object(pointer)
        let length = unsafe OBJ_obj2txt(&name, Int32(name.count), object, 1)
        guard length > 0, length < name.count, let octets = unsafe X509_EXTENSION_get_data(pointer) else { return nil }
        let oid = String(decoding: name.prefix(Int(length)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let count = unsafe Int(ASN1_STRING_length(octets))
        let value = unsafe Array(UnsafeBufferPointer(start: ASN1_STRING_get0_data(octets), count: count))
        return Extension(oid: oid, value: value)
    }
}
