import API
import APNs
import Content
import Credentials
import JSON
import Listener
import Model
import Postgres
import ProviderInterface
import Requests
import Store
import Testing

@Suite("A problem answer")
struct ProblemTests {
    @Test("contains the members that RFC 9457 defines")
    func body() {
        let problem = Problem(.invalidToken, "Not \"hex\".", at: .root / "token")
        #expect(
            String(decoding: problem.body, as: UTF8.self)
                == #"{"type":"/errors#invalid_token","title":"The device token is malformed","status":422,"#
                + #""code":"invalid_token","detail":"Not \"hex\".","pointer":"/token"}"#)
    }

    @Test("keeps the internal cause out of the body, for the operator only")
    func cause() {
        let problem = Problem(StoreFault.damaged("apps_list, column 2"), .reads)
        #expect(problem.code == .internalError)
        #expect(problem.cause == "damaged: apps_list, column 2")
        #expect(!String(decoding: problem.body, as: UTF8.self).contains("apps_list"))
    }

    @Test("carries Retry-After exactly where a retry is useful and safe")
    func retryAfter() {
        let transient: [StoreFault] = [.unavailable, .impaired(.full), .contended, .cancelled]
        for fault in transient {
            #expect(fault == .cancelled || fault.isTransient)
            #expect(Problem(fault, .mayDouble).retryAfterSeconds != nil)
            #expect(Problem(fault, .mayDouble).code.status == 503)
        }
        #expect(Problem(StoreFault.commitUnknown, .isIdempotent).retryAfterSeconds != nil)
        #expect(Problem(StoreFault.commitUnknown, .isKeyed).retryAfterSeconds != nil)
        #expect(Problem(StoreFault.commitUnknown, .mayDouble).retryAfterSeconds == nil)
        let final: [StoreFault] = [.conflict(.slugTaken), .invalid(constraint: "c"), .unknownApp, .damaged("x")]
        for fault in final {
            #expect(!fault.isTransient)
            #expect(Problem(fault, .isIdempotent).retryAfterSeconds == nil)
            #expect(Problem(fault, .isIdempotent).code.status < 503)
        }
    }

    @Test("names a database that is read-only, full or failing", arguments: DatabaseCondition.allCases)
    func impaired(condition: DatabaseCondition) {
        let problem = Problem(StoreFault.impaired(condition), .isKeyed)
        #expect(problem.code.rawValue == condition.name && problem.code.status == 503)
        #expect(problem.detail.lowercased().hasPrefix(condition.sentence))
    }

    @Test("warns after a lost commit that a repetition without a key may take effect twice")
    func honest() {
        #expect(Problem(StoreFault.commitUnknown, .mayDouble).detail.contains("a second time"))
        #expect(Problem(StoreFault.commitUnknown, .isKeyed).detail.contains("same Idempotency-Key"))
    }

    @Test("uses the code and the pointer of an APNs content fault", arguments: contentFaults)
    func content(fault: ProviderFault) {
        let problem = Problem(ContentFault.provider(.apns, fault))
        #expect(problem.code.rawValue == fault.code)
        #expect(problem.pointer == fault.pointer)
        #expect(problem.code.status == 422)
    }

    private static let contentFaults: [ProviderFault] = [
        .payloadTooLarge(bytes: 5_000, bytesMax: 4_096), .badCollapseID(bytes: 65, bytesMax: 64),
        .priorityNotAllowed(.background), .reservedKey(.root / "data" / "aps"),
        .notForType(.background, .root / "notification"), .notForType(.widgets, .root / "badge"), .nothingToShow,
        .missing(.liveActivity, .root / "apns" / "aps" / "content-state"), .badgeTwice,
        .wrongValue(.root / "apns" / "aps", expected: "an object"),
    ]

    @Test("uses the problem code of each credential fault", arguments: credentialFaults)
    func credential(fault: CredentialFault, code: ProblemCode) {
        #expect(Problem(fault, .mayDouble).code == code)
    }

    private static let credentialFaults: [(CredentialFault, ProblemCode)] = [
        (.unknownCredential, .unknownCredential),
        (.unusable(ProviderFault("certificate_expired", "It expired.")), .certificateExpired),
        (.shareUsedUp, .shareUsedUp), (.openingTooSlow(deadline: .seconds(10)), .overloaded),
        (.overloaded, .overloaded), (.vault(.doesNotOpen), .vaultFailed), (.store(.unavailable), .databaseUnavailable),
        (.store(.contended), .databaseBusy), (.store(.commitUnknown), .outcomeUnknown),
        (.store(.unknownApp), .unknownApp),
    ]

    /// Finds the same fault in every key and certificate.
    private struct FaultyKeys: KeyReader {
        let fault: KeyFault

        func signingKey(_ algorithm: SigningAlgorithm, pem: [UInt8]) throws(KeyFault) -> any SigningKey { throw fault }
        func identity(pem: [UInt8], password: [UInt8]?) throws(KeyFault) -> any ClientIdentity { throw fault }
        func identity(pkcs12: [UInt8], password: String) throws(KeyFault) -> any ClientIdentity { throw fault }
    }

    private static func fault(_ kind: CredentialKind, _ members: [String], _ fault: KeyFault) -> ProviderFault? {
        var form = SubmittedForm(kind)
        for name in members { form.add(name, Array("ABCDE12345".utf8)) }
        do throws(ProviderFault) {
            _ = try APNsProvider().readCredential(form, FaultyKeys(fault: fault))
            return nil
        } catch { return error }
    }

