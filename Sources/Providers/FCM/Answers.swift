import Basis
import Model
import ProviderInterface

extension FCMProvider {
    /// Source: FCM, "Throttling and quotas": 429 answers don't count in a project's quota.
    package var answerRules: AnswerRules {
        AnswerRules(uncountedStatuses: [429], bodyBytesMax: FCMResponse.bodyBytesMax)
    }

    package func classify(
        _ responses: [ProviderResponse], bytes: [UInt8], _ context: AnswerContext
    ) -> ClassifiedAnswers {
        var answers = ClassifiedAnswers()
        for response in responses {
            let verdict = FCMResponse.classify(
                status: Int(response.status), body: bytes.span.extracting(response.body.range),
                retryAfter: bytes.span.extracting(response.retryAfter.range), now: context.now)
            if case .deferred(_, .credentialRefused) = verdict.outcome {
                answers.refusedCount += 1
                if context.laneIsProven {
                    answers.add(response, .deferred(after: Self.refusedPause, .providerBusy), of: verdict)
                    continue
                }
            }
            let quote = AnswerQuote(status: response.status, reason: verdict.reason)
            answers.add(Self.consequence(of: verdict, response.origin), quoting: quote)
            if let text = verdict.complaint { answers.note(MessageComplaint(reason: verdict.reason, text: text)) }
            answers.add(response, verdict.outcome, of: verdict)
        }
        return answers
    }

    package func undocumentedBody(ofAccepted bodies: [ByteRange], bytes: [UInt8]) -> String? {
        for body in bodies where !FCMResponse.namesMessage(bytes.span.extracting(body.range)) {
            return "the body is not a JSON object that names the message"
        }
        return nil
    }

    /// The wait of a push that is refused while others are accepted: the project exists, and the account may send.
    /// Something that the push names was not found, or one of Google's servers does not know the account's role yet.
    private static let refusedPause: Duration = .seconds(60)

    /// FCM's refusals concern the access token or the account, never a connection or a topic.
    private static func consequence(of verdict: ProviderVerdict, _ origin: AnswerOrigin?) -> LaneConsequence? {
        switch verdict.outcome {
        case .deferred(_, .providerTokenExpired): origin?.authorization.map { .accessTokenRefused(generation: $0) }
        case .deferred(_, .credentialRefused): .credentialRefused(reason: verdict.reason, origin?.connection)
        default: verdict.connection == .keep ? nil : origin.map { .connectionEnds($0.connection) }
        }
    }
}
