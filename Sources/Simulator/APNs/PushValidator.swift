import Basis
import Encodings
import Signing

/// Apple's judgement of one request, before the token's own fate.
enum Judgement: Equatable {
    case accept(token: [UInt8])
    case refuse(APNsRefusal)
}

/// Judges requests as APNs does. Apple publishes no order of checks. Here the order is path, credentials, headers,
/// topic, payload, token.
struct PushValidator {
    private let topics: [String]?
    private var providerTokens: ProviderTokenValidator

    private static let collapseIDBytesMax = 64

    init(_ settings: APNsSimulatorSettings) throws(SigningError) {
        topics = settings.topics
        providerTokens = try ProviderTokenValidator(settings)
    }

    mutating func judge(
        _ request: PushRequest, _ credentials: inout ConnectionCredentials, now: WallInstant
    ) -> Judgement {
        guard let tokenText = request.tokenText else { return .refuse(.badPath) }
        guard request.method == "POST" else { return .refuse(.methodNotAllowed) }
        if let refusal = providerTokens.judge(request.value("authorization"), &credentials, now: now) {
            return .refuse(refusal)
        }
        if let refusal = refusalOfHeaders(request) ?? refusalOfTopic(request, credentials) { return .refuse(refusal) }
        if let refusal = refusalOfPayload(request) { return .refuse(refusal) }
        guard !tokenText.isEmpty else { return .refuse(.missingDeviceToken) }
        guard let token = Hexadecimal.decode(tokenText.utf8) else { return .refuse(.badDeviceToken) }
        return .accept(token: token)
    }

    mutating func forgetProviderTokens() { providerTokens.forgetChanges() }

    private func refusalOfHeaders(_ request: PushRequest) -> APNsRefusal? {
        if request.repeatsAHeader { return .duplicateHeaders }
        if let id = request.value("apns-id"), UUIDText.parse(id.utf8) == nil { return .badMessageID }
        if let expiration = request.value("apns-expiration"),
            !expiration.utf8.allSatisfy(\.isDigit) || Int(expiration) == nil
        {
            return .badExpirationDate
        }
        if let collapseID = request.value("apns-collapse-id"),
            collapseID.isEmpty || collapseID.utf8.count > PushValidator.collapseIDBytesMax
        {
            return .badCollapseID
        }
        let type = request.value("apns-push-type")
        if let type, TopicRules.suffix(ofType: type) == nil { return .invalidPushType }
        return TopicRules.allows(priority: request.value("apns-priority"), type: type) ? nil : .badPriority
    }

    private func refusalOfTopic(_ request: PushRequest, _ credentials: ConnectionCredentials) -> APNsRefusal? {
        let certified = credentials.certificateTopics
        var topic = request.value("apns-topic") ?? ""
        if topic.isEmpty {
            // A certificate's only topic is the default; several leave it open.
            guard let certified, certified.count == 1 else { return .missingTopic }
            topic = certified[0]
        }
        if let certified {
            let needsToken = TopicRules.needsProviderToken(type: request.value("apns-push-type"))
            guard certified.contains(topic), !needsToken else { return .topicDisallowed }
        }
        guard TopicRules.isWellFormed(topic) else { return .badTopic }
        if let type = request.value("apns-push-type"), let suffix = TopicRules.suffix(ofType: type),
            !TopicRules.fits(topic: topic, suffix: suffix)
        {
            return .badTopic
        }
        let bundleID = TopicRules.bundleID(ofTopic: topic)
        return topics?.contains(bundleID) ?? true ? nil : .topicDisallowed
    }

    private func refusalOfPayload(_ request: PushRequest) -> APNsRefusal? {
        guard request.bodyBytes > 0 else { return .payloadEmpty }
        guard request.bodyBytes <= TopicRules.payloadBytesMax(type: request.value("apns-push-type")) else {
            return .payloadTooLarge
        }
        return request.isObject ? nil : .badRequestPayload
    }
}
