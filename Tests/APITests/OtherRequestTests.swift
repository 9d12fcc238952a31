import API
import Credentials
import Requests
import Testing

@Suite("A request about an app or a badge")
struct SmallRequestTests {
    @Test("carries the slug and the name of a new app")
    func app() throws {
        let read = try AppRequest.read(Array(#"{"slug": "clock-tower_2", "name": "Clock tower ⏰"}"#.utf8))
        #expect(read.slug == "clock-tower_2")
        #expect(read.name == "Clock tower ⏰")
    }

    @Test(
        "fails with a code and a pointer to the wrong member of an app",
        arguments: [
            Refusal("{}", .missingMember, "/slug"), Refusal(#"{"slug": "a"}"#, .missingMember, "/name"),
            Refusal(#"{"slug": "", "name": "A"}"#, .invalidValue, "/slug"),
            Refusal(#"{"slug": "A", "name": "A"}"#, .invalidValue, "/slug"),
            Refusal(#"{"slug": "-a", "name": "A"}"#, .invalidValue, "/slug"),
            Refusal(#"{"slug": "a b", "name": "A"}"#, .invalidValue, "/slug"),
            Refusal(#"{"slug": "a/b", "name": "A"}"#, .invalidValue, "/slug"),
            Refusal(#"{"slug": "ä", "name": "A"}"#, .invalidValue, "/slug"),
            Refusal(#"{"slug": "a\n", "name": "A"}"#, .invalidValue, "/slug"),
            Refusal(#"{"slug": "\#(String(repeating: "a", count: 64))", "name": "A"}"#, .valueTooLong, "/slug"),
            Refusal(#"{"slug": 1, "name": "A"}"#, .wrongType, "/slug"),
            Refusal(#"{"slug": "a", "name": ""}"#, .invalidValue, "/name"),
            Refusal(#"{"slug": "a", "name": "\n"}"#, .invalidValue, "/name"),
            Refusal(#"{"slug": "a", "name": 1}"#, .wrongType, "/name"),
            Refusal(#"{"slug": "a", "name": "\#(String(repeating: "ä", count: 129))"}"#, .valueTooLong, "/name"),
            Refusal(#"{"slug": "a", "name": "A", "settings": {}}"#, .unknownMember, "/settings"),
        ])
    func badApp(refusal: Refusal) {
        refusal.check { (bytes) throws(Problem) in try AppRequest.read(bytes) }
    }

    @Test("sets a badge, or consumes a part of it")
    func badge() throws {
        #expect(try BadgeRequest.readBadge(Array(#"{"badge": 0}"#.utf8)) == 0)
        #expect(try BadgeRequest.readBadge(Array(#"{"badge": 2147483647}"#.utf8)) == .max)
        #expect(try BadgeRequest.readCount(Array(#"{"count": 1}"#.utf8)) == 1)
    }

    @Test(
        "fails with a code and a pointer to the wrong badge",
        arguments: [
            Refusal("{}", .missingMember, "/badge"), Refusal(#"{"badge": null}"#, .missingMember, "/badge"),
            Refusal(#"{"badge": -1}"#, .invalidValue, "/badge"), Refusal(#"{"badge": 1.0}"#, .invalidValue, "/badge"),
            Refusal(#"{"badge": "1"}"#, .wrongType, "/badge"), Refusal(#"{"badge": 1e1}"#, .invalidValue, "/badge"),
            Refusal(#"{"badge": 2147483648}"#, .invalidValue, "/badge"), Refusal("3", .wrongType, ""),
            Refusal(#"{"badge": 1, "count": 1}"#, .unknownMember, "/count"),
        ])
    func badBadge(refusal: Refusal) {
        refusal.check { (bytes) throws(Problem) in try BadgeRequest.readBadge(bytes) }
    }

    @Test(
        "fails with a code and a pointer to the wrong count to consume",
        arguments: [
            Refusal("{}", .missingMember, "/count"), Refusal(#"{"count": 0}"#, .invalidValue, "/count"),
            Refusal(#"{"count": -1}"#, .invalidValue, "/count"), Refusal(#"{"count": "1"}"#, .wrongType, "/count"),
            Refusal(#"{"badge": 1}"#, .missingMember, "/count"),
        ])
    func badCount(refusal: Refusal) {
        refusal.check { (bytes) throws(Problem) in try BadgeRequest.readCount(bytes) }
    }
}

@Suite("A request that adds a credential")
struct CredentialRequestTests {
    private static func read(_ text: String) throws(Problem) -> CredentialSubmission {
        try CredentialRequest.read(Array(text.utf8))
    }

    @Test("carries a token key for both environments")
    func token() throws {
        let read = try Self.read(
            #"""
            {"provider": "apns", "kind": "token", "environment": "both", "key_id": "ABCDE12345",
             "team_id": "TEAMID1234", "topics": ["com.example.app", "com.example.app.voip"], "p8": "-----BEGIN",
             "activate": true}
            """#)
        #expect(read.environments == [.production, .sandbox])
        #expect(read.topics == ["com.example.app", "com.example.app.voip"])
        #expect(read.activate)
        #expect(read.provider == .apns && read.form.kind == .token)
        #expect(["key_id", "team_id", "p8"].map(read.form.text) == ["ABCDE12345", "TEAMID1234", "-----BEGIN"])
    }

    @Test("carries a certificate as PEM or PKCS#12, staged unless it asks for activation")
    func certificate() throws {
        let pem = try Self.read(
            #"{"provider": "apns", "kind": "certificate", "environment": "sandbox", "pem": "x"}"#)
        #expect(pem.form.kind == .certificate && pem.form.text("pem") == "x" && pem.form["pkcs12"] == nil)
        #expect(!pem.activate)
        let encrypted = try Self.read(
            #"{"provider": "apns", "kind": "certificate", "environment": "sandbox", "pem": "x", "password": "bells"}"#)
        #expect(encrypted.form.text("pem") == "x" && encrypted.form.text("password") == "bells")
        let archive = try Self.read(
            #"""
            {"provider": "apns", "kind": "certificate", "environment": "production", "pkcs12": "AQID", "password": ""}
            """#)
        #expect(archive.form["pkcs12"] == [1, 2, 3] && archive.form["password"] == [] && archive.form["pem"] == nil)
    }

    @Test("fails with a problem code and a pointer to the wrong member", arguments: refusals)
    func refused(refusal: Refusal) {
        refusal.check { (bytes) throws(Problem) in try CredentialRequest.read(bytes) }
    }

    private static func token(_ members: String, _ code: ProblemCode, _ pointer: String? = nil) -> Refusal {
        Refusal(#"{"provider": "apns", "kind": "token", \#(members)}"#, code, pointer)
    }

    private static func certificate(_ members: String, _ code: ProblemCode, _ pointer: String? = nil) -> Refusal {
        let head = #"{"provider": "apns", "kind": "certificate", "environment": "sandbox""#
        return Refusal(members.isEmpty ? head + "}" : "\(head), \(members)}", code, pointer)
    }

    private static let key = #""key_id": "A", "team_id": "B", "p8": "C""#

    static let refusals: [Refusal] = [
        Refusal("{}", .missingMember, "/provider"),
        Refusal(#"{"provider": "hms", "kind": "client"}"#, .notSupported, "/provider"),
        Refusal(#"{"provider": "fcm", "kind": "service_account"}"#, .missingMember, "/service_account"),
        Refusal(#"{"provider": "fcm", "kind": "token"}"#, .invalidValue, "/kind"),
        Refusal(#"{"provider": "fcm"}"#, .missingMember, "/kind"),
        Refusal(#"{"provider": "apple"}"#, .invalidValue, "/provider"),
        Refusal(#"{"provider": "apns"}"#, .missingMember, "/environment"),
        Refusal(#"{"provider": "apns", "environment": "both"}"#, .missingMember, "/kind"),
        Refusal(#"{"provider": "apns", "environment": "both", "kind": "client"}"#, .invalidValue, "/kind"),
        Refusal(#"{"provider": "apns", "environment": "both", "kind": 1}"#, .wrongType, "/kind"),
        token(#""environment": "test""#, .invalidValue, "/environment"),
        token(#""environment": "both""#, .missingMember, "/key_id"),
        token(#""environment": "both", "key_id": "A""#, .missingMember, "/team_id"),
        token(#""environment": "both", "key_id": "A", "team_id": "B""#, .missingMember, "/p8"),
        token(#""environment": "both", "key_id": 1, "team_id": "B", "p8": "C""#, .wrongType, "/key_id"),
        token(
            #""environment": "both", "key_id": "\#(String(repeating: "A", count: 65))""#, .valueTooLong, "/key_id"),
        token(#""environment": "both", \#(key), "pem": "x""#, .unknownMember, "/pem"),
        token(#""environment": "both", \#(key), "password": "x""#, .unknownMember, "/password"),
        token(#""environment": "both", \#(key), "activate": "yes""#, .wrongType, "/activate"),
        token(#""environment": "both", \#(key), "topics": "com.example""#, .wrongType, "/topics"),
        token(#""environment": "both", \#(key), "topics": [1]"#, .wrongType, "/topics/0"),
        token(#""environment": "both", \#(key), "topics": [""]"#, .invalidValue, "/topics/0"),
        token(#""environment": "both", \#(key), "topics": ["a b"]"#, .invalidValue, "/topics/0"),
        token(#""environment": "both", \#(key), "topics": ["a.b", "com.example.*"]"#, .invalidValue, "/topics/1"),
        token(#""environment": "both", \#(key), "topics": ["https://example.com"]"#, .invalidValue, "/topics/0"),
        certificate("", .missingMember, "/pem"),
        certificate(#""pem": "x", "pkcs12": "AQID""#, .invalidValue, "/pkcs12"),
        certificate(#""pem": """#, .invalidValue, "/pem"), certificate(#""pem": 1"#, .wrongType, "/pem"),
        certificate(#""password": "x""#, .missingMember, "/pem"),
        certificate(#""pem": "x", "password": 1"#, .wrongType, "/password"),
        certificate(#""pem": "\#(String(repeating: "x", count: 65_537))""#, .valueTooLong, "/pem"),
        certificate(#""pkcs12": "AQI""#, .invalidValue, "/pkcs12"),
        certificate(#""pkcs12": "AQ\nID""#, .invalidValue, "/pkcs12"),
        certificate(#""pkcs12": "AQID", "password": 1"#, .wrongType, "/password"),
        certificate(#""pkcs12": "AQID", "key_id": "A""#, .unknownMember, "/key_id"),
    ]

    @Test("keeps secrets out of the problem that it causes")
    func secretsAreNotQuoted() {
        let secret = "MIGHAgEAMBMGByqGSM49"
        let problem = refusal { () throws(Problem) in
            try Self.read(
                #"{"provider": "apns", "kind": "certificate", "environment": "both", "pkcs12": "*\#(secret)"}"#)
        }
        #expect(problem.map { String(decoding: $0.body, as: UTF8.self).contains(secret) } == false)
    }
}
