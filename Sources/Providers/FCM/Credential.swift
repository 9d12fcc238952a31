import Basis
import Content
import JSON
import Model
import ProviderInterface

// The one form of FCM's credentials: the key file of a service account.
extension FCMProvider {
    private static let fileBytesMax = 65_536

    package var credentialForms: [CredentialForm] {
        [
            CredentialForm(
                .serviceAccount,
                [
                    .init(
                        "service_account", .object, bytesMax: Self.fileBytesMax,
                        requirement: "the JSON object from the file of the Firebase console")
                ])
        ]
    }

    package var credentialKinds: String { "FCM's only kind is service_account" }

    package func readCredential(
        _ form: SubmittedForm, _ keys: any KeyReader
    ) throws(ProviderFault) -> any ProviderCredential {
        try FCMServiceAccountCredential(form["service_account"] ?? [], keys)
    }
}

struct FCMServiceAccountCredential: ProviderCredential, AccessTokenSource {
    private let file: FCMServiceAccount
    private let key: any SigningKey

    let kind = CredentialKind.serviceAccount

    init(_ json: [UInt8], _ keys: any KeyReader) throws(ProviderFault) {
        file = try FCMServiceAccount(json: json)
        do throws(KeyFault) { key = try keys.signingKey(.rs256, pem: file.privateKey.revealed) } catch {
            switch error {
            case .unsupported: throw FCMServiceAccount.keyNotRSA
            case .encrypted: throw FCMServiceAccount.keyEncrypted
            case .unreadable, .keyMissing, .certificateMissing, .encryptionUnsupported, .wrongPassword, .mismatch,
                .derivationTooLong:
                throw FCMServiceAccount.keyUnreadable
            }
        }
    }

    func sealedMembers() throws(ProviderFault) -> [JSONMember] {
        let pem: [UInt8]
        do throws(KeyFault) { pem = try key.privatePEM() } catch { throw FCMServiceAccount.keyUnreadable }
        var account = publicMembers
        account.append(JSONMember("private_key", .string(String(decoding: pem, as: UTF8.self))))
        account.append(JSONMember("token_uri", .string(file.tokenURI)))
        return [JSONMember("service_account", .object(JSONObject(account)))]
    }

    func facts() -> JSONObject { JSONObject(publicMembers) }

    private var publicMembers: [JSONMember] {
        var members = [
            JSONMember("project_id", .string(file.project.name)), JSONMember("client_email", .string(file.clientEmail)),
        ]
        if let keyID = file.privateKeyID { members.append(JSONMember("private_key_id", .string(keyID))) }
        return members
    }

    func checkTarget(isAllowed: (_ host: String) -> Bool) throws(ProviderFault) {
        guard file.tokenURL.isSecure, isAllowed(file.tokenURL.host) else {
            throw ProviderFault(
                "token_uri_private", at: .root / "service_account",
                "The token_uri leads to a private address, is not https, or names a host that CARILLON_TOKEN_HOSTS "
                    + "does not list while calls go through a proxy. Google's is \(FCMServiceAccount.googleTokenURI); "
                    + "for a stand-in set CARILLON_ALLOW_PRIVATE_TARGETS=true.")
        }
    }

    /// The file names the address for access tokens itself.
    func lane(topics: [String], at endpoint: ProviderEndpoint) -> LaneNeeds {
        LaneNeeds(
            .accessToken(self), reach: .address(PushTarget(.fcm, FCMRequest.path(of: file.project))),
            project: file.project.name)
    }

    var provider: String { FCMProvider().title }
    var account: String { file.clientEmail }
    var url: String { file.tokenURI }

    func form(issuedAt: WallInstant) throws(KeyFault) -> [UInt8] {
        let input = FCMTokenRequest.signingInput(file, issuedAt: issuedAt)
        return FCMTokenRequest.body(signingInput: input, signature: try key.sign(input))
    }

    func read(
        status: Int, body: Span<UInt8>, retryAfter: Span<UInt8>, askedAt: MonotonicInstant, now: WallInstant
    ) -> AccessTokenAnswer {
        FCMTokenAnswer.read(status: status, body: body, retryAfter: retryAfter, askedAt: askedAt, now: now)
    }
}
