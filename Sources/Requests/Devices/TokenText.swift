import Content
import JSON
import Model
import ProviderInterface
import Providers

/// Device tokens and topics as the providers write them.
///
/// Lengths vary: providers lengthen their tokens without notice. No error ever quotes a token.
package enum TokenText {
    package static func read(
        _ value: JSONValue, of provider: any PushProvider, at pointer: @autoclosure () -> JSONPointer
    ) throws(Problem) -> DeviceToken {
        guard let text = value.string else { throw .wrongType(value, "a string", at: pointer()) }
        do throws(ProviderFault) { return try provider.readToken(text) } catch { throw Problem(error, at: pointer()) }
    }

    package static func topic(
        _ text: String, of provider: any PushProvider, kind: TokenKind?, at pointer: JSONPointer
    ) throws(Problem) -> String {
        do throws(ProviderFault) { return try provider.readTopic(text, kind: kind) } catch {
            throw Problem(error, at: pointer)
        }
    }

    /// Returns the tokens that a text may be, in the order of the providers.
    package static func readings(
        _ value: JSONValue, of provider: (any PushProvider)?, at pointer: JSONPointer
    ) throws(Problem) -> [(Provider, DeviceToken)] {
        if let provider { return [(provider.id, try read(value, of: provider, at: pointer))] }
        guard let text = value.string else { throw .wrongType(value, "a string", at: pointer) }
        let readings = PushProviders.offered.compactMap { provider in
            (try? provider.readToken(text)).map { (provider.id, $0) }
        }
        guard !readings.isEmpty else {
            throw Problem(
                .invalidToken,
                "A token is 1 to \(RegistrationLimits.tokenBytesMax) visible ASCII characters, as the provider writes it.",
                at: pointer)
        }
        return readings
    }
}
