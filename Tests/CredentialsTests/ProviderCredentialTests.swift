import APNs
import Basis
import Content
import Credentials
import FCM
import JSON
import Model
import ProviderInterface
import Signing
import TLS
import Testing

@Suite("A submitted credential")
struct ProviderCredentialTests {
    private let now = WallInstant(secondsSince1970: 1_800_000_000)

    private func certificate(
        userID: String? = "com.example.app", apple: AppleExtensions? = nil, validFor days: Int = 30,
        from start: WallInstant? = nil
    ) throws -> any ProviderCredential {
        let authority = try CertificateAuthority(validity: .days(3_650, from: now))
        let identity = try authority.issue(
            CertificateSubject(commonName: "Apple Push Services: com.example.app", userID: userID),
            validity: .days(days, from: start ?? now), apple: apple)
        return try Self.certificate(pem: identity.pem())
    }

    private static func certificate(
        pem: [UInt8], password: String? = nil
    ) throws(ProviderFault) -> any ProviderCredential {
        var form = SubmittedForm(.certificate, [("pem", pem)])
        if let password { form.add("password", Array(password.utf8)) }
        return try APNsProvider().readCredential(form, OpenedKeys())
    }

    private static func key(
        keyID: String = "ABCDE12345", teamID: String = "TEAMID1234", p8: [UInt8]
    ) throws(ProviderFault) -> any ProviderCredential {
        let form = SubmittedForm(
            .token, [("key_id", Array(keyID.utf8)), ("team_id", Array(teamID.utf8)), ("p8", p8)])
        return try APNsProvider().readCredential(form, OpenedKeys())
    }

    private static func serviceAccount(_ json: String) throws(ProviderFault) -> any ProviderCredential {
        let form = SubmittedForm(.serviceAccount, [("service_account", Array(json.utf8))])
        return try FCMProvider().readCredential(form, OpenedKeys())
    }

    /// Returns the code and the place of the fault, such as "key_unreadable /p8"; nil: there is none.
    private static func fault<Value>(_ work: () throws(ProviderFault) -> Value) -> String? {
        do throws(ProviderFault) {
            _ = try work()
            return nil
        } catch {
            return error.code + (error.pointer.map { " \($0)" } ?? "")
        }
    }

