import Basis
import Encodings
import Model
import Signing
import TLS

/// Google's part of a stand-in: OAuth, projects, and the form of answers and tokens.
final class FCMService: ProviderService {
    let settings: FCMSimulatorSettings
    var accessTokens: AccessTokens

    init(_ settings: FCMSimulatorSettings) throws(SigningError) {
        self.settings = settings
        accessTokens = try AccessTokens(settings)
    }

    func welcome(_ connection: SimulatorConnection, _ certificate: TLSCertificate?) -> any ProviderSession {
        FCMSession(connection, self)
    }

    /// Throws unless the request's access token is for the path's project.
    func authorize(_ request: FCMRequest, now: WallInstant) throws(FCMRefusal) {
        let grant = try accessTokens.grant(request.push.value("authorization"), now: now)
        let project = request.project
        if grant.account.isOf(project: project) { return }
        let isKnown =
            settings.accounts.contains { $0.isOf(project: project) } || settings.otherProjects.contains(project)
        throw isKnown ? .permissionDenied : .notFound
    }

    func body(ofRefusal reason: String, status: Int, at endpoint: ScriptedEndpoint, now: WallInstant) -> [UInt8] {
        switch endpoint {
        case .accessToken: AccessTokens.Refusal(status: status, error: reason, description: "Bad Request").body
        case .topics: TopicCalls.Refusal(status: status, error: reason).body
        case .push:
            FCMTokenFate.refusal(named: reason, status: status)?.body
                ?? FCMRefusal(status, reason, nil, "As the script has it.").body
        }
    }

    var grammar: [GrammarEntry] { FCMTokenFate.table.map { GrammarEntry(name: $0.name, meaning: $0.meaning) } }
    let grammarSentence =
        "the fate's name, where it shall end a colon and how often it is met, a hyphen, then anything; in tokens, installation ids and topics"

    func key(ofToken text: String) -> DeviceToken? {
        guard let decoded = PercentDecoding.decode(text), !decoded.isEmpty else { return nil }
        return DeviceToken(bytes: Array(decoded.utf8))
    }

    func text(ofKey key: DeviceToken) -> String { String(decoding: key.bytes, as: UTF8.self) }

    func reset() {}

    func act(_ action: ScriptedAction) {
        if case .revokeAccessTokens = action { accessTokens.revokeAll() }
    }
}

extension FCMTokenFate {
    /// The grammar's refusal with this FcmError code or RPC status, and this HTTP status, if there is one.
    static func refusal(named reason: String, status: Int) -> FCMRefusal? {
        let refusals = table.compactMap { entry -> FCMRefusal? in
            if case .refuse(let refusal) = entry.fate { refusal } else { nil }
        }
        return refusals.first { $0.reason == reason && $0.status == status }
    }
}
