import Foundation
import Signing
import Testing

/// The examples of RFC 7515, appendix A. All sign the same claims.
private enum Example {
    static let hs256 = message("eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9")
    static let rs256 = message("eyJhbGciOiJSUzI1NiJ9")

    private static func message(_ header: String) -> [UInt8] {
        let claims =
            "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
        return Array("\(header).\(claims)".utf8)
    }
}

@Suite("An HS256 signature")
struct HS256Tests {
    /// RFC 7515, appendix A.1.
    @Test("equals the example of the JWS standard")
    func vector() throws {
        let key = try HS256Key(
            secret: hex(
                """
                0323354b2b0fa5bc837e0665777ba68f5ab328e6f054c928a90f84b2d2502ebf
                d3fb5a92d20647ef968ab4c377623d223d2e2172052e4f08c0cd9af567d080a3
                """))
        let signature = hex("7418dfb49799e0254ffa607dd8adbbba16d4254d69d6bff05b58055853848d79")
        #expect(try key.sign(Example.hs256) == signature)
        #expect(key.verifies(Example.hs256, signature: signature))
    }

    @Test("fails to verify with a changed, missing or further byte, another message or another secret")
    func refused() throws {
        let key = try HS256Key(secret: [UInt8](repeating: 1, count: 32))
        let signature = try key.sign(Example.hs256)
        #expect(signature.count == 32)
        for index in signature.indices {
            var changed = signature
            changed[index] ^= 1
            #expect(!key.verifies(Example.hs256, signature: changed))
        }
        #expect(!key.verifies(Example.hs256, signature: []))
        #expect(!key.verifies(Example.hs256, signature: signature.dropLast()))
        #expect(!key.verifies(Example.hs256, signature: signature + [0]))
        #expect(!key.verifies(Example.hs256 + [0], signature: signature))
        let other = try HS256Key(secret: [UInt8](repeating: 1, count: 33))
        #expect(!other.verifies(Example.hs256, signature: signature))
    }

    @Test("needs a secret of 32 to 1,024 bytes")
    func lengths() throws {
        for count in [0, 1, 31, 1_025] {
            #expect(throws: SigningError.keyOfOtherKind) { try HS256Key(secret: [UInt8](repeating: 7, count: count)) }
        }
        for count in [32, 1_024] {
            let key = try HS256Key(secret: [UInt8](repeating: 7, count: count))
            #expect(key.verifies([1, 2], signature: try key.sign([1, 2])))
            #expect(!"\(key)".contains("7, 7"))
        }
    }
}

@Suite("A raw ES256 signature")
struct RawES256Tests {
    private let message = Array("header.payload".utf8)

    @Test("verifies as 64 bytes, and the same signature in DER does not")
    func rawAlone() throws {
        let key = try ES256Key.generate()
        let verifier = try ES256PublicKey(pem: key.publicPEM())
        let raw = try key.sign(message)
        let der = Self.der(raw)
        #expect(verifier.verifies(message, rawSignature: raw))
        #expect(verifier.verifies(message, signature: der))
        #expect(!verifier.verifies(message, rawSignature: der))
        #expect(!verifier.verifies(message, rawSignature: raw + [0]))
        #expect(!verifier.verifies(message, rawSignature: raw.dropLast()))
        #expect(!verifier.verifies(message, rawSignature: []))
        #expect(!verifier.verifies(message + [0], rawSignature: raw))
        for filler: UInt8 in [0, 0xff] {
            #expect(!verifier.verifies(message, rawSignature: [UInt8](repeating: filler, count: 64)))
        }
    }

    private static func der(_ raw: [UInt8]) -> [UInt8] {
        func integer(_ half: ArraySlice<UInt8>) -> [UInt8] {
            let magnitude = Array(half.drop { $0 == 0 })
            return DERWriter.element(DERTag.integer, (magnitude[0] >= 0x80 ? [0] : []) + magnitude)
        }
        return DERWriter.element(DERTag.sequence, integer(raw.prefix(32)) + integer(raw.suffix(32)))
    }
}

