import COpenSSL
import Signing

/// The first private key of a PKCS#12 file, and its certificates.
///
/// The file is opened layer by layer, because an encrypted layer hides how much key derivation the next one asks for.
/// Each layer's rounds are spent from one budget before OpenSSL derives from them; `PKCS12_parse` would derive at once.
/// Source: RFC 7292.
struct PKCS12Archive {
    private(set) var key: KeyOwner?
    private(set) var certificates: [CertificateHandle] = []

    private var budget = DerivationBudget()
    /// The file's password. To PKCS#12, nil differs from the empty password.
    private var password: String?

    /// The depth of bags within bags. No known program writes nested bags at all.
    private static let bagDepthMax = 4

    /// Throws `.identity` with what is wrong. A missing key or certificate is not an error here.
    init(_ bytes: [UInt8], password: String) throws(TLSError) {
        self.password = password
        ErrorQueue.clear()
        defer { ErrorQueue.clear() }
        guard let file = unsafe decodedDER(bytes, { unsafe d2i_PKCS12(nil, $0, $1) }) else {
            throw .identity(.unreadable)
        }
        defer { unsafe PKCS12_free(file) }
        try unsafe checkMAC(file)
        guard let safes = unsafe PKCS12_unpack_authsafes(file) else { throw Self.fault }
        defer { unsafe shim_sk_PKCS7_free_all(safes) }
        for index in unsafe 0..<max(0, shim_sk_PKCS7_num(safes)) {
            guard let safe = unsafe shim_sk_PKCS7_value(safes, index) else { continue }
            try unsafe open(safe)
        }
    }

    private mutating func checkMAC(_ file: OpaquePointer) throws(TLSError) {
        guard unsafe PKCS12_mac_present(file) == 1 else {
            if password?.isEmpty == true { password = nil }
            return
        }
        var algorithm: UnsafePointer<X509_ALGOR>?
        var iterations: UnsafePointer<ASN1_INTEGER>?
        unsafe PKCS12_get0_mac(nil, &algorithm, nil, &iterations, file)
        do throws(SigningError) {
            var rounds = 1
            if let iterations = unsafe iterations {
                var reader = DERReader(unsafe encodedDER { unsafe i2d_ASN1_INTEGER(iterations, $0) })
                rounds = try reader.count()
            }
            try budget.spend(onMAC: unsafe encodedDER { unsafe i2d_X509_ALGOR(algorithm, $0) }, rounds: rounds)
        } catch { throw TLSError(error) }
        let isEmpty = password?.isEmpty == true
        if isEmpty, unsafe PKCS12_verify_mac(file, nil, 0) == 1 {
            password = nil
            return
        }
        ErrorQueue.clear()
        guard unsafe PKCS12_verify_mac(file, password, isEmpty ? 0 : -1) != 1 else { return }
        // OpenSSL queues an error if it can't compute the MAC, but none if the MAC merely differs.
        if ERR_peek_error() == 0 { throw .identity(.wrongPassword) }
        throw Self.fault
    }

    private mutating func open(_ safe: UnsafeMutablePointer<PKCS7>) throws(TLSError) {
        let bags: OpaquePointer?
        switch unsafe shim_PKCS7_nid(safe) {
        case NID_pkcs7_data: unsafe bags = PKCS12_unpack_p7data(safe)
        case NID_pkcs7_encrypted:
            guard let algorithm = unsafe shim_PKCS7_encryption(safe) else { throw .identity(.unreadable) }
            do throws(SigningError) {
                try budget.spend(onEncryption: unsafe encodedDER { unsafe i2d_X509_ALGOR(algorithm, $0) })
            } catch { throw TLSError(error) }
            unsafe bags = PKCS12_unpack_p7encdata(safe, password, -1)
        default: return
        }
        guard let bags = unsafe bags else { throw Self.fault }
        defer { unsafe shim_sk_PKCS12_SAFEBAG_free_all(bags) }
        try unsafe takeAll(bags, depth: 1)
    }

    private mutating func takeAll(_ bags: OpaquePointer, depth: Int) throws(TLSError) {
        guard depth <= Self.bagDepthMax else { throw .identity(.unreadable) }
        for index in unsafe 0..<max(0, shim_sk_PKCS12_SAFEBAG_num(bags)) {
            guard let bag = unsafe shim_sk_PKCS12_SAFEBAG_value(bags, index) else { continue }
            if unsafe PKCS12_SAFEBAG_get_nid(bag) == NID_safeContentsBag {
                guard let inner = unsafe PKCS12_SAFEBAG_get0_safes(bag) else { throw .identity(.unreadable) }
                try unsafe takeAll(inner, depth: depth + 1)
            } else {
                try unsafe take(bag)
            }
        }
    }

    private mutating func take(_ bag: OpaquePointer) throws(TLSError) {
        switch unsafe PKCS12_SAFEBAG_get_nid(bag) {
        case NID_keyBag:
            guard key == nil, let info = unsafe PKCS12_SAFEBAG_get0_p8inf(bag) else { return }
            let der = unsafe encodedDER { unsafe i2d_PKCS8_PRIV_KEY_INFO(info, $0) }
            do throws(SigningError) { key = try KeyOwner(pkcs8: der) } catch { throw TLSError(error) }
        case NID_pkcs8ShroudedKeyBag:
            guard key == nil, let encrypted = unsafe PKCS12_SAFEBAG_get0_pkcs8(bag) else { return }
            let der = unsafe encodedDER { unsafe i2d_X509_SIG(encrypted, $0) }
            do throws(SigningError) {
                key = try KeyOwner(encryptedPKCS8: der, password: password.map { Array($0.utf8) }, &budget)
            } catch { throw TLSError(error) }
        case NID_certBag:
            guard unsafe PKCS12_SAFEBAG_get_bag_nid(bag) == NID_x509Certificate else { return }
            guard certificates.count < TLSIdentity.certificatesMax else { throw .identity(.tooLarge) }
            let der: [UInt8]
            do throws(SigningError) {
                der = try Self.certificate(inBag: unsafe encodedDER { unsafe i2d_PKCS12_SAFEBAG(bag, $0) })
            } catch { throw TLSError(error) }
            certificates.append(try TLSCertificate.handle(der: der))
        default: return
        }
    }

    /// The DER of the certificate in a bag, not yet decoded. Source: RFC 7292, sections 4.2 and 4.2.3.
    private static func certificate(inBag der: [UInt8]) throws(SigningError) -> [UInt8] {
        var file = DERReader(der)
        var bag = try file.structure()
        _ = try bag.contents(of: DERTag.objectIdentifier)
        var value = try bag.structure(DERTag.context0)
        var certificateBag = try value.structure()
        _ = try certificateBag.contents(of: DERTag.objectIdentifier)
        var certificate = try certificateBag.structure(DERTag.context0)
        return try certificate.contents(of: DERTag.octetString)
    }

    /// Without a MAC, a wrong password shows only as a failed decryption, whose first error is the cipher's.
    private static var fault: TLSError {
        let last = ERR_peek_last_error()
        let isDecryption =
            shim_err_library(last) == ERR_LIB_PKCS12 && shim_err_reason(last) == PKCS12_R_PKCS12_CIPHERFINAL_ERROR
        let first = ErrorQueue.drain()
        if isDecryption { return .identity(.wrongPassword) }
        return .identity(first.library == ERR_LIB_EVP ? .encryptionUnsupported : .unreadable)
    }
}
