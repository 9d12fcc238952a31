import Basis
import Content
import Encodings
import FCM
import JSON
import TestSupport
import Testing

private let pem = "-----BEGIN PRIVATE KEY-----\nMIIEvQ==\n-----END PRIVATE KEY-----\n"

/// A key file as Google's console hands it out, with some members changed; nil leaves one out.
func keyFile(_ changes: (String, JSONValue?)...) -> [UInt8] {
    var file = JSONObject([
        JSONMember("type", "service_account"), JSONMember("project_id", "my-project"),
        JSONMember("private_key_id", "0123456789abcdef"), JSONMember("private_key", .string(pem)),
        JSONMember("client_email", "push@my-project.iam.gserviceaccount.com"), JSONMember("client_id", "1234567890"),
        JSONMember("token_uri", "https://oauth2.googleapis.com/token"), JSONMember("universe_domain", "googleapis.com"),
    ])
    for change in changes { file[change.0] = change.1 }
    return JSONValue.object(file).bytes
}

@Suite("A service account's key file")
struct ServiceAccountTests {
    private func fault(_ json: [UInt8]) -> ProviderFault? {
        do throws(ProviderFault) {
            _ = try FCMServiceAccount(json: json)
            return nil
        } catch { return error }
    }

    @Test("names the project, the account, its key and the token endpoint")
    func members() throws {
        let account = try FCMServiceAccount(json: keyFile())
        #expect(account.project.name == "my-project")
        #expect(account.clientEmail == "push@my-project.iam.gserviceaccount.com")
        #expect(account.privateKeyID == "0123456789abcdef")
        #expect(account.privateKey.revealed == Array(pem.utf8))
        #expect(account.tokenURI == "https://oauth2.googleapis.com/token")
        #expect(account.tokenURL == FCMServiceURL("https://oauth2.googleapis.com:443/token"))
        #expect(!"\(account)".contains("MIIEvQ"))
        #expect(FCMRequest.path(of: account.project) == "/v1/projects/my-project/messages:send")
    }

    @Test("may omit what Google's documents omit")
    func optionalMembers() throws {
        let account = try FCMServiceAccount(json: keyFile(("type", nil), ("private_key_id", nil), ("token_uri", .null)))
        #expect(account.privateKeyID == nil)
        #expect(account.tokenURI == "https://oauth2.googleapis.com/token")
        #expect(fault(keyFile(("private_key", .string(pem.replacing("PRIVATE", with: "RSA PRIVATE"))))) == nil)
        #expect(fault(keyFile(("project_id", "1234567890"))) == nil)
        let standIn = try FCMServiceAccount(json: keyFile(("token_uri", "http://127.0.0.1:9000/token")))
        #expect(!standIn.tokenURL.isSecure)
        #expect(standIn.tokenURL.host == "127.0.0.1")
        #expect(standIn.tokenURL.port == 9_000)
        #expect(standIn.tokenURL.path == "/token")
    }

    @Test(
        "fails to load if a member is missing or is no text", arguments: ["project_id", "client_email", "private_key"])
    func missing(name: String) {
        #expect(fault(keyFile((name, nil)))?.code == "missing_member")
        #expect(fault(keyFile((name, .null)))?.code == "missing_member")
        #expect(fault(keyFile((name, 1)))?.code == "wrong_type")
        #expect(fault(keyFile((name, "")))?.code == Self.codeOfMalformed(name))
        #expect(fault(keyFile((name, nil)))?.pointer == .root / "service_account" / name)
    }

    private static func codeOfMalformed(_ name: String) -> String {
        name == "private_key" ? "key_unreadable" : "invalid_value"
    }

