import Foundation
import Signing
import TLS
import Testing

@Suite("A key file that asks for too much key derivation", .timeLimit(.minutes(5)))
struct KeyDerivationTests {
    /// The smallest count that is refused, and the largest that OpenSSL would run.
    private static let counts = [1_000_001, 2_147_483_647]
    /// The count 2,048, which the openssl program writes.
    private static let usual: [UInt8] = [0x08, 0x00]

    private static func contents(_ count: Int) -> [UInt8] {
        let bytes = (0..<8).map { UInt8(truncatingIfNeeded: count >> (8 * (7 - $0))) }
        let magnitude = Array(bytes.drop { $0 == 0 })
        return (magnitude.first ?? 0) < 0x80 && !magnitude.isEmpty ? magnitude : [0] + magnitude
    }

    private static func refusal(pkcs12 file: [UInt8]) -> TLSError? {
        do throws(TLSError) {
            _ = try TLSIdentity(pkcs12: file, password: "carillon")
            return nil
        } catch { return error }
    }

    private static func isTooLong(_ error: TLSError?, _ roundsMin: Int) -> Bool {
        if case .identity(.derivationTooLong(let rounds)) = error { rounds >= roundsMin } else { false }
    }

    /// Returns a PEM block with changed bytes.
    private static func pem(_ key: [UInt8], place: Int, _ old: [UInt8], _ new: [UInt8]) -> [UInt8] {
        let lines = String(decoding: key, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("-") }
        let der = DERTree.replacing(old, place, with: new, in: Fixtures.bytes(lines.joined()))
        let base64 = Data(der).base64EncodedString(options: .lineLength64Characters)
        return Fixtures.pem(
            encryptedKey: Array(
                "-----BEGIN ENCRYPTED PRIVATE KEY-----\n\(base64)\n-----END ENCRYPTED PRIVATE KEY-----\n".utf8))
    }

    @Test("fails to open for the round count of its MAC", arguments: counts)
    func mac(count: Int) {
        for (file, place) in [(Fixtures.legacyPKCS12, 2), (Fixtures.modernPKCS12, 2), (Fixtures.nestedPKCS12, 1)] {
            let changed = DERTree.replacing(Self.usual, place, with: Self.contents(count), in: file)
            #expect(changed != file)
            #expect(Self.isTooLong(Self.refusal(pkcs12: changed), count))
        }
    }

    @Test("fails to open for the round count of its encrypted safe or its key", arguments: counts, [0, 1])
    func layers(count: Int, place: Int) {
        for file in [Fixtures.legacyPKCS12, Fixtures.modernPKCS12] {
            let changed = DERTree.replacing(Self.usual, place, with: Self.contents(count), in: file)
            #expect(changed != file)
            #expect(Self.isTooLong(Self.refusal(pkcs12: DERTree.withoutMAC(changed)), count))
        }
    }

    @Test("fails to open for a round count inside an encrypted safe")
    func nested() {
        #expect(Self.isTooLong(Self.refusal(pkcs12: Fixtures.nestedPKCS12), 2_147_483_647))
    }

    @Test("fails to open as PEM with PBKDF2 or scrypt", arguments: counts)
    func pem(count: Int) {
        let pbkdf2 = Self.pem(Fixtures.encryptedKey, place: 0, Self.usual, Self.contents(count))
        let scrypt = [
            Self.pem(Fixtures.scryptKey, place: 0, [0x40, 0x00], Self.contents(count)),
            Self.pem(Fixtures.scryptKey, place: 0, [0x08], Self.contents(count)),
            Self.pem(Fixtures.scryptKey, place: 0, [0x01], Self.contents(count)),
        ]
        for text in scrypt + [pbkdf2] {
            #expect {
                try TLSIdentity(pem: text, password: Array("carillon".utf8))
            } throws: { Self.isTooLong($0 as? TLSError, count) }
        }
    }

    @Test("opens with the round counts that common tools write, including scrypt")
    func usualCounts() throws {
        let pem = Fixtures.pem(encryptedKey: Fixtures.scryptKey)
        #expect(try TLSIdentity(pem: pem, password: Array("carillon".utf8)).certificate.userID == "com.example.app")
    }

    @Test("fails to open for a count that is negative, missing or no valid DER")
    func malformed() {
        for count in [[0xff, 0xff, 0xff, 0xff], [], [0x00, 0x00, 0x10]] as [[UInt8]] {
            let changed = DERTree.replacing(Self.usual, 0, with: count, in: Fixtures.modernPKCS12)
            #expect(Self.refusal(pkcs12: DERTree.withoutMAC(changed)) == .identity(.unreadable))
        }
    }
}
