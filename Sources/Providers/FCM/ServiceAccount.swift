import Basis
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

    package init(json: [UInt8]) throws(FCMServiceAccountFault) {
        let limits = JSONLimits(bytesMax: Self.bytesMax, depthMax: 8, valuesMax: 200)
        let value: JSONValue
        do throws(JSONError) { value = try JSONReader.read(json, limits: limits) } catch { throw .notJSON(error) }
        try self.init(value)
    }

    package init(_ value: JSONValue) throws(FCMServiceAccountFault) {
        guard let file = value.object else { throw .notAnObject }
        // Google provides other files under similar names.
        if let type = try Self.text(.type, file), type != "service_account" { throw .malformed(.type) }
        guard let project = FCMProject(try Self.required(.projectID, file)) else { throw .malformed(.projectID) }
        self.project = project

        clientEmail = try Self.required(.clientEmail, file)
        guard clientEmail.contains("@"), Self.isVisible(clientEmail) else { throw .malformed(.clientEmail) }
        privateKeyID = try Self.text(.privateKeyID, file)
        if let privateKeyID, !Self.isVisible(privateKeyID) { throw .malformed(.privateKeyID) }

        let key = try Self.required(.privateKey, file)
        guard key.utf8.count <= Self.keyBytesMax, Self.isPEM(key) else {
            if key.contains("-----BEGIN ENCRYPTED PRIVATE KEY-----") { throw .keyEncrypted }
            throw key.contains("-----BEGIN EC PRIVATE KEY-----") ? .keyNotRSA : .malformed(.privateKey)
        }
        privateKey = Secret(Array(key.utf8))

        tokenURI = try Self.text(.tokenURI, file) ?? Self.googleTokenURI
        guard let tokenURL = FCMServiceURL(tokenURI) else { throw .malformed(.tokenURI) }
        self.tokenURL = tokenURL
    }

    private static func required(
        _ member: FCMServiceAccountMember, _ file: JSONObject
    ) throws(FCMServiceAccountFault) -> String {
        guard let text = try text(member, file) else { throw .missing(member) }
        return text
    }

    /// Returns nil if the member is missing or null.
    private static func text(
        _ member: FCMServiceAccountMember, _ file: JSONObject
    ) throws(FCMServiceAccountFault) -> String? {
        guard let value = file[member.rawValue], !value.isNull else { return nil }
        guard let text = value.string else { throw .notText(member) }
        return text
    }

    private static func isVisible(_ text: String) -> Bool {
        (1...textBytesMax).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7e).contains($0) }
    }

    /// Whether the text is PKCS#8, or the older form that tools convert to.
    private static func isPEM(_ text: String) -> Bool {
        ["PRIVATE KEY", "RSA PRIVATE KEY"].contains {
            text.contains("-----BEGIN \($0)-----") && text.contains("-----END \($0)-----")
        }
    }
}

/// The members of a key file that we read, by their names there.
package enum FCMServiceAccountMember: String, Sendable, CaseIterable {
    case type
    case projectID = "project_id"
    case privateKeyID = "private_key_id"
    case privateKey = "private_key"
    case clientEmail = "client_email"
    case tokenURI = "token_uri"
}

/// The reason why a key file is unusable. It repeats nothing of the file.
package enum FCMServiceAccountFault: Error, Equatable, Sendable {
    case notJSON(JSONError)
    case notAnObject
    case missing(FCMServiceAccountMember)
    case notText(FCMServiceAccountMember)
    case malformed(FCMServiceAccountMember)
    /// The key is of another kind, too short or too long.
    case keyNotRSA
    /// The key is encrypted. Google's files never are, and there is no password to submit.
    case keyEncrypted

    /// A stable code, published in docs/errors.md.
    package var code: String {
        switch self {
        case .notJSON: "malformed_json"
        case .notAnObject, .notText: "wrong_type"
        case .missing: "missing_member"
        case .malformed(.privateKey), .keyNotRSA: "key_unreadable"
        case .keyEncrypted: "key_encrypted"
        case .malformed: "invalid_value"
        }
    }

    /// The faulty place in the key file.
    package var pointer: JSONPointer {
        switch self {
        case .notJSON, .notAnObject: .root
        case .keyNotRSA, .keyEncrypted: .root / FCMServiceAccountMember.privateKey.rawValue
        case .missing(let member), .notText(let member), .malformed(let member): .root / member.rawValue
        }
    }

    /// The sentence for the operator.
    package var detail: String {
        switch self {
        case .notJSON(let error): error.sentence
        case .notAnObject: "A service account's key file is a JSON object."
        case .missing(let member): "A service account's key file has the member \(member.rawValue)."
        case .notText(let member): "The member \(member.rawValue) is a string."
        case .malformed(.type): "Expected here: \"service_account\"; this is a file for something else."
        case .malformed(.projectID): "A project id has lower-case letters, digits and hyphens."
        case .malformed(.privateKeyID), .malformed(.clientEmail):
            "Expected here: what Google's key file has, in visible ASCII characters."
        case .malformed(.privateKey): "Expected here: a private key in PEM, with its BEGIN and END lines."
        case .keyNotRSA: "Expected here: an RSA key of 2,048 to 8,192 bits; this is a key of another kind or length."
        case .keyEncrypted:
            "The private_key is encrypted, and there is no password for it. Send the file as Google gave it: Google's are "
                + "never encrypted."
        case .malformed(.tokenURI): "Expected here: a URL with a host and a path, without user name, query or blanks."
        }
    }
}
