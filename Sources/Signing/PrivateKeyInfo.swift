/// A private key in PKCS#8 whose kind and size were checked before OpenSSL computes with it.
///
/// Only RSA up to 8,192 bits and the three common curves pass. Other keys can cost minutes: OpenSSL computes a DSA
/// key's public half while reading it, and signs with an RSA key's numbers however long they are.
/// Source: RFC 5958; RFC 8017, appendix A.1.2; RFC 5915.
struct PrivateKeyInfo {
    let der: [UInt8]

    /// An 8,192-bit key signs in tens of milliseconds. Apple and Google issue 2,048.
    static let rsaBitsMax = 8_192
    /// OpenSSL also refuses longer exponents for large keys. Nearly all keys use 65,537.
    private static let rsaExponentBitsMax = 64
    /// The length of the private number of the largest curve, P-521.
    private static let curveKeyBytesMax = 66

    private static let rsa: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01]
    private static let ellipticCurve: [UInt8] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01]
    private static let p256: [UInt8] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07]
    private static let p384: [UInt8] = [0x2b, 0x81, 0x04, 0x00, 0x22]
    private static let p521: [UInt8] = [0x2b, 0x81, 0x04, 0x00, 0x23]

    /// Throws `.keyUnreadable`, or `.keyOfOtherKind` for an unsupported key.
    /// - Parameter der: PKCS#8, or the older formats of RSA and curves.
    init(der: [UInt8]) throws(SigningError) {
        var file = DERReader(der)
        var info = try file.structure()
        guard file.isAtEnd else { throw .keyUnreadable }
        _ = try info.count()
        if info.isNext(DERTag.sequence) {
            var algorithm = try info.structure()
            let kind = try algorithm.contents(of: DERTag.objectIdentifier)
            let key = try info.contents(of: DERTag.octetString)
            switch kind {
            case Self.rsa: try Self.checkRSA(key)
            case Self.ellipticCurve:
                // Spelled-out parameters would be a SEQUENCE.
                guard algorithm.isNext(DERTag.objectIdentifier) else { throw .keyOfOtherKind }
                let curve = try Self.curve(&algorithm)
                guard try Self.curve(ofKey: key) ?? curve == curve else { throw .keyOfOtherKind }
            default: throw .keyOfOtherKind
            }
            self.der = der
        } else if info.isNext(DERTag.integer) {
            try Self.checkRSA(der)
            self.der = Self.wrapped(Self.rsa, DERWriter.element(DERTag.null, []), der)
        } else {
            guard let curve = try Self.curve(ofKey: der) else { throw .keyOfOtherKind }
            self.der = Self.wrapped(Self.ellipticCurve, DERWriter.element(DERTag.objectIdentifier, curve), der)
        }
    }

    /// Bounds every number by the modulus, because OpenSSL uses all of them when it signs.
    private static func checkRSA(_ der: [UInt8]) throws(SigningError) {
        var file = DERReader(der)
        var key = try file.structure()
        guard file.isAtEnd else { throw .keyUnreadable }
        // Version 1 has more than two primes.
        guard try key.count() == 0 else { throw .keyOfOtherKind }
        let modulusBits = bits(try key.magnitude())
        guard modulusBits <= rsaBitsMax, bits(try key.magnitude()) <= rsaExponentBitsMax else { throw .keyOfOtherKind }
        // The private exponent, two primes, two exponents and the coefficient.
        for _ in 0..<6 {
            guard bits(try key.magnitude()) <= modulusBits else { throw .keyOfOtherKind }
        }
        guard key.isAtEnd else { throw .keyUnreadable }
    }

    /// Returns nil if the key itself names no curve.
    private static func curve(ofKey der: [UInt8]) throws(SigningError) -> [UInt8]? {
        var file = DERReader(der)
        var key = try file.structure()
        guard file.isAtEnd, try key.count() == 1 else { throw .keyUnreadable }
        guard try key.contents(of: DERTag.octetString).count <= curveKeyBytesMax else { throw .keyOfOtherKind }
        guard key.isNext(DERTag.context0) else { return nil }
        var parameters = try key.structure(DERTag.context0)
        guard parameters.isNext(DERTag.objectIdentifier) else { throw .keyOfOtherKind }
        return try curve(&parameters)
    }

    private static func curve(_ reader: inout DERReader) throws(SigningError) -> [UInt8] {
        let curve = try reader.contents(of: DERTag.objectIdentifier)
        guard [p256, p384, p521].contains(curve) else { throw .keyOfOtherKind }
        return curve
    }

    private static func bits(_ magnitude: ArraySlice<UInt8>) -> Int {
        guard let first = magnitude.first else { return 0 }
        return magnitude.count * 8 - first.leadingZeroBitCount
    }

    private static func wrapped(_ kind: [UInt8], _ parameters: [UInt8], _ key: [UInt8]) -> [UInt8] {
        let identifier = DERWriter.element(DERTag.objectIdentifier, kind) + parameters
        return DERWriter.element(
            DERTag.sequence,
            DERWriter.element(DERTag.integer, [0]) + DERWriter.element(DERTag.sequence, identifier)
                + DERWriter.element(DERTag.octetString, key))
    }
}
