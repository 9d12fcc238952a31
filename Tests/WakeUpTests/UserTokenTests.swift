import Basis
import Encodings
import JSON
import Signing
import TestSupport
import Testing
import WakeUp

/// Keys of one app, and tokens that they sign.
private struct TokenWorld {
    static let now = WallInstant(secondsSince1970: 1_700_000_000)
    static let secret = [UInt8](repeating: 5, count: 32)

    /// Made once, because RSA keys take long to generate.
    static let shared = Result { try TokenWorld() }

    let elliptic: ES256Key
    let rsa: RS256Key
    let keys: [UserTokenKey]

    init() throws {
        elliptic = try ES256Key.generate()
        rsa = try RS256Key.generate()
        keys = [
            try UserTokenKey(kid: "h", algorithm: .hs256, submitted: Self.text(Base64.urlEncode(Self.secret))),
            try UserTokenKey(kid: "e", algorithm: .es256, submitted: Self.text(elliptic.publicPEM())),
            try UserTokenKey(kid: "r", algorithm: .rs256, submitted: Self.text(rsa.publicPEM())),
        ]
    }

    static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    /// - Parameter signer: the kid of the key that signs.
    func token(_ header: String, _ claims: String = "{}", signer: String = "h") throws -> String {
        let signed =
            Self.text(Base64.urlEncode(Array(header.utf8))) + "." + Self.text(Base64.urlEncode(Array(claims.utf8)))
        let signature =
            switch signer {
            case "e": try elliptic.sign(Array(signed.utf8))
            case "r": try rsa.sign(Array(signed.utf8))
            default: try HS256Key(secret: Self.secret).sign(Array(signed.utf8))
            }
        return signed + "." + Self.text(Base64.urlEncode(signature))
    }

    static let header = #"{"alg":"HS256","kid":"h","typ":"JWT"}"#

    /// - Returns: nil if the token is accepted.
    func fault(_ text: String, keys: [UserTokenKey]? = nil, now: WallInstant = now) -> UserTokenFault? {
        do throws(UserTokenFault) {
            _ = try UserToken(verifying: text, keys: keys ?? self.keys, now: now)
            return nil
        } catch { return error }
    }
}

@Suite("A user's token")
struct UserTokenTests {
    private let world: TokenWorld

    init() throws { world = try TokenWorld.shared.get() }

