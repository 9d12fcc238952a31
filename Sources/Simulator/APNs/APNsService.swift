import Basis
import Encodings
import Model
import Signing
import TLS

/// Apple's part of a stand-in: its validator, and the form of its answers and tokens.
final class APNsService: ProviderService {
    let settings: APNsSimulatorSettings
    var judge: PushValidator

    init(_ settings: APNsSimulatorSettings) throws(SigningError) {
        self.settings = settings
        judge = try PushValidator(settings)
    }

    func welcome(_ connection: SimulatorConnection, _ certificate: TLSCertificate?) -> any ProviderSession {
        APNsSession(connection, self, certificate)
    }

    func body(ofRefusal reason: String, status: Int, at endpoint: ScriptedEndpoint, now: WallInstant) -> [UInt8] {
        APNsRefusal(status, reason, time: status == 410 ? .now : nil).body(now: now)
    }

    var grammar: [GrammarEntry] { TokenFate.grammar }
    let grammarSentence =
        "dead, two digits of fate, two digits of count (00: always; else the first so many pushes), then anything; all hexadecimal"

    func key(ofToken text: String) -> DeviceToken? {
        guard let bytes = Hexadecimal.decode(text.utf8), !bytes.isEmpty else { return nil }
        return DeviceToken(bytes: bytes)
    }

    func text(ofKey key: DeviceToken) -> String { Hexadecimal.text(key.bytes) }

    func reset() { judge.forgetProviderTokens() }

    func act(_ action: ScriptedAction) {}
}
