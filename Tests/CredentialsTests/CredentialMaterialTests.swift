import Basis
import Credentials
import Signing
import TLS
import Testing

@Suite("A submitted credential")
struct CredentialMaterialTests {
    private let now = WallInstant(secondsSince1970: 1_800_000_000)

    private func certificate(
        userID: String? = "com.example.app", apple: AppleExtensions? = nil, validFor days: Int = 30,
        from start: WallInstant? = nil
    ) throws -> CredentialMaterial {
        let authority = try CertificateAuthority(validity: .days(3_650, from: now))
        let identity = try authority.issue(
            CertificateSubject(commonName: "Apple Push Services: com.example.app", userID: userID),
            validity: .days(days, from: start ?? now), apple: apple)
        return try CredentialMaterial.read(.certificatePEM(identity.pem()))
    }

    @Test("needs a readable p8 key", arguments: ["", "nonsense", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END"])
    func unreadableKey(text: String) {
        #expect(throws: CredentialFault.keyUnreadable) {
            try CredentialMaterial.read(.token(keyID: "ABCDE12345", teamID: "TEAMID1234", p8: Array(text.utf8)))
        }
    }

    /// PBES2 with PBKDF2 and 2,147,483,647 rounds.
    private static let encryptedKey = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MH0wWQYJKoZIhvcNAQUNMEwwKwYJKoZIhvcNAQUMMB4ECBHVZNoYzyb1AgR/////
        MAwGCCqGSIb3DQIJBQAwHQYJYIZIAWUDBAEqBBAAAAAAAAAAAAAAAAAAAAAABCAA
        AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHw==
        -----END ENCRYPTED PRIVATE KEY-----

        """

    @Test("must have an unencrypted key, and no key is derived from an encrypted one")
    func encryptedKeys() throws {
        let key = Array(Self.encryptedKey.utf8)
        #expect(throws: CredentialFault.keyEncrypted) {
            try CredentialMaterial.read(.token(keyID: "ABCDE12345", teamID: "TEAMID1234", p8: key))
        }
        #expect(throws: CredentialFault.derivationTooLong(rounds: 2_147_483_647, .pem)) {
            try CredentialMaterial.read(.certificatePEM(key))
        }
        // A plain block follows the encrypted one, which is read first.
        for text in [Self.encryptedKey, Self.encryptedKey + "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----"] {
            let account = #"""
                {"type": "service_account", "project_id": "tower-1", "private_key": "\#(text.replacing("\n", with: "\\n"))",
                 "client_email": "push@tower-1.iam.gserviceaccount.com"}
                """#
            #expect(throws: CredentialFault.serviceAccount(.keyEncrypted)) {
                try CredentialMaterial.read(.serviceAccount(Array(account.utf8)))
            }
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
            #expect(throws: CredentialFault.serviceAccount(.keyNotRSA)) {
                try CredentialMaterial.read(.serviceAccount(Array(account.utf8)))
            }
        }
    }

    @Test("needs key and team ids of ten capitals and digits", arguments: ["", "short", "abcde12345", "ABCDE1234é"])
    func malformedIDs(text: String) throws {
        let key = try ES256Key.generate().privatePEM()
        #expect(throws: CredentialFault.keyIDMalformed) {
            try CredentialMaterial.read(.token(keyID: text, teamID: "TEAMID1234", p8: key))
        }
        #expect(throws: CredentialFault.teamIDMalformed) {
            try CredentialMaterial.read(.token(keyID: "ABCDE12345", teamID: text, p8: key))
        }
    }

    @Test("serves exactly the topics that Apple listed in the certificate")
    func listedTopics() throws {
        let material = try certificate(
            apple: AppleExtensions(topics: ["com.example.app", "com.example.app.voip"]))
        #expect(try material.topics(asked: []) == ["com.example.app"])
        #expect(throws: CredentialFault.topicNotCovered("com.example.other")) {
            try material.topics(asked: ["com.example.other"])
        }
    }

    @Test("gets a slot of its own if its certificate is for other services than alerts")
    func servicesAlone() throws {
        let (voip, complication) = ("com.example.app.voip", "com.example.app.complication")
        for list in [[voip], [complication, voip]] {
            let material = try certificate(userID: voip, apple: AppleExtensions(topics: list))
            #expect(try material.topics(asked: []) == list)
            #expect(try material.topics(asked: [voip]) == [voip])
            for topic in ["com.example.app", "com.example.other.voip", "com.example.app.pushkit.fileprovider"] {
                #expect(throws: CredentialFault.topicNotCovered(topic)) { try material.topics(asked: [topic]) }
            }
        }
        #expect(try certificate(userID: voip).topics(asked: []) == [voip])
        let twoApps = AppleExtensions(topics: ["com.example.other.voip", voip])
        #expect(try certificate(userID: voip, apple: twoApps).topics(asked: []) == [voip])
    }

    @Test("fails for topics that never get a certificate of their own")
    func strangeServicesAlone() throws {
        let material = try certificate(
            userID: nil, apple: AppleExtensions(topics: ["com.example.app.push-type.liveactivity"]))
        #expect(throws: CredentialFault.topicNotCovered("com.example.app")) { try material.topics(asked: []) }
    }

    @Test("belongs to the app if its certificate is for the app and its services")
    func universal() throws {
        let material = try certificate(apple: AppleExtensions(topics: ["com.example.app", "com.example.app.voip"]))
        for asked in [["com.example.app.voip"], ["com.example.app", "com.example.app.voip"]] {
            #expect(try material.topics(asked: asked) == ["com.example.app"])
        }
        let key = try CredentialMaterial.read(
            .token(keyID: "ABCDE12345", teamID: "TEAMID1234", p8: ES256Key.generate().privatePEM()))
        #expect(try key.topics(asked: ["com.example.app.voip", "com.example.app"]) == ["com.example.app"])
    }

    @Test("never adds the certificate's UID to the topics that Apple listed")
    func userIDIsNotAdded() throws {
        let material = try certificate(apple: AppleExtensions(topics: ["com.example.other"]))
        #expect(try material.topics(asked: []) == ["com.example.other"])
        #expect(throws: CredentialFault.topicNotCovered("com.example.app")) {
            try material.topics(asked: ["com.example.app"])
        }
    }

    @Test("serves only the certificate's UID if there is no topic list")
    func userIDIsTheTopic() throws {
        #expect(try certificate().topics(asked: []) == ["com.example.app"])
        let nameless = try certificate(userID: nil)
        #expect(throws: CredentialFault.certificateNamesNoTopic) { try nameless.topics(asked: []) }
    }

    @Test("fails in an environment that its certificate does not name")
    func environments() throws {
        let material = try certificate(apple: AppleExtensions(isDevelopment: true, isProduction: false))
        try material.checkUse(in: [.sandbox], now: now)
        #expect(throws: CredentialFault.environmentNotCovered(.production)) {
            try material.checkUse(in: [.production], now: now)
        }
    }

    @Test("fails before its certificate becomes valid and after it expired")
    func validity() throws {
        let old = try certificate(validFor: 1)
        #expect {
            try old.checkUse(in: [.production], now: now + .seconds(2 * 86_400))
        } throws: { error in
            if case CredentialFault.certificateExpired = error { true } else { false }
        }
        let early = try certificate(from: now + .seconds(86_400))
        #expect {
            try early.checkUse(in: [.production], now: now)
        } throws: { error in
            if case CredentialFault.certificateNotYetValid = error { true } else { false }
        }
    }

    @Test("never shows its key in its description")
    func nothingSecretIsShown() throws {
        let key = try ES256Key.generate().privatePEM()
        let submission = CredentialSubmission(
            provider: .apns, form: .token(keyID: "ABCDE12345", teamID: "TEAMID1234", p8: key),
            environments: [.production], topics: [],
            activate: true)
        let text = String(decoding: key, as: UTF8.self)
        let secretLine = try #require(text.split(separator: "\n").dropFirst().first)
        #expect(!"\(submission)".contains(secretLine))
    }
}
