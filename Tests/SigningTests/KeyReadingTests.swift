import Foundation
import Signing
import Testing

/// Numbers, algorithms and keys in DER.
private enum Sample {
    static func sequence(_ parts: [UInt8]...) -> [UInt8] { DERWriter.element(DERTag.sequence, parts.flatMap { $0 }) }
    static func octets(_ bytes: [UInt8]) -> [UInt8] { DERWriter.element(DERTag.octetString, bytes) }
    static func integer(_ contents: [UInt8]) -> [UInt8] { DERWriter.element(DERTag.integer, contents) }
    static func identifier(_ bytes: [UInt8]) -> [UInt8] { DERWriter.element(DERTag.objectIdentifier, bytes) }

    static let pkcs5: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05]
    static let pkcs12: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c, 0x01]
    static let scrypt: [UInt8] = [0x2b, 0x06, 0x01, 0x04, 0x01, 0xda, 0x47, 0x04, 0x0b]
    static let rsa: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01]
    static let dsa: [UInt8] = [0x2a, 0x86, 0x48, 0xce, 0x38, 0x04, 0x01]
    static let ellipticCurve: [UInt8] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01]

    static func pbe(_ kind: [UInt8], _ count: [UInt8]) -> [UInt8] {
        sequence(identifier(kind), sequence(octets([1, 2, 3, 4, 5, 6, 7, 8]), integer(count)))
    }
    /// PBES2 or PBMAC1.
    static func nested(_ kind: UInt8, _ derivation: [UInt8]) -> [UInt8] {
        sequence(identifier(pkcs5 + [kind]), sequence(derivation, sequence(identifier([0x2a, 0x03]))))
    }
    static func scrypt(_ numbers: [UInt8]...) -> [UInt8] {
        sequence(identifier(scrypt), DERWriter.element(DERTag.sequence, octets([1]) + numbers.flatMap(integer)))
    }

    static func pem(_ name: String, _ der: [UInt8]) -> [UInt8] {
        let base64 = Data(der).base64EncodedString(options: .lineLength64Characters)
        return Array("-----BEGIN \(name)-----\n\(base64)\n-----END \(name)-----\n".utf8)
    }

    static func pkcs8(_ kind: [UInt8], _ parameters: [UInt8], _ key: [UInt8]) -> [UInt8] {
        pem("PRIVATE KEY", sequence(integer([0]), sequence(identifier(kind), parameters), octets(key)))
    }

    /// An odd number with this many bits.
    static func number(bits: Int) -> [UInt8] {
        let bytes = [UInt8](repeating: 0xff, count: (bits + 7) / 8)
        return bits % 8 == 0 ? [0] + bytes : [UInt8(0xff >> (8 - bits % 8))] + bytes.dropFirst()
    }

    /// An artificial RSA key whose numbers have these lengths.
    static func rsaKey(modulus: Int, exponent: Int = 17, others: [Int]) -> [UInt8] {
        let numbers = [number(bits: modulus), number(bits: exponent)] + others.map(number)
        return DERWriter.element(DERTag.sequence, integer([0]) + numbers.flatMap(integer))
    }
}

@Suite("The budget for key derivation")
struct DerivationBudgetTests {
    private static let million: [UInt8] = [0x0f, 0x42, 0x40]
    private static let above: [UInt8] = [0x0f, 0x42, 0x41]

    private static func algorithms(_ count: [UInt8]) -> [[UInt8]] {
        let pbkdf2 = Sample.pbe(Sample.pkcs5 + [12], count)
        return [1, 3, 4, 6, 10, 11].map { Sample.pbe(Sample.pkcs5 + [$0], count) }
            + [1, 2, 3, 4, 5, 6].map { Sample.pbe(Sample.pkcs12 + [$0], count) }
            + [Sample.nested(13, pbkdf2), Sample.nested(14, pbkdf2)]
            + [Sample.nested(13, Sample.scrypt(count, [1], [1])), Sample.nested(13, Sample.scrypt([1], [1], count))]
    }

