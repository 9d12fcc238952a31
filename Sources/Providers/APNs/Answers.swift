import Basis
import Model
import ProviderInterface

extension APNsProvider {
    package var answerRules: AnswerRules { AnswerRules() }

    package func classify(
        _ responses: [ProviderResponse], bytes: [UInt8], _ context: AnswerContext
    ) -> ClassifiedAnswers {
        let topicHasSuffix = !APNsPushTypes.row(for: context.pushType).topicSuffix.isEmpty
        var answers = ClassifiedAnswers()
        for response in responses {
            let verdict = APNsResponse.classify(
                status: Int(response.status), body: bytes.span.extracting(response.body.range),
                retryAfter: Self.seconds(bytes.span.extracting(response.retryAfter.range)))
            if topicHasSuffix, let refused = Self.refusedOfKind(verdict) {
                answers.add(response, refused, of: verdict)
                continue
            }
            if Self.refusesCredential(verdict) {
                answers.refusedCount += 1
                if context.laneIsProven {
                    answers.add(response, Self.outcomeBesideAccepted(verdict, context), of: verdict)
                    continue
                }
            }
            let quote = AnswerQuote(status: response.status, reason: verdict.reason)
            answers.add(Self.consequence(of: verdict, response.origin), quoting: quote)
            answers.add(response, verdict.outcome, of: verdict)
        }
        return answers
    }

    package func undocumentedBody(ofAccepted bodies: [ByteRange], bytes: [UInt8]) -> String? {
        bodies.isEmpty ? nil : "the body is not empty"
    }

    private static func refusesCredential(_ verdict: ProviderVerdict) -> Bool {
        if case .deferred(_, .credentialRefused) = verdict.outcome { verdict.connection == .close } else { false }
    }

    /// The outcome of a push that is refused while others are accepted with the same credential.
    ///
    /// `Forbidden` is about the push, and Apple asks not to repeat it. It is tried once more all the same: a key that
    /// was revoked a moment ago gets the same answer, and by then nothing is accepted. The other reasons name the
    /// credential. Not all of Apple's servers know a new key at once, so the push waits.
    private static func outcomeBesideAccepted(_ verdict: ProviderVerdict, _ context: AnswerContext) -> Outcome {
        guard verdict.reason == APNsRejections.forbidden else {
            return .deferred(after: APNsRejections.refusedPause, .providerBusy)
        }
        guard context.wereTried else { return .deferred(after: nil, .providerBusy) }
        return .rejected(Rejection(fault: .message, reason: verdict.reason))
    }

    private static func consequence(of verdict: ProviderVerdict, _ origin: AnswerOrigin?) -> LaneConsequence? {
        switch verdict.outcome {
        case .deferred(_, .providerTokenExpired):
            guard verdict.alarm == .clock else { return .connectionsUnfit }
            guard let origin, let generation = origin.authorization else { return nil }
            return .providerTokenExpired(generation: generation, origin.connection)
        // A topic that the credential does not cover is no fault of the lane: other topics go on.
        case .deferred(_, .credentialRefused) where verdict.connection != .close:
            return .topicRefused(reason: verdict.reason)
        case .deferred(_, .credentialRefused): return .credentialRefused(reason: verdict.reason, origin?.connection)
        default: return verdict.connection == .keep ? nil : origin.map { .connectionEnds($0.connection) }
        }
    }

    /// Rejects a push whose type the app's certificate does not cover; nil: the verdict is another one.
    ///
    /// This is for pushes whose topic is not the app's own, but has the suffix of their type. No wait helps here, and
    /// pausing the route would stop the app's alerts too.
    private static func refusedOfKind(_ verdict: ProviderVerdict) -> Outcome? {
        guard case .deferred(_, .credentialRefused) = verdict.outcome, verdict.connection != .close else { return nil }
        return .rejected(Rejection(fault: .message, reason: verdict.reason))
    }

    /// Reads `Retry-After` in whole seconds. A date or nonsense leaves the wait to the retry policy.
    private static func seconds(_ text: Span<UInt8>) -> Duration? {
        guard !text.isEmpty, text.count <= 6 else { return nil }
        var value: Int64 = 0
        for place in text.indices {
            guard text[place].isDigit else { return nil }
            value = value * 10 + Int64(text[place] - 0x30)
        }
        return .seconds(value)
    }
}