@Suite("An RS256 public key")
struct RS256PublicKeyTests {
    /// RFC 7515, appendix A.2.
    @Test("verifies the example of the JWS standard")
    func vector() throws {
        let key = try RS256PublicKey(
            pem: Array(
                """
                -----BEGIN PUBLIC KEY-----
                MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAofgWCuLjybRlzo0tZWJj
                NiuSfb4p4fAkd/wWJcyQoTbji9k0l8W26mPddxHmfHQp+Vaw+4qPCJrcS2mJPMEz
                P1Pt0Bm4d4QlL+yRT+SFd2lZS+pCgNMsD1W/YpRPEwOWvG6b32690r2jZ47soMZo
                9wGzjb/7OMg0LOL+bSf63kpaSHSXndS5z5rexMdbBYUsLA9e+KXBdQOS+UTo7WTB
                EMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6/I5IhlJH7aGhyxX
                FvUK+DWNmoudF8NAco9/h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXp
                oQIDAQAB
                -----END PUBLIC KEY-----
                """.utf8))
        let signature = hex(
            """
            702e218943e88fd11eb5d82dbf7845f34106ae1b81fff7731116add1717d83656d420afd3c96eedd73a2663e5166687b
            000b87226e0187ed1073f945e582adfcef16d85a798ee8c66ddb3db8975b17d09402beedd5d9d97007108db28160d5f8
            040ca7445762b81fbe7ff9d92e0ae76f24f25b33bbe6f44ae61eb1040acb20044d3ef9128ed40130795bd4bd3b41eeca
            d066ab651981fde48df77f372dc38b9fafdd3befb18b5da3cc3c2eb02f9e3a41d612caad15911273a05f23b9e838faaf
            849d698429ef5a1e88798236c3d40e604522a544c8f27a7a2db80663d16cf7caea56de405cb2215a45b2c25566b55ac1
            a748a070dfc8a32a469543d019eefb47
            """)
        #expect(key.verifies(Example.rs256, signature: signature))
        #expect(!key.verifies(Example.hs256, signature: signature))
        #expect(!key.verifies(Example.rs256, signature: signature + [0]))
        #expect(!key.verifies(Example.rs256, signature: []))
    }

    @Test("has 2,048 to 8,192 bits")
    func lengths() throws {
        for bits in [2_048, 3_072, 8_192] { _ = try RS256PublicKey(pem: Self.pem(bits: bits)) }
        for bits in [512, 1_024, 2_047, 8_193, 16_384] {
            #expect(throws: SigningError.keyOfOtherKind) { try RS256PublicKey(pem: Self.pem(bits: bits)) }
        }
        #expect(throws: SigningError.keyOfOtherKind) { try RS256PublicKey(pem: ES256Key.generate().publicPEM()) }
    }

    /// An artificial key whose modulus has this length.
    private static func pem(bits: Int) -> [UInt8] {
        let bytes = [UInt8](repeating: 0xff, count: (bits + 7) / 8)
        let modulus = bits % 8 == 0 ? [0] + bytes : [UInt8(0xff >> (8 - bits % 8))] + bytes.dropFirst()
        let key = DERWriter.element(
            DERTag.sequence,
            DERWriter.element(DERTag.integer, modulus) + DERWriter.element(DERTag.integer, [1, 0, 1]))
        let rsa: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01]
        let algorithm = DERWriter.element(
            DERTag.sequence,
            DERWriter.element(DERTag.objectIdentifier, rsa) + DERWriter.element(DERTag.null, []))
        let bitString: UInt8 = 0x03
        let der = DERWriter.element(DERTag.sequence, algorithm + DERWriter.element(bitString, [0] + key))
        let base64 = Data(der).base64EncodedString(options: .lineLength64Characters)
        return Array("-----BEGIN PUBLIC KEY-----\n\(base64)\n-----END PUBLIC KEY-----\n".utf8)
    }
}

@Suite("The labels of a PEM text")
struct PEMLabelTests {
    @Test("name all its blocks in their order")
    func labels() throws {
        let key = try ES256Key.generate()
        let (secret, open) = (try key.privatePEM(), try key.publicPEM())
        #expect(try PEMBlock.labels(in: open + secret + open) == ["PUBLIC KEY", "PRIVATE KEY", "PUBLIC KEY"])
        #expect(try PEMBlock.labels(in: Array("A comment.\n".utf8) + open) == ["PUBLIC KEY"])
        #expect(try PEMBlock.labels(in: Array("no key".utf8)) == [])
        #expect(try PEMBlock.labels(in: []) == [])
    }

    @Test("throw that the key is unreadable if a block is damaged")
    func damaged() throws {
        let open = try ES256Key.generate().publicPEM()
        #expect(throws: SigningError.keyUnreadable) { try PEMBlock.labels(in: open + open.dropLast(20)) }
    }
}
