/// A limit on the key derivation that one file may ask for, summed over all its layers.
///
/// An encrypted file chooses how often a hash is repeated to turn its password into a key. 2^31 rounds take minutes of
/// a core. So each count is read and spent here before OpenSSL derives from it.
package struct DerivationBudget {
    /// The limit in rounds: a second of one core at most. OpenSSL's default is 2,048, careful tools use up to 600,000.
    package static let roundsMax = 1_000_000

    private var rounds = 0

    package init() {}

    /// Throws `.derivationTooLong` with the sum so far if it exceeds `roundsMax`.
    package mutating func spend(_ more: Int) throws(SigningError) {
        let (sum, isTooLarge) = rounds.addingReportingOverflow(more)
        rounds = isTooLarge ? .max : sum
        guard rounds <= Self.roundsMax else { throw .derivationTooLong(rounds: rounds) }
    }

    /// Spends the rounds of a password-based encryption.
    ///
    /// Throws `.encryptionUnsupported` for an unknown algorithm, because its cost is unknown too.
    /// - Parameter algorithm: the AlgorithmIdentifier in DER.
    /// Source: RFC 8018, appendix A; RFC 7292, appendix C; RFC 7914, section 7; RFC 9579.
    package mutating func spend(onEncryption algorithm: [UInt8]) throws(SigningError) {
        var reader = DERReader(algorithm)
        var identifier = try reader.structure()
        try spend(on: &identifier, mayNest: true)
    }

    /// Spends the rounds of a PKCS#12 file's MAC. PBMAC1 has its own count beside the MAC's.
    package mutating func spend(onMAC algorithm: [UInt8], rounds: Int) throws(SigningError) {
        try spend(rounds)
        var reader = DERReader(algorithm)
        var identifier = try reader.structure()
        guard try identifier.contents(of: DERTag.objectIdentifier) == Scheme.pbmac1 else { return }
        try spend(onEncryption: algorithm)
    }

    private mutating func spend(on identifier: inout DERReader, mayNest: Bool) throws(SigningError) {
        let scheme = try identifier.contents(of: DERTag.objectIdentifier)
        var parameters = try identifier.structure()
        switch scheme {
        case Scheme.pbes2, Scheme.pbmac1:
            guard mayNest else { throw .encryptionUnsupported }
            // The derivation function comes first, the cipher or MAC second.
            var derivation = try parameters.structure()
            try spend(on: &derivation, mayNest: false)
        case Scheme.scrypt:
            _ = try parameters.contents(of: DERTag.octetString)
            // scrypt mixes N times r times p blocks, each about as expensive as a round.
            var blocks = 1
            for _ in 0..<3 {
                let (product, isTooLarge) = blocks.multipliedReportingOverflow(by: try parameters.count())
                blocks = isTooLarge ? .max : product
            }
            try spend(blocks)
        case let scheme where Scheme.hasSaltAndCount(scheme):
            _ = try parameters.contents(of: DERTag.octetString)
            try spend(try parameters.count())
        default: throw .encryptionUnsupported
        }
    }
}

/// Object identifiers, in DER, of algorithms that derive keys from passwords.
private enum Scheme {
    private static let pkcs5: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05]
    private static let pkcs12: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c, 0x01]
    /// MD2, MD5 and SHA-1 with DES and RC2, by the last number of their OID.
    private static let pbes1: Set<UInt8> = [1, 3, 4, 6, 10, 11]
    /// SHA-1 with RC4, triple DES and RC2.
    private static let pbesOfPKCS12: Set<UInt8> = [1, 2, 3, 4, 5, 6]
    private static let pbkdf2: UInt8 = 12

    static let pbes2 = pkcs5 + [13]
    static let pbmac1 = pkcs5 + [14]
    /// 1.3.6.1.4.1.11591.4.11
    static let scrypt: [UInt8] = [0x2b, 0x06, 0x01, 0x04, 0x01, 0xda, 0x47, 0x04, 0x0b]

    /// Whether the scheme's parameters begin with a salt and the count of rounds.
    static func hasSaltAndCount(_ scheme: [UInt8]) -> Bool {
        guard let last = scheme.last else { return false }
        if Array(scheme.dropLast()) == pkcs5 { return last == pbkdf2 || pbes1.contains(last) }
        return Array(scheme.dropLast()) == pkcs12 && pbesOfPKCS12.contains(last)
    }
}