    @Test(
        "fails to load if a member is malformed",
        arguments: [
            ("type", "authorized_user"), ("project_id", "my/project"),
            ("project_id", ".."), ("project_id", "My-Project"),
            ("project_id", "a b"), ("project_id", "a%2fb"), ("project_id", "-a"),
            ("project_id", String(repeating: "a", count: 64)),
            ("client_email", "nobody"), ("client_email", "a@b\"c d"),
            ("private_key_id", "a b"), ("private_key_id", ""),
            ("private_key", "MIIEvQ=="), ("private_key", "-----BEGIN PRIVATE KEY-----"),
            ("private_key", "-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----"),
            ("token_uri", "ftp://a/b"), ("token_uri", "https://"),
            ("token_uri", "https://user@a/"), ("token_uri", "https://a/b?c"),
            ("token_uri", "https://a:0/"), ("token_uri", "https://a:+1/"),
            ("token_uri", "https://a\r\nb/"), ("token_uri", "https://a/b#c"),
            ("token_uri", "https://a b/"), ("token_uri", "https://[::1/"),
        ])
    func malformed(name: String, value: String) {
        let found = fault(keyFile((name, .string(value))))
        #expect(found?.code == Self.codeOfMalformed(name))
        #expect(found?.pointer == .root / "service_account" / name)
        if !value.isEmpty { #expect(found?.detail.contains(value) == false) }
    }

    @Test("fails to load if it is no JSON object, and the error repeats none of it")
    func notJSON() {
        #expect(fault(Array(pem.utf8))?.code == "malformed_json")
        #expect(fault(Array("[]".utf8))?.code == "wrong_type")
        #expect(fault([UInt8](repeating: 0x20, count: FCMServiceAccount.bytesMax + 1))?.code == "malformed_json")
        #expect(fault(keyFile(("private_key", "x")))?.code == "key_unreadable")
    }

    @Test(
        "loads or fails to load after changes of bytes, and never traps",
        arguments: 1...20 as ClosedRange<UInt64>)
    func noise(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<200 {
            var file = keyFile()
            for _ in 0...Int.random(in: 0...4, using: &generator) {
                file[Int.random(in: 0..<file.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            }
            guard let account = try? FCMServiceAccount(json: file) else { continue }
            #expect(
                account.project.name.utf8.allSatisfy {
                    $0 == 0x2d || (0x30...0x39).contains($0) || (0x61...0x7a).contains($0)
                })
            #expect(account.tokenURL.path.utf8.first == UInt8(ascii: "/"))
        }
    }
}

@Suite("The request for an access token")
struct TokenRequestTests {
    private let issuedAt = WallInstant(microseconds: 1_796_126_400_999_999)

    private func parts(_ account: FCMServiceAccount) -> [String] {
        FCMTokenRequest.signingInput(account, issuedAt: issuedAt).split(separator: UInt8(ascii: ".")).map {
            String(decoding: Base64.urlDecode($0) ?? [], as: UTF8.self)
        }
    }

    @Test("asserts one hour and the scope for sending only")
    func signingInput() throws {
        let account = try FCMServiceAccount(json: keyFile())
        #expect(
            parts(account) == [
                #"{"alg":"RS256","typ":"JWT","kid":"0123456789abcdef"}"#,
                #"{"iss":"push@my-project.iam.gserviceaccount.com","#
                    + #""scope":"https://www.googleapis.com/auth/firebase.messaging","#
                    + #""aud":"https://oauth2.googleapis.com/token","iat":1796126400,"exp":1796130000}"#,
            ])
        let nameless = try FCMServiceAccount(json: keyFile(("private_key_id", nil)))
        #expect(parts(nameless)[0] == #"{"alg":"RS256","typ":"JWT"}"#)
    }

    @Test("carries grant type and assertion in a URL-encoded form")
    func form() {
        let body = FCMTokenRequest.body(signingInput: Array("aGVhZGVy.Y2xhaW1z".utf8), signature: [0xfb, 0xff, 0xfe])
        #expect(
            String(decoding: body, as: UTF8.self)
                == "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=aGVhZGVy.Y2xhaW1z.-__-")
    }
}
