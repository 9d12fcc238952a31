import Signing
import Testing

/// Decodes hexadecimal digits, and ignores white space.
func hex(_ text: String) -> [UInt8] {
    var bytes: [UInt8] = []
    var high: UInt8?
    for character in text.utf8 {
        guard let digit = Character(UnicodeScalar(character)).hexDigitValue else { continue }
        if let first = high {
            bytes.append(first << 4 | UInt8(digit))
            high = nil
        } else {
            high = UInt8(digit)
        }
    }
    return bytes
}

@Suite("An ES256 signature")
struct ES256Tests {
    let message = Array("header.payload".utf8)

    @Test("contains 64 bytes, and verifies with the public key")
    func roundTrip() throws {
        let key = try ES256Key(pem: ES256Key.generate().privatePEM())
        let verifier = try ES256PublicKey(pem: key.publicPEM())
        // A short R or S occurs once in 128 signatures, so that these include some with padding.
        for _ in 0..<600 {
            let signature = try key.sign(message)
            #expect(signature.count == 64)
            #expect(verifier.verifies(message, signature: signature))
        }
    }

    /// RFC 7515, appendix A.3.
    @Test("verifies in the example of the JWS standard")
    func vector() throws {
        let message = Array(
            ("eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt"
                + "cGxlLmNvbS9pc19yb290Ijp0cnVlfQ").utf8)
        let signature = hex(
            """
            0ed1215379636c483c2f7f155807d402a3b228033af97c7e17819ac3169ea665
            c50a07d38c3c70e5d8f12daf084a5480a66590c5f293509a8f3f7f8a83a354d5
            """)
        let key = try ES256PublicKey(
            pem: Array(
                """
                -----BEGIN PUBLIC KEY-----
                MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV7
                6e8Tus9uPHvRVEXH8UTNG72bfocs3+257rn0s2ldbqkLJK2KRiMohYjlrQ==
                -----END PUBLIC KEY-----
                """.utf8))
        #expect(key.verifies(message, signature: signature))
    }

    @Test("fails to verify with a changed byte, message or key")
    func refused() throws {
        let key = try ES256Key.generate()
        let verifier = try ES256PublicKey(pem: key.publicPEM())
        let signature = try key.sign(message)
        var changed = signature
        changed[10] ^= 1
        #expect(!verifier.verifies(message, signature: changed))
        #expect(!verifier.verifies(message + [0], signature: signature))
        let other = try ES256PublicKey(pem: ES256Key.generate().publicPEM())
        #expect(!other.verifies(message, signature: signature))
        #expect(!verifier.verifies(message, signature: []))
        #expect(!verifier.verifies(message, signature: [UInt8](repeating: 0, count: 64)))
        #expect(!verifier.verifies(message, signature: [UInt8](repeating: 0xff, count: 64)))
    }

    @Test("needs a P-256 key")
    func kinds() throws {
        let rsa = try RS256Key.generate()
        #expect(throws: SigningError.keyOfOtherKind) { try ES256Key(pem: rsa.privatePEM()) }
        #expect(throws: SigningError.keyUnreadable) { try ES256Key(pem: Array("no key".utf8)) }
        #expect(throws: SigningError.keyUnreadable) { try ES256Key(pem: []) }
        #expect(throws: SigningError.keyUnreadable) { try ES256Key(pem: rsa.publicPEM()) }
    }
}

@Suite("An RS256 signature")
struct RS256Tests {
    @Test("verifies with the public key, and fails for another message")
    func roundTrip() throws {
        let key = try RS256Key(pem: RS256Key.generate().privatePEM())
        let verifier = try RS256PublicKey(pem: key.publicPEM())
        let signature = try key.sign([1, 2, 3])
        #expect(signature.count == 256)
        #expect(verifier.verifies([1, 2, 3], signature: signature))
        #expect(!verifier.verifies([1, 2, 4], signature: signature))
        #expect(throws: SigningError.keyOfOtherKind) { try RS256Key(pem: ES256Key.generate().privatePEM()) }
    }
}

@Suite("A sealed secret")
struct AESGCMTests {
    /// McGrew and Viega, "The Galois/Counter Mode of Operation", test case 16.
    @Test("equals the example in the standard")
    func vector() throws {
        let key = hex("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308")
        let nonce = hex("cafebabefacedbaddecaf888")
        let plaintext = hex(
            """
            d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72
            1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39
            """)
        let context = hex("feedfacedeadbeeffeedfacedeadbeefabaddad2")
        let sealed = hex(
            """
            522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa
            8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662
            76fc6ece0f4e1768cddf8853bb2d551b
            """)
        #expect(try AESGCM.seal(plaintext, key: key, nonce: nonce, context: context) == sealed)
        #expect(try AESGCM.open(sealed, key: key, nonce: nonce, context: context) == plaintext)
    }

    @Test("opens only with the same key, nonce, context and bytes")
    func tampered() throws {
        let key = [UInt8](repeating: 1, count: 32)
        let nonce = [UInt8](repeating: 2, count: 12)
        let sealed = try AESGCM.seal([1, 2, 3], key: key, nonce: nonce, context: [7])
        #expect(sealed.count == 3 + 16)
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(throws: SigningError.notAuthentic) {
                try AESGCM.open(changed, key: key, nonce: nonce, context: [7])
            }
        }
        let other = [UInt8](repeating: 3, count: 32)
        #expect(throws: SigningError.notAuthentic) { try AESGCM.open(sealed, key: other, nonce: nonce, context: [7]) }
        #expect(throws: SigningError.notAuthentic) { try AESGCM.open(sealed, key: key, nonce: nonce) }
        #expect(throws: SigningError.notAuthentic) { try AESGCM.open([1, 2], key: key, nonce: nonce) }
    }

    @Test("may be empty")
    func empty() throws {
        let key = [UInt8](repeating: 1, count: 32)
        let nonce = [UInt8](repeating: 2, count: 12)
        let sealed = try AESGCM.seal([], key: key, nonce: nonce)
        #expect(sealed.count == 16)
        #expect(try AESGCM.open(sealed, key: key, nonce: nonce) == [])
    }
}

@Suite("Hashes")
struct HashesTests {
    @Test("equal the example of SHA-256")
    func sha256() {
        let abc = hex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(Hashes.sha256(Array("abc".utf8)) == abc)
    }

    @Test("equal each other only if all their bytes do")
    func equal() {
        #expect(Hashes.areEqual([1, 2, 3], [1, 2, 3]))
        #expect(!Hashes.areEqual([1, 2, 3], [1, 2, 4]))
        #expect(!Hashes.areEqual([1, 2, 3], [1, 2]))
        #expect(Hashes.areEqual([], []))
    }
}