    @Test("needs a readable p8 key", arguments: ["", "nonsense", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END"])
    func unreadableKey(text: String) {
        let fault = Self.fault { () throws(ProviderFault) in try Self.key(p8: Array(text.utf8)) }
        #expect(fault == "key_unreadable /p8")
    }

    /// PBES2 with PBKDF2 and 2,147,483,647 rounds.
    private static let encryptedKey = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MH0wWQYJKoZIhvcNAQUNMEwwKwYJKoZIhvcNAQUMMB4ECBHVZNoYzyb1AgR/////
        MAwGCCqGSIb3DQIJBQAwHQYJYIZIAWUDBAEqBBAAAAAAAAAAAAAAAAAAAAAABCAA
        AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHw==
        -----END ENCRYPTED PRIVATE KEY-----

        """

    @Test("opens an encrypted PEM key with its password, and seals the key in plain form")
    func encryptedPEM() throws {
        let pem = Array(Self.encryptedIdentity.utf8)
        let opened = try Self.certificate(pem: pem, password: "carillon")
        #expect(try opened.topics(asked: []) == ["com.example.app"])
        let members = try opened.sealedMembers()
        #expect(members.map(\.name) == ["pem"])
        let sealed = Array(try #require(members.first?.value.string).utf8)
        #expect(try Self.certificate(pem: sealed).facts() == opened.facts())
        let wrong = Self.fault { () throws(ProviderFault) in try Self.certificate(pem: pem, password: "other") }
        #expect(wrong == "password_wrong /password")
        #expect(Self.fault { () throws(ProviderFault) in try Self.certificate(pem: pem) } == "key_encrypted /pem")
    }

    @Test("names the missing half of a certificate with its key")
    func halves() throws {
        let authority = try CertificateAuthority(validity: .days(3_650, from: now))
        let identity = try authority.issue(
            CertificateSubject(commonName: "Apple Push Services: com.example.app", userID: "com.example.app"),
            validity: .days(30, from: now))
        let text = String(decoding: try identity.pem(), as: UTF8.self)
        let cut = try #require(text.firstRange(of: "-----BEGIN PRIVATE KEY-----")).lowerBound
        let halves = [
            (text[..<cut], "a certificate without its private key"), (text[cut...], "a private key without its"),
        ]
        for (half, words) in halves {
            do throws(ProviderFault) {
                _ = try Self.certificate(pem: Array(half.utf8))
                Issue.record("half was enough")
            } catch {
                #expect(error.code == "certificate_unreadable" && error.pointer == .root / "pem")
                #expect(error.detail.contains(words))
            }
        }
    }

    /// A self-signed certificate for com.example.app, and its key. The key guards nothing; its password is "carillon".
    private static let encryptedIdentity = """
        -----BEGIN CERTIFICATE-----
        MIICITCCAcegAwIBAgIUHBJYsJ/P/HeMR1KuPi8smvAGwYgwCgYIKoZIzj0EAwIw
        ZTEtMCsGA1UEAwwkQXBwbGUgUHVzaCBTZXJ2aWNlczogY29tLmV4YW1wbGUuYXBw
        MR8wHQYKCZImiZPyLGQBAQwPY29tLmV4YW1wbGUuYXBwMRMwEQYDVQQLDApURUFN
        SUQxMjM0MCAXDTI2MTEyMTExMzA1NFoYDzIxMjYxMDI4MTEzMDU0WjBlMS0wKwYD
        VQQDDCRBcHBsZSBQdXNoIFNlcnZpY2VzOiBjb20uZXhhbXBsZS5hcHAxHzAdBgoJ
        kiaJk/IsZAEBDA9jb20uZXhhbXBsZS5hcHAxEzARBgNVBAsMClRFQU1JRDEyMzQw
        WTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASq+ZFik7rVeV1SYiLmDfJahzEOMpjz
        lqI+G/ZuZrrOCUynyCMm35QE8n4aI3weziuLXrxyGq+zYHaNGdQDqRaBo1MwUTAd
        BgNVHQ4EFgQUsyNxQOAlJOHvH1SHKCBYhZmUB9kwHwYDVR0jBBgwFoAUsyNxQOAl
        JOHvH1SHKCBYhZmUB9kwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBF
        AiA6hGZ7YWrxO8Dj07pQ3s3KkoQ7+L2On63ep6tD+rQl+gIhALD/BovXbE9NgNLC
        ZCWHMtgYKasLm1VnOnvJx1gMpLKP
        -----END CERTIFICATE-----
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAjFaT8eBGIDlwICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEL7fb5mKSxcOti59s5jF2EwEgZDA
        pDBW7KnTD2BD+PVVKcYgG1TrdC0Fz9oehOEIUy4ZF7WjjjwB0KAR6Zd+xdpr+lHG
        B3OxVPYquuM9m+ZoRccKdA71L57DxlhkfScC/n68oDgfN3H2hf9mcDBtP89g3hvW
        wxkdvYS1ZhljIBeTG+wrzlct4vbi+UIPTGpyGBFtOtB8qjgRo1wIHbyCDqnUulk=
        -----END ENCRYPTED PRIVATE KEY-----

        """

    @Test("fails for an encrypted key without its password, or with too many rounds")
    func encryptedKeys() throws {
        let key = Array(Self.encryptedKey.utf8)
        #expect(Self.fault { () throws(ProviderFault) in try Self.key(p8: key) } == "key_encrypted /p8")
        do throws(ProviderFault) {
            _ = try Self.certificate(pem: key, password: "carillon")
            Issue.record("the key was derived")
        } catch {
            #expect(error.code == "derivation_too_long" && error.pointer == .root / "pem")
            #expect(error.detail.contains("2147483647 rounds"))
        }
        // A plain block follows the encrypted one, which is read first.
        for text in [Self.encryptedKey, Self.encryptedKey + "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----"] {
            let account = #"""
                {"type": "service_account", "project_id": "tower-1", "private_key": "\#(text.replacing("\n", with: "\\n"))",
                 "client_email": "push@tower-1.iam.gserviceaccount.com"}
                """#
            let fault = Self.fault { () throws(ProviderFault) in try Self.serviceAccount(account) }
            #expect(fault == "key_encrypted /service_account/private_key")
        }
    }

    @Test("fails with its cause if a service account's key is no RSA key")
    func keyOfOtherKind() throws {
        let pem = String(decoding: try ES256Key.generate().privatePEM(), as: UTF8.self)
        for key in [pem, pem.replacing("PRIVATE KEY", with: "EC PRIVATE KEY")] {
            let text = key.replacing("\n", with: "\\n")
            let account = #"""
                {"type": "service_account", "project_id": "tower-1", "private_key": "\#(text)",
                 "client_email": "push@tower-1.iam.gserviceaccount.com"}
                """#
            do throws(ProviderFault) {
                _ = try Self.serviceAccount(account)
                Issue.record("the key was taken")
            } catch {
                #expect(error == FCMServiceAccount.keyNotRSA)
            }
        }
    }

    @Test("needs key and team ids of ten capitals and digits", arguments: ["", "short", "abcde12345", "ABCDE1234é"])
    func malformedIDs(text: String) throws {
        let key = try ES256Key.generate().privatePEM()
        let ofKey = Self.fault { () throws(ProviderFault) in try Self.key(keyID: text, p8: key) }
        #expect(ofKey == "key_id_malformed /key_id")
        let ofTeam = Self.fault { () throws(ProviderFault) in try Self.key(teamID: text, p8: key) }
        #expect(ofTeam == "team_id_malformed /team_id")
    }

    private func expectNotCovered(
        _ topic: String, by credential: any ProviderCredential, asked: [String],
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        do throws(ProviderFault) {
            _ = try credential.topics(asked: asked)
            Issue.record("the topic is covered", sourceLocation: sourceLocation)
        } catch {
            #expect(error.code == "topic_not_covered", sourceLocation: sourceLocation)
            #expect(error.detail.contains(" \(topic)."), sourceLocation: sourceLocation)
        }
    }

    @Test("serves exactly the topics that Apple listed in the certificate")
    func listedTopics() throws {
        let material = try certificate(
            apple: AppleExtensions(topics: ["com.example.app", "com.example.app.voip"]))
        #expect(try material.topics(asked: []) == ["com.example.app"])
        expectNotCovered("com.example.other", by: material, asked: ["com.example.other"])
    }

    @Test("gets a slot of its own if its certificate is for other services than alerts")
    func servicesAlone() throws {
        let (voip, complication) = ("com.example.app.voip", "com.example.app.complication")
        for list in [[voip], [complication, voip]] {
            let material = try certificate(userID: voip, apple: AppleExtensions(topics: list))
            #expect(try material.topics(asked: []) == list)
            #expect(try material.topics(asked: [voip]) == [voip])
            for topic in ["com.example.app", "com.example.other.voip", "com.example.app.pushkit.fileprovider"] {
                expectNotCovered(topic, by: material, asked: [topic])
            }
        }
        #expect(try certificate(userID: voip).topics(asked: []) == [voip])
        let twoApps = AppleExtensions(topics: ["com.example.other.voip", voip])
        #expect(try certificate(userID: voip, apple: twoApps).topics(asked: []) == [voip])
    }

    @Test("covers the topics that its certificate lists for its slot, or every push type as a key")
    func wholeTopics() throws {
        let (app, voip, other) = ("com.example.app", "com.example.app.voip", "com.example.other")
        let universal = try certificate(apple: AppleExtensions(topics: [app, voip, other]))
        #expect(universal.wholeTopics(in: [app]) == [app, voip, "", ".voip"])
        // Registrations without a topic belong to the app of the certificate's UID.
        #expect(universal.wholeTopics(in: [app, other]) == [app, voip, other, "", ".voip"])
        #expect(universal.wholeTopics(in: [other]) == [other, ""])
        let calls = try certificate(userID: voip, apple: AppleExtensions(topics: [voip, "\(app).complication"]))
        #expect(calls.wholeTopics(in: [voip]) == [voip, ".voip"])
        #expect(try certificate().wholeTopics(in: [app]) == [app, ""])
        // The name of this app ends like a suffix.
        let bells = "com.example.voip"
        #expect(try certificate(userID: bells).wholeTopics(in: [bells]) == [bells, ""])
        let key = try Self.key(p8: ES256Key.generate().privatePEM())
        #expect(key.wholeTopics(in: [app]).isEmpty)
    }

    @Test("belongs to the app if its certificate is for the app and its services")
    func universal() throws {
        let material = try certificate(apple: AppleExtensions(topics: ["com.example.app", "com.example.app.voip"]))
        for asked in [["com.example.app.voip"], ["com.example.app", "com.example.app.voip"]] {
            #expect(try material.topics(asked: asked) == ["com.example.app"])
        }
        let key = try Self.key(p8: ES256Key.generate().privatePEM())
        #expect(try key.topics(asked: ["com.example.app.voip", "com.example.app"]) == ["com.example.app"])
    }

    @Test("never adds the certificate's UID to the topics that Apple listed")
    func userIDIsNotAdded() throws {
        let material = try certificate(apple: AppleExtensions(topics: ["com.example.other"]))
        #expect(try material.topics(asked: []) == ["com.example.other"])
        expectNotCovered("com.example.app", by: material, asked: ["com.example.app"])
    }

    @Test("serves only the certificate's UID if there is no topic list")
    func userIDIsTheTopic() throws {
        #expect(try certificate().topics(asked: []) == ["com.example.app"])
        let nameless = try certificate(userID: nil)
        let fault = Self.fault { () throws(ProviderFault) in try nameless.topics(asked: []) }
        #expect(fault == "certificate_names_no_topic")
    }

    @Test("fails in an environment that its certificate does not name")
    func environments() throws {
        let material = try certificate(apple: AppleExtensions(isDevelopment: true, isProduction: false))
        try material.checkUse(in: [.sandbox], now: now)
        let fault = Self.fault { () throws(ProviderFault) in try material.checkUse(in: [.production], now: now) }
        #expect(fault == "environment_not_covered /environment")
    }

    @Test("fails before its certificate becomes valid and after it expired")
    func validity() throws {
        let old = try certificate(validFor: 1)
        let late = now + .seconds(2 * 86_400)
        let expired = Self.fault { () throws(ProviderFault) in try old.checkUse(in: [.production], now: late) }
        #expect(expired == "certificate_expired")
        let early = try certificate(from: now + .seconds(86_400))
        let unborn = Self.fault { () throws(ProviderFault) in try early.checkUse(in: [.production], now: now) }
        #expect(unborn == "certificate_not_yet_valid")
    }

    @Test("never shows its key in its description")
    func nothingSecretIsShown() throws {
        let key = try ES256Key.generate().privatePEM()
        let form = SubmittedForm(.token, [("key_id", Array("ABCDE12345".utf8)), ("p8", key)])
        let submission = CredentialSubmission(
            provider: .apns, form: form, environments: [.production], topics: [], activate: true)
        let text = String(decoding: key, as: UTF8.self)
        let secretLine = try #require(text.split(separator: "\n").dropFirst().first)
        #expect(!"\(submission) \(form)".contains(secretLine))
    }
}
