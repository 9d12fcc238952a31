import Encodings
import JSON

/// A provider's JSON Web Token, parsed but not verified.
///
/// Lenient where Apple is: `iat` as integer, fraction or text, extra members, raw or DER signatures.
/// Source: RFC 7519; Apple, "Establishing a token-based connection to APNs".
struct ProviderToken: Sendable {
    let keyID: String
    let teamID: String
    /// Seconds since 1970.
    let issuedAt: Double
    let signingInput: [UInt8]
    let signature: [UInt8]

    /// A real token has about 200 bytes.
    private static let bytesMax = 4_096

    /// nil: not a token of the form that Apple asks for.
    init?(_ text: [UInt8]) {
        guard text.count <= ProviderToken.bytesMax else { return nil }
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let header = JSONObject(base64URL: parts[0]),
            let claims = JSONObject(base64URL: parts[1]), let signature = Base64.urlDecode(parts[2]),
            Self.isSignature(signature), header["alg"]?.string == "ES256", let keyID = Self.identifier(header["kid"]),
            let teamID = Self.identifier(claims["iss"]), let issuedAt = Self.seconds(claims["iat"])
        else { return nil }
        (self.keyID, self.teamID, self.issuedAt, self.signature) = (keyID, teamID, issuedAt, signature)
        signingInput = Array(text[..<parts[2].startIndex].dropLast())
    }

    /// R and S, 32 bytes each, or both in DER.
    private static func isSignature(_ bytes: [UInt8]) -> Bool {
        bytes.count == rawSignatureBytes
            || (bytes.count > 2 && bytes[0] == derSequence && Int(bytes[1]) == bytes.count - 2)
    }

    private static let rawSignatureBytes = 64
    private static let derSequence: UInt8 = 0x30

    /// The id of a key or a team: ten letters and digits.
    private static func identifier(_ value: JSONValue?) -> String? {
        guard let text = value?.string, text.utf8.count == identifierBytes,
            text.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) })
        else { return nil }
        return text
    }

    private static let identifierBytes = 10

    private static func seconds(_ value: JSONValue?) -> Double? {
        let number = value?.number?.double ?? value?.string.flatMap { Double($0) }
        return number.flatMap { $0.isFinite ? $0 : nil }
    }
}

extension JSONObject {
    /// Reads one part of a JSON Web Token.
    init?(base64URL part: ArraySlice<UInt8>) {
        guard let bytes = Base64.urlDecode(part), let object = (try? JSONReader.read(bytes))?.object else { return nil }
        self = object
    }
}