    @Test(
        "uses the problem code of each fault of a key file, and points to the member that holds it",
        arguments: [
            (.unreadable, .keyUnreadable, .certificateUnreadable, "pkcs12"),
            (.keyMissing, .keyUnreadable, .certificateUnreadable, "pkcs12"),
            (.certificateMissing, .keyUnreadable, .certificateUnreadable, "pkcs12"),
            (.encryptionUnsupported, .keyUnreadable, .certificateUnreadable, "pkcs12"),
            (.encrypted, .keyEncrypted, .keyEncrypted, "pkcs12"),
            (.unsupported, .keyUnreadable, .keyUnreadable, "pkcs12"),
            (.wrongPassword, .keyUnreadable, .passwordWrong, "password"),
            (.mismatch, .keyUnreadable, .keyDoesNotMatchCertificate, nil),
            (.derivationTooLong(rounds: 2, roundsMax: 1), .keyUnreadable, .derivationTooLong, "pkcs12"),
        ] as [(KeyFault, ProblemCode, ProblemCode, String?)])
    func keyFile(fault: KeyFault, ofKey: ProblemCode, ofCertificate: ProblemCode, member: String?) throws {
        let key = Problem(
            CredentialFault.unusable(try #require(Self.fault(.token, ["key_id", "team_id", "p8"], fault))), .mayDouble)
        #expect(key.code == ofKey && key.pointer == .root / "p8")
        let certificate = Problem(
            CredentialFault.unusable(try #require(Self.fault(.certificate, ["pkcs12"], fault))), .mayDouble)
        #expect(certificate.code == ofCertificate && certificate.pointer == member.map { .root / $0 })
    }

    @Test("names the member, the rounds and a remedy for a costly key file")
    func costlyKeyFile() throws {
        let fault = Self.fault(
            .certificate, ["pkcs12"], .derivationTooLong(rounds: 2_147_483_648, roundsMax: 1_000_000))
        let problem = Problem(CredentialFault.unusable(try #require(fault)), .mayDouble)
        #expect(problem.pointer == .root / "pkcs12")
        for text in ["2147483648 rounds", "at most 1000000", "openssl pkcs12 -export"] {
            #expect(problem.detail.contains(text))
        }
        #expect(Problem(CredentialFault.shareUsedUp, .mayDouble).retryAfterSeconds != nil)
    }

    @Test("never claims after a credential's lost commit that nothing changed")
    func credentialCommitUnknown() {
        let lost = CredentialFault.store(.commitUnknown)
        for problem in [Problem(lost, .mayDouble), Problem(lost, .isKeyed)] {
            #expect(!problem.detail.lowercased().contains("nothing was changed"))
        }
        #expect(Problem(lost, .mayDouble).retryAfterSeconds == nil)
        #expect(Problem(lost, .isKeyed).retryAfterSeconds != nil)
    }

    @Test("carries a unique title and a unique code in snake case")
    func codes() {
        let codes = ProblemCode.allCases.map(\.rawValue)
        #expect(Set(codes).count == codes.count)
        #expect(codes.allSatisfy { $0.wholeMatch(of: /[a-z][a-z0-9_]*/) != nil })
        #expect(Set(ProblemCode.allCases.map(\.title)).count == codes.count)
    }
}

@Suite("The memory budget for request bodies")
struct ByteBudgetTests {
    private static let tower = "tower"
    private static let belfry = "belfry"

    private static func holds(_ budget: ByteBudget, _ bytes: Int, _ account: String?) -> Int {
        var held = 0
        while (try? budget.take(bytes, for: account)) != nil { held += bytes }
        return held
    }

    @Test("grants what is free, and takes back what is returned")
    func budget() throws {
        let budget = ByteBudget(bytesMax: 10, shareFloor: 10)
        try budget.take(6, for: Self.tower)
        #expect(throws: ByteBudget.Refusal.full) { try budget.take(5, for: Self.belfry) }
        try budget.take(4, for: Self.belfry)
        #expect(throws: ByteBudget.Refusal.full) { try budget.take(1, for: Self.tower) }
        budget.giveBack(6, of: Self.tower)
        try budget.take(6, for: Self.belfry)
    }

    @Test("lets an app hold at most as many bytes as remain free for the others")
    func shares() throws {
        let budget = ByteBudget(bytesMax: 1_200, shareFloor: 0)
        #expect(Self.holds(budget, 1, Self.tower) == 600)
        #expect(throws: ByteBudget.Refusal.shareUsedUp) { try budget.take(1, for: Self.tower) }
        #expect(Self.holds(budget, 1, Self.belfry) == 300)
        #expect(Self.holds(budget, 1, nil) == 150)
        // Bytes taken before the other apps came stay taken, but no more are granted.
        #expect(throws: ByteBudget.Refusal.shareUsedUp) { try budget.take(1, for: Self.tower) }
        budget.giveBack(600, of: Self.tower)
        #expect(Self.holds(budget, 1, Self.tower) == 375)
    }

    @Test("grants one whole request to an app that holds nothing, as long as there is space")
    func floor() throws {
        let budget = ByteBudget(bytesMax: 1_000, shareFloor: 400)
        #expect(Self.holds(budget, 100, Self.tower) == 500)
        #expect(Self.holds(budget, 100, Self.belfry) == 400)
        #expect(throws: ByteBudget.Refusal.full) { try budget.take(200, for: nil) }
    }
}