    @Test("gives its claims and its subject, with each algorithm")
    func accepted() throws {
        let claims = #"{"sub":"u1","exp":1700000060,"roles":["a"],"n":1.50}"#
        for (kid, algorithm) in [("h", "HS256"), ("e", "ES256"), ("r", "RS256")] {
            let text = try world.token(#"{"alg":"\#(algorithm)","kid":"\#(kid)"}"#, claims, signer: kid)
            let token = try UserToken(verifying: text, keys: world.keys, now: TokenWorld.now)
            #expect(token.subject == "u1")
            #expect(token.claims.object?["roles"] == ["a"])
            #expect(token.claims.object?["n"] == .number(.literal("1.50")))
            #expect("\(token)" == "user token" && !String(reflecting: [token]).contains("u1"))
        }
        let nobody = try UserToken(verifying: world.token(TokenWorld.header), keys: world.keys, now: TokenWorld.now)
        #expect(nobody.subject == nil && nobody.claims == [:])
    }

    /// RFC 7515, appendices A.1 and A.3. Their claims expire at 1,300,819,380.
    @Test("verifies in the examples of the JWS standard, until they expire")
    func vectors() throws {
        let claims =
            "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
        let pem = """
            -----BEGIN PUBLIC KEY-----
            MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV7
            6e8Tus9uPHvRVEXH8UTNG72bfocs3+257rn0s2ldbqkLJK2KRiMohYjlrQ==
            -----END PUBLIC KEY-----
            """
        let secret = "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"
        let elliptic = try UserTokenKey(kid: "a3", algorithm: .es256, submitted: pem)
        let symmetric = try UserTokenKey(kid: "a1", algorithm: .hs256, submitted: secret)
        let examples = [
            (symmetric, "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9", "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"),
            (
                elliptic, "eyJhbGciOiJFUzI1NiJ9",
                "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
            ),
        ]
        for (key, header, signature) in examples {
            let text = "\(header).\(claims).\(signature)"
            let token = try UserToken(verifying: text, keys: [key], now: WallInstant(secondsSince1970: 1_300_819_439))
            #expect(token.claims.object?["iss"] == "joe")
            #expect(world.fault(text, keys: [key]) == .expired)
        }
    }

    /// Headers and the fault that each leads to; nil: accepted. All are signed with the app's HS256 key "h".
    static let headers: [(String, UserTokenFault?)] = [
        (#"{"alg":"HS256","kid":"h"}"#, nil), (#"{"kid":"h","alg":"HS256","jku":"https://example.com/"}"#, nil),
        (#"{"alg":"none","kid":"h"}"#, .algorithmOfOtherKey), (#"{"alg":"None","kid":"h"}"#, .algorithmOfOtherKey),
        (#"{"alg":"","kid":"h"}"#, .algorithmOfOtherKey), (#"{"alg":"hs256","kid":"h"}"#, .algorithmOfOtherKey),
        (#"{"alg":"HS512","kid":"h"}"#, .algorithmOfOtherKey), (#"{"alg":"RS256","kid":"h"}"#, .algorithmOfOtherKey),
        (#"{"alg":"HS256","kid":"e"}"#, .algorithmOfOtherKey), (#"{"alg":"HS256","kid":"r"}"#, .algorithmOfOtherKey),
        (#"{"alg":"RS256","kid":"r"}"#, .signatureWrong), (#"{"alg":"ES256","kid":"e"}"#, .signatureWrong),
        (#"{"alg":"HS256","kid":"x"}"#, .keyUnknown), (#"{"alg":"HS256","kid":""}"#, .keyUnknown),
        (#"{"alg":"HS256","kid":"H"}"#, .keyUnknown), (#"{"alg":"none"}"#, .keyNotNamed),
        (#"{"alg":"HS256"}"#, .keyNotNamed), (#"{"alg":"HS256","kid":null}"#, .headerUnreadable),
        (#"{"alg":"HS256","kid":1}"#, .headerUnreadable), (#"{"kid":"h"}"#, .headerUnreadable),
        (#"{"alg":["HS256"],"kid":"h"}"#, .headerUnreadable), (#"{"alg":null,"kid":"h"}"#, .headerUnreadable),
        (#"{"alg":"HS256","kid":"h","crit":["exp"]}"#, .extensionUnknown),
        (#"{"alg":"HS256","kid":"h","crit":[]}"#, .extensionUnknown),
        (#"{"alg":"HS256","kid":"h","crit":null}"#, .extensionUnknown),
        (#"{"alg":"HS256","kid":"h","kid":"h"}"#, .headerUnreadable),
        (#"{"alg":"HS256","kid":"h"}x"#, .headerUnreadable),
        ("", .headerUnreadable), ("[]", .headerUnreadable), ("\"h\"", .headerUnreadable), ("{", .headerUnreadable),
        (#"{"alg":"HS256","kid":"h","x":\#(String(repeating: "[", count: 20))}"#, .headerUnreadable),
    ]

    @Test("names a key of the app and that key's algorithm in its header", arguments: 0..<headers.count)
    func header(place: Int) throws {
        let (header, fault) = Self.headers[place]
        #expect(try world.fault(world.token(header)) == fault, "\(header)")
    }

    @Test("needs no kid if the app has exactly one key")
    func withoutKid() throws {
        for (place, algorithm) in [(0, "HS256"), (1, "ES256"), (2, "RS256")] {
            let key = world.keys[place]
            let text = try world.token(#"{"alg":"\#(algorithm)"}"#, signer: key.kid)
            #expect(world.fault(text, keys: [key]) == nil)
            #expect(world.fault(text) == .keyNotNamed)
            #expect(world.fault(text, keys: []) == .keyNotNamed)
            #expect(
                try world.fault(world.token(#"{"alg":"none"}"#, signer: key.kid), keys: [key]) == .algorithmOfOtherKey)
        }
        #expect(try world.fault(world.token(TokenWorld.header), keys: []) == .keyUnknown)
    }

    /// The oldest attack on JWTs: the public key, which everybody has, taken as the secret of HS256.
    @Test("signed with a public key as the secret is refused")
    func publicKeyAsSecret() throws {
        let secret = try Array(world.rsa.publicPEM())
        for kid in ["r", "e"] {
            let header = Base64.urlEncode(Array(#"{"alg":"HS256","kid":"\#(kid)"}"#.utf8))
            let signed = TokenWorld.text(header) + "." + TokenWorld.text(Base64.urlEncode(Array("{}".utf8)))
            let signature = try HS256Key(secret: secret).sign(Array(signed.utf8))
            #expect(world.fault(signed + "." + TokenWorld.text(Base64.urlEncode(signature))) == .algorithmOfOtherKey)
        }
    }

    /// Claims and the fault that each leads to at 1,700,000,000; nil: accepted.
    static let claims: [(String, UserTokenFault?)] = [
        ("{}", nil), (#"{"exp":1700000000}"#, nil), (#"{"exp":1699999941}"#, nil), (#"{"exp":1699999940}"#, .expired),
        (#"{"exp":1699999940.000001}"#, nil), (#"{"exp":1699999940.0}"#, .expired),
        (#"{"exp":1.69999994e9}"#, .expired),
        (#"{"exp":17e8}"#, nil), (#"{"exp":0}"#, .expired), (#"{"exp":-1}"#, .expired), (#"{"exp":1e300}"#, nil),
        (#"{"exp":99999999999999999999999999}"#, nil), (#"{"exp":1e-300}"#, .expired),
        (#"{"exp":1e9999999}"#, .timeUnreadable), (#"{"exp":"1800000000"}"#, .timeUnreadable),
        (#"{"exp":null}"#, .timeUnreadable), (#"{"exp":true}"#, .timeUnreadable), (#"{"exp":[]}"#, .timeUnreadable),
        (#"{"nbf":1700000000}"#, nil), (#"{"nbf":1700000060}"#, nil), (#"{"nbf":1700000060.0001}"#, .notYetValid),
        (#"{"nbf":1700000061}"#, .notYetValid), (#"{"nbf":-5}"#, nil), (#"{"nbf":1e300}"#, .notYetValid),
        (#"{"nbf":"0"}"#, .timeUnreadable), (#"{"nbf":null}"#, .timeUnreadable),
        (#"{"exp":1600000000,"nbf":1800000000}"#, .expired), (#"{"iat":1800000000}"#, nil),
        (#"{"sub":"u1"}"#, nil), (#"{"sub":"\#(String(repeating: "ä", count: 128))"}"#, nil),
        (#"{"sub":"\#(String(repeating: "ä", count: 128))a"}"#, .subjectUnreadable),
        (#"{"sub":""}"#, .subjectUnreadable),
        (#"{"sub":1}"#, .subjectUnreadable), (#"{"sub":null}"#, .subjectUnreadable),
        (#"{"sub":["u1"]}"#, .subjectUnreadable), (#"{"sub":"a","sub":"b"}"#, .claimsUnreadable),
        (#"{"sub":"a\u0000"}"#, .claimsUnreadable), ("[]", .claimsUnreadable), ("null", .claimsUnreadable),
        ("", .claimsUnreadable), ("{}{}", .claimsUnreadable), ("sub", .claimsUnreadable),
        (String(repeating: #"{"a":"#, count: 16) + "1" + String(repeating: "}", count: 16), nil),
        (String(repeating: #"{"a":"#, count: 17) + "1" + String(repeating: "}", count: 17), .claimsUnreadable),
    ]

    @Test(
        "must be used between nbf and exp, within a minute, with a subject of 1 to 256 bytes",
        arguments: 0..<claims.count)
    func claim(place: Int) throws {
        let (claims, fault) = Self.claims[place]
        #expect(try world.fault(world.token(TokenWorld.header, claims)) == fault, "\(claims)")
    }

    @Test("compares fractions of a second exactly")
    func fractions() throws {
        let text = try world.token(TokenWorld.header, #"{"exp":1700000000.5}"#)
        let skew = Int64(60_000_000)
        for (microseconds, fault) in [(Int64(499_999), UserTokenFault?.none), (500_000, .expired)] {
            let now = WallInstant(microseconds: 1_700_000_000_000_000 + microseconds + skew)
            #expect(world.fault(text, now: now) == fault)
        }
    }

    @Test("has three parts in base64url without padding")
    func parts() throws {
        let text = try world.token(TokenWorld.header, #"{"a":1}"#)
        let parts = text.split(separator: ".").map(String.init)
        for (changed, fault) in [
            ("", UserTokenFault.notThreeParts), (".", .notThreeParts), (parts[0] + "." + parts[1], .notThreeParts),
            (text + ".", .notThreeParts), (text + ".a.b", .notThreeParts), ("..", .headerUnreadable),
            (parts[0] + "." + parts[1] + ".", .signatureWrong), (text + "=", .notBase64URL),
            (" " + text, .notBase64URL),
            (text + "\n", .notBase64URL), (text + "A", .signatureWrong), (text + "AA", .notBase64URL),
            (parts[0] + "+." + parts[1] + ".", .notBase64URL),
            (parts[0] + ".ä." + parts[2], .notBase64URL), (parts[0] + ".." + parts[2], .signatureWrong),
            (parts[0] + "." + parts[1] + "." + parts[1], .signatureWrong),
        ] { #expect(world.fault(changed) == fault, "\(changed)") }
    }

    @Test("has at most 4,096 bytes")
    func length() throws {
        // Not every header allows every length, because base64 has no texts of 4n + 1 digits.
        func text(_ header: String, claimsBytes: Int) throws -> String {
            try world.token(header, #"{"a":"\#(String(repeating: "x", count: claimsBytes - 8))"}"#)
        }
        let longest = try text(#"{"alg":"HS256","kid":"h"} "#, claimsBytes: 3_012)
        let longer = try text(#"{"alg":"HS256","kid":"h"}"#, claimsBytes: 3_013)
        #expect(longest.utf8.count == 4_096 && world.fault(longest) == nil)
        #expect(longer.utf8.count == 4_097 && world.fault(longer) == .tooLong)
        #expect(world.fault(String(repeating: ".", count: 5_000)) == .tooLong)
    }

    @Test("with a changed bit anywhere is refused")
    func changed() throws {
        for (kid, algorithm) in [("h", "HS256"), ("e", "ES256"), ("r", "RS256")] {
            let text = try world.token(#"{"alg":"\#(algorithm)","kid":"\#(kid)"}"#, #"{"sub":"u1"}"#, signer: kid)
            let bytes = Array(text.utf8)
            for place in bytes.indices {
                var changed = bytes
                changed[place] ^= 1
                #expect(world.fault(String(decoding: changed, as: UTF8.self)) != nil, "\(kid) \(place)")
            }
        }
    }

    @Test("signed with ES256 in DER is refused")
    func derSignature() throws {
        let key = world.keys[1]
        let text = try world.token(#"{"alg":"ES256"}"#, signer: "e")
        let signed = text.utf8.prefix { _ in true }.split(separator: UInt8(ascii: "."))
        let raw = try #require(Base64.urlDecode(signed[2]))
        func integer(_ half: ArraySlice<UInt8>) -> [UInt8] {
            let magnitude = Array(half.drop { $0 == 0 })
            return DERWriter.element(DERTag.integer, (magnitude[0] >= 0x80 ? [0] : []) + magnitude)
        }
        let der = DERWriter.element(DERTag.sequence, integer(raw.prefix(32)) + integer(raw.suffix(32)))
        let message = String(text.prefix(upTo: text.lastIndex(of: ".") ?? text.startIndex))
        #expect(try ES256PublicKey(pem: world.elliptic.publicPEM()).verifies(Array(message.utf8), signature: der))
        #expect(world.fault(message + "." + TokenWorld.text(Base64.urlEncode(der)), keys: [key]) == .signatureWrong)
    }

    @Test("never crashes the reader if it is changed at random, and is never accepted then", arguments: UInt64(1)...20)
    func noise(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let valid = Array(try world.token(TokenWorld.header, #"{"sub":"u1","exp":1800000000}"#).utf8)
        for _ in 0..<300 {
            var bytes = valid
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let place = Int.random(in: 0...bytes.count, using: &generator)
                switch Int.random(in: 0..<4, using: &generator) {
                case 0 where place < bytes.count: bytes.remove(at: place)
                case 1: bytes.insert(UInt8.random(in: .min ... .max, using: &generator), at: place)
                case 2: bytes.insert(contentsOf: bytes.prefix(place), at: place)
                default: bytes.removeLast(bytes.count - place)
                }
            }
            guard bytes != valid else { continue }
            #expect(world.fault(String(decoding: bytes, as: UTF8.self)) != nil, "seed \(seed)")
            // Signed, so that the claims are read too.
            let header = Bool.random(using: &generator) ? TokenWorld.header : TokenWorld.text(bytes)
            _ = try world.fault(world.token(header, TokenWorld.text(bytes)))
        }
    }
}

@Suite("A submitted key for users' tokens")
struct UserTokenKeyTests {
    private static func fault(_ algorithm: UserTokenAlgorithm, _ text: String, kid: String = "k") -> UserTokenKeyFault?
    {
        do throws(UserTokenKeyFault) {
            _ = try UserTokenKey(kid: kid, algorithm: algorithm, submitted: text)
            return nil
        } catch { return error }
    }

    private static func secret(_ count: Int) -> String {
        TokenWorld.text(Base64.urlEncode([UInt8](repeating: 0xfb, count: count)))
    }

    @Test("for HS256 is a secret of 32 to 1,024 bytes in base64url")
    func secrets() {
        for count in [32, 33, 1_024] { #expect(Self.fault(.hs256, Self.secret(count)) == nil) }
        for count in [0, 1, 31, 1_025] {
            #expect(Self.fault(.hs256, Self.secret(count)) == .secretLength(bytes: count))
        }
        for text in [
            Self.secret(32) + "=", Self.secret(32) + "\n", Base64.encode([UInt8](repeating: 0xfb, count: 33)), "not it",
        ] { #expect(Self.fault(.hs256, text) == .secretNotBase64URL, "\(text)") }
    }

    @Test("for RS256 or ES256 is one public key of that kind in PEM")
    func publicKeys() throws {
        let world = try TokenWorld.shared.get()
        let elliptic = try TokenWorld.text(world.elliptic.publicPEM())
        let rsa = try TokenWorld.text(world.rsa.publicPEM())
        #expect(Self.fault(.es256, elliptic) == nil)
        #expect(Self.fault(.es256, "A comment.\n" + elliptic + "\n") == nil)
        #expect(Self.fault(.rs256, rsa) == nil)
        #expect(Self.fault(.rs256, elliptic) == .keyOfOtherKind)
        #expect(Self.fault(.es256, rsa) == .keyOfOtherKind)
        for algorithm in [UserTokenAlgorithm.es256, .rs256] {
            #expect(Self.fault(algorithm, "") == .notOnePublicKey)
            #expect(Self.fault(algorithm, "no key") == .notOnePublicKey)
            #expect(Self.fault(algorithm, Self.secret(32)) == .notOnePublicKey)
            #expect(Self.fault(algorithm, elliptic + elliptic) == .notOnePublicKey)
            #expect(Self.fault(algorithm, String(elliptic.dropLast(30))) == .keyUnreadable)
            #expect(Self.fault(algorithm, elliptic.replacing("PUBLIC KEY", with: "CERTIFICATE")) == .notOnePublicKey)
            #expect(
                Self.fault(algorithm, "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n") == .keyUnreadable)
            let long = String(repeating: " ", count: UserTokenKey.pemBytesMax + 1)
            #expect(Self.fault(algorithm, long) == .pemTooLong(bytes: 8_193))
        }
    }

    @Test("with a private part is refused as such, alone or beside its public key")
    func privateKeys() throws {
        let world = try TokenWorld.shared.get()
        for (algorithm, secret, open) in [
            (UserTokenAlgorithm.es256, try world.elliptic.privatePEM(), try world.elliptic.publicPEM()),
            (.rs256, try world.rsa.privatePEM(), try world.rsa.publicPEM()),
        ] {
            for pem in [secret, open + secret, secret + open] {
                #expect(Self.fault(algorithm, TokenWorld.text(pem)) == .privateKey)
            }
        }
        for label in ["EC PRIVATE KEY", "RSA PRIVATE KEY", "ENCRYPTED PRIVATE KEY"] {
            #expect(Self.fault(.es256, "-----BEGIN \(label)-----\nAAAA\n-----END \(label)-----\n") == .privateKey)
        }
    }

    @Test("has a kid of 1 to 128 bytes")
    func kids() {
        #expect(Self.fault(.hs256, Self.secret(32), kid: "") == .kidLength(bytes: 0))
        #expect(Self.fault(.hs256, Self.secret(32), kid: String(repeating: "ä", count: 65)) == .kidLength(bytes: 130))
        #expect(Self.fault(.hs256, Self.secret(32), kid: String(repeating: "ä", count: 64)) == nil)
    }
}
