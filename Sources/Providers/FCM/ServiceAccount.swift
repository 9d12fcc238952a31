import Basis
import Content
import JSON

/// A service account's key file, as Google's console provides it: the account, its key, and the address for access
/// tokens.
package struct FCMServiceAccount: Equatable, Sendable {
    package let project: FCMProject
    package let clientEmail: String
    /// PEM. The signer checks that it is an RSA key of at least two thousand bits.
    package let privateKey: Secret<[UInt8]>
    /// The id of the key within the account; not in every file.
    package let privateKeyID: String?
    /// The address for access tokens. The caller decides whether plain http or a private host is allowed.
    package let tokenURL: FCMServiceURL
    /// The same as written in the file: the assertion's audience, byte for byte.
    package let tokenURI: String

    /// Key files have 2.4 KB.
    package static let bytesMax = 32_768
    package static let googleTokenURI = "https://oauth2.googleapis.com/token"

    private static let keyBytesMax = 16_384
    private static let textBytesMax = 320

    package init(json: [UInt8]) throws(ProviderFault) {
        let limits = JSONLimits(bytesMax: Self.bytesMax, depthMax: 8, valuesMax: 200)
        let value: JSONValue
        do throws(JSONError) { value = try JSONReader.read(json, limits: limits) } catch {
            throw ProviderFault("malformed_json", at: Self.place, error.sentence)
        }
        guard let file = value.object else {
            throw ProviderFault("wrong_type", at: Self.place, "A service account's key file is a JSON object.")
        }
        // Google provides other files under similar names.
        if let type = try Self.text("type", file), type != "service_account" {
            throw Self.malformed("type", "Expected here: \"service_account\"; this is a file for something else.")
        }
        guard let project = FCMProject(try Self.required("project_id", file)) else {
            throw Self.malformed("project_id", "A project id has lower-case letters, digits and hyphens.")
        }
        self.project = project

        let notVisible = "Expected here: what Google's key file has, in visible ASCII characters."
        clientEmail = try Self.required("client_email", file)
        guard clientEmail.contains("@"), Self.isVisible(clientEmail) else {
            throw Self.malformed("client_email", notVisible)
        }
        privateKeyID = try Self.text("private_key_id", file)
        if let privateKeyID, !Self.isVisible(privateKeyID) { throw Self.malformed("private_key_id", notVisible) }

        let key = try Self.required("private_key", file)
        guard key.utf8.count <= Self.keyBytesMax, Self.isPEM(key) else {
            if key.contains("-----BEGIN ENCRYPTED PRIVATE KEY-----") { throw Self.keyEncrypted }
            throw key.contains("-----BEGIN EC PRIVATE KEY-----") ? Self.keyNotRSA : Self.keyUnreadable
        }
        privateKey = Secret(Array(key.utf8))

        tokenURI = try Self.text("token_uri", file) ?? Self.googleTokenURI
        guard let tokenURL = FCMServiceURL(tokenURI) else {
            throw Self.malformed(
                "token_uri", "Expected here: a URL with a host and a path, without user name, query or blanks.")
        }
        self.tokenURL = tokenURL
    }

    private static func required(_ member: String, _ file: JSONObject) throws(ProviderFault) -> String {
        guard let text = try text(member, file) else {
            throw ProviderFault(
                "missing_member", at: place / member, "A service account's key file has the member \(member).")
        }
        return text
    }

    private static func text(_ member: String, _ file: JSONObject) throws(ProviderFault) -> String? {
        guard let value = file[member], !value.isNull else { return nil }
        guard let text = value.string else {
            throw ProviderFault("wrong_type", at: place / member, "The member \(member) is a string.")
        }
        return text
    }

    private static func isVisible(_ text: String) -> Bool {
        (1...textBytesMax).contains(text.utf8.count) && text.utf8.allSatisfy(\.isVisible)
    }

    /// Whether the text is PKCS#8, or the older form that tools convert to.
    private static func isPEM(_ text: String) -> Bool {
        ["PRIVATE KEY", "RSA PRIVATE KEY"].contains {
            text.contains("-----BEGIN \($0)-----") && text.contains("-----END \($0)-----")
        }
    }
}

// The reasons why a key file is unusable. They repeat nothing of the file.
extension FCMServiceAccount {
    /// The place of the key file in the credential's form.
    private static let place = JSONPointer.root / "service_account"

    private static func malformed(_ member: String, _ detail: String) -> ProviderFault {
        ProviderFault("invalid_value", at: place / member, detail)
    }

    package static let keyUnreadable = ProviderFault(
        "key_unreadable", at: place / "private_key",
        "Expected here: a private key in PEM, with its BEGIN and END lines.")
    /// The key is of another kind, too short or too long.
    package static let keyNotRSA = ProviderFault(
        "key_unreadable", at: place / "private_key",
        "Expected here: an RSA key of 2,048 to 8,192 bits; this is a key of another kind or length.")
    /// Google's files never are encrypted, and there is no password to submit.
    package static let keyEncrypted = ProviderFault(
        "key_encrypted", at: place / "private_key",
        "The private_key is encrypted, and there is no password for it. Send the file as Google gave it: Google's are "
            + "never encrypted.")
}