    @Test("allows a million rounds and no more, for every algorithm")
    func bound() throws {
        for algorithm in Self.algorithms(Self.million) {
            var budget = DerivationBudget()
            try budget.spend(onEncryption: algorithm)
            #expect(throws: SigningError.derivationTooLong(rounds: 1_000_001)) { try budget.spend(1) }
        }
        for algorithm in Self.algorithms(Self.above) {
            var budget = DerivationBudget()
            #expect(throws: SigningError.derivationTooLong(rounds: 1_000_001)) {
                try budget.spend(onEncryption: algorithm)
            }
        }
    }

    @Test("refuses counts that are too large to add or multiply")
    func overflow() {
        let huge = [UInt8](repeating: 0x7f, count: 200)
        for algorithm in Self.algorithms(huge) + [Sample.nested(13, Sample.scrypt(huge, huge, huge))] {
            var budget = DerivationBudget()
            #expect(throws: SigningError.derivationTooLong(rounds: .max)) { try budget.spend(onEncryption: algorithm) }
        }
    }

    @Test("counts the rounds of a MAC, and those inside its algorithm")
    func mac() throws {
        var budget = DerivationBudget()
        try budget.spend(onMAC: Sample.sequence(Sample.identifier([0x2a, 0x03])), rounds: 999_999)
        #expect(throws: SigningError.derivationTooLong(rounds: 1_000_001)) {
            try budget.spend(onMAC: Sample.nested(14, Sample.pbe(Sample.pkcs5 + [12], Self.above)), rounds: 2)
        }
    }

    @Test("refuses an unknown algorithm")
    func unknown() {
        let pbkdf2 = Sample.pbe(Sample.pkcs5 + [12], [1])
        for algorithm in [Sample.pbe([0x2a, 0x03], [1]), Sample.nested(13, Sample.nested(13, pbkdf2))] {
            var budget = DerivationBudget()
            #expect(throws: SigningError.encryptionUnsupported) { try budget.spend(onEncryption: algorithm) }
        }
    }
}

@Suite("A reader of DER")
struct DERReaderTests {
    @Test("refuses forms that only BER allows, and lengths beyond the end")
    func berIsRefused() {
        let forms: [[UInt8]] = [
            [], [0x30], [0x30, 0x80, 0x02, 0x01, 0x05, 0, 0], [0x30, 0x81, 0x03, 0x02, 0x01, 0x05],
            [0x30, 0x82, 0x00, 0x03, 0x02, 0x01, 0x05], [0x30, 0x84, 0, 0, 0, 3, 2, 1, 5],
            [0x30, 0x04, 0x02, 0x01, 0x05],
            [0x30, 0x81], [0x30, 0x82, 0x01], [0x30, 0xff, 0x01],
        ]
        for form in forms {
            var reader = DERReader(form)
            #expect(throws: SigningError.keyUnreadable) { try reader.structure() }
        }
    }

    @Test("reads integers from 0, and refuses longer encodings of them")
    func numbers() throws {
        let numbers: [([UInt8], Int)] = [
            ([0], 0), ([0x7f], 127), ([0, 0x80], 128), ([0x08, 0], 2_048), ([0x7f, 0xff, 0xff, 0xff], 2_147_483_647),
            ([0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], .max), ([UInt8](repeating: 1, count: 9), .max),
        ]
        for (contents, value) in numbers {
            var reader = DERReader(DERWriter.element(DERTag.integer, contents))
            #expect(try reader.count() == value)
            #expect(reader.isAtEnd)
        }
        for contents in [[], [0x80], [0xff, 0xff], [0, 0x7f]] as [[UInt8]] {
            var reader = DERReader(DERWriter.element(DERTag.integer, contents))
            #expect(throws: SigningError.keyUnreadable) { try reader.count() }
        }
    }

