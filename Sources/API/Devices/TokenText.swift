import APNs
import Encodings
import JSON
import Model

/// Device tokens as the providers write them: hexadecimal digits for APNs, opaque text for the others.
///
/// Lengths vary: providers lengthen their tokens without notice. No error ever quotes a token.
enum TokenText {
    static func read(
        _ value: JSONValue, of provider: Provider, at pointer: @autoclosure () -> JSONPointer
    ) throws(Problem) -> DeviceToken {
        guard let text = value.string else { throw .wrongType(value, "a string", at: pointer()) }
        switch provider {
        case .apns: return try apns(text, at: pointer())
        case .fcm, .hms, .webpush:
            guard let token = opaque(text) else {
                throw Problem(
                    .invalidToken,
                    "A token of \(provider.name) is 1 to \(RegistrationLimits.tokenBytesMax) visible ASCII characters, "
                        + "as the provider's library gave it to the app.", at: pointer())
            }
            return token
        }
    }

    /// Returns the tokens that a text may be, if its provider is not given. Hexadecimal digits are read as APNs' first.
    ///
    /// - Parameter provider: nil if it is not given.
    static func readings(
        _ value: JSONValue, of provider: Provider?, at pointer: JSONPointer
    ) throws(Problem) -> [(Provider, DeviceToken)] {
        if let provider { return [(provider, try read(value, of: provider, at: pointer))] }
        guard let text = value.string else { throw .wrongType(value, "a string", at: pointer) }
        guard let token = opaque(text) else {
            throw Problem(
                .invalidToken,
                "A token is 1 to \(RegistrationLimits.tokenBytesMax) visible ASCII characters, as the provider writes it.",
                at: pointer)
        }
        guard let bytes = Hexadecimal.decode(text), bytes.count <= APNsLimits.tokenBytesMax else {
            return [(.fcm, token)]
        }
        return [(.apns, DeviceToken(bytes: bytes)), (.fcm, token)]
    }

    private static func apns(_ text: String, at pointer: @autoclosure () -> JSONPointer) throws(Problem) -> DeviceToken
    {
        guard text.utf8.count <= 2 * APNsLimits.tokenBytesMax else {
            throw Problem(
                .invalidToken,
                "The token has \(text.utf8.count) digits; the limit is \(2 * APNsLimits.tokenBytesMax).",
                at: pointer())
        }
        guard !text.isEmpty, let bytes = Hexadecimal.decode(text) else {
            throw Problem(
                .invalidToken,
                "An APNs token is an even number of hexadecimal digits, without spaces or brackets: the bytes of the "
                    + "device token that iOS gave the app.", at: pointer())
        }
        return DeviceToken(bytes: bytes)
    }

    private static func opaque(_ text: String) -> DeviceToken? {
        let bytes = Array(text.utf8)
        guard (1...RegistrationLimits.tokenBytesMax).contains(bytes.count), RegistrationRequest.isVisibleASCII(text)
        else {
            return nil
        }
        return DeviceToken(bytes: bytes)
    }
}