    @Test("always ends, whatever bytes an algorithm or a key consists of")
    func fuzz() throws {
        let pbkdf2 = Sample.pbe(Sample.pkcs5 + [12], [0x08, 0])
        let originals = [
            Sample.nested(13, pbkdf2), Sample.nested(13, Sample.scrypt([0x40, 0], [8], [1])),
            Sample.rsaKey(modulus: 2_048, others: [2_048, 1_024, 1_024, 1_024, 1_024, 1_024]),
        ]
        var chance: UInt64 = 88_172_645_463_325_252
        for turn in 0..<3_000 {
            var bytes = originals[turn % originals.count]
            for _ in 0..<3 {
                chance ^= chance << 13
                chance ^= chance >> 7
                chance ^= chance << 17
                bytes[Int(chance % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: chance >> 40)
            }
            if chance % 5 == 0 { bytes.removeLast(Int(chance % UInt64(bytes.count))) }
            var budget = DerivationBudget()
            try? budget.spend(onEncryption: bytes)
            _ = try? RS256Key(pem: Sample.pem("RSA PRIVATE KEY", bytes))
        }
    }
}

@Suite("A private key without a password")
struct PrivateKeyTests {
    /// The numbers of an RSA key, as PKCS#8 holds them.
    private static func inner(_ pem: [UInt8]) throws -> [UInt8] {
        let lines = String(decoding: pem, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("-") }
        var file = DERReader(Array(try #require(Data(base64Encoded: lines.joined()))))
        var info = try file.structure()
        _ = try info.count()
        _ = try info.structure()
        return try info.contents(of: DERTag.octetString)
    }

    @Test("loads from RSA's traditional form, and is written as PKCS#8")
    func traditional() throws {
        let key = try RS256Key.generate()
        let old = try RS256Key(pem: Sample.pem("RSA PRIVATE KEY", Self.inner(key.privatePEM())))
        #expect(try old.privatePEM() == key.privatePEM())
    }

    @Test("loads from a text in which two characters stand for each line break", arguments: [#"\n"#, #"\r\n"#])
    func pasted(lineBreak: String) throws {
        func pasted(_ pem: [UInt8]) -> [UInt8] {
            Array(String(decoding: pem, as: UTF8.self).replacing("\n", with: lineBreak).utf8)
        }
        let key = try ES256Key.generate()
        #expect(try ES256Key(pem: pasted(key.privatePEM())).privatePEM() == key.privatePEM())
        let message = Array("Twelve o'clock".utf8)
        let verifier = try ES256PublicKey(pem: pasted(key.publicPEM()))
        #expect(verifier.verifies(message, rawSignature: try key.sign(message)))
    }

    @Test("fails to load at once if it is encrypted, whatever its round count")
    func encrypted() throws {
        let algorithm = Sample.nested(13, Sample.pbe(Sample.pkcs5 + [12], [0x7f, 0xff, 0xff, 0xff]))
        let der = Sample.sequence(algorithm, Sample.octets([UInt8](repeating: 7, count: 64)))
        let old = """
            -----BEGIN RSA PRIVATE KEY-----
            Proc-Type: 4,ENCRYPTED
            DEK-Info: AES-128-CBC,00112233445566778899AABBCCDDEEFF

            AAAAAAAAAAAAAAAAAAAAAA==
            -----END RSA PRIVATE KEY-----
            """
        let disguised = Sample.pem("PRIVATE KEY", der)
        for pem in [Sample.pem("ENCRYPTED PRIVATE KEY", der), disguised, Array(old.utf8)] {
            #expect(throws: SigningError.keyEncrypted) { try RS256Key(pem: pem) }
            #expect(throws: SigningError.keyEncrypted) { try ES256Key(pem: pem) }
        }
    }

    @Test("fails to load if computing with its numbers would take minutes")
    func sizes() {
        let halves = [Int](repeating: 1_024, count: 5)
        let keys = [
            Sample.rsaKey(modulus: 8_193, others: [Int](repeating: 4_096, count: 6)),
            Sample.rsaKey(modulus: 16_384, others: [Int](repeating: 16_384, count: 6)),
            Sample.rsaKey(modulus: 2_048, exponent: 65, others: [2_048] + halves),
            Sample.rsaKey(modulus: 2_048, others: [2_049] + halves),
            Sample.rsaKey(modulus: 2_048, others: [2_048] + halves.dropLast() + [100_000]),
        ]
        for key in keys {
            for pem in [Sample.pkcs8(Sample.rsa, [5, 0], key), Sample.pem("RSA PRIVATE KEY", key)] {
                #expect(throws: SigningError.keyOfOtherKind) { try RS256Key(pem: pem) }
            }
        }
    }

    /// OpenSSL computes the public half of a DSA key while it reads it. It could not read this key.
    @Test("fails to load before OpenSSL reads it if it is DSA or spells out its curve")
    func kinds() {
        let dsa = Sample.pkcs8(Sample.dsa, [5, 0], Sample.integer(Sample.number(bits: 30_000)))
        let curve = Sample.pkcs8(
            Sample.ellipticCurve, Sample.sequence(Sample.integer([1])), Sample.sequence(Sample.integer([1])))
        for pem in [dsa, curve] {
            #expect(throws: SigningError.keyOfOtherKind) { try ES256Key(pem: pem) }
        }
    }
}
