import APNs
import DeliveryRules
import PushModel
import Transport

/// What an answer means for the connections, beside what it means for its push.
enum LaneConsequence: Equatable, Sendable {
    /// The provider token was too old: those connections are of no use any more.
    case providerTokenExpired
    /// The token is good, these connections are not: another key bound them.
    case connectionsUnfit
    case credentialRefused
    /// The credential is good, but not for this route's topic.
    case topicRefused
    case alarm(APNsAlarm)
}

/// One delivery of answers, sorted: the plain 200s by position, the others as outcomes.
struct AnswerReading {
    private(set) var accepted: [Int32] = []
    private(set) var others: [PositionedOutcome] = []
    /// Each once, however many answers say it.
    private(set) var consequences: [LaneConsequence] = []

    mutating func read(_ batch: AnswerBatch) {
        accepted.reserveCapacity(batch.answers.count)
        for answer in batch.answers {
            switch answer.kind {
            case .response(200, _, _): accepted.append(answer.tag)
            case .response(let status, let retryAfter, let body):
                let verdict = APNsResponse.classify(
                    status: Int(status), body: batch.bytes.span.extracting(body.range),
                    retryAfter: seconds(batch.bytes.span.extracting(retryAfter.range)))
                note(verdict)
                others.append(PositionedOutcome(position: answer.tag, outcome: verdict.outcome))
            case .unsent(let fault):
                others.append(PositionedOutcome(position: answer.tag, outcome: .unsent(fault)))
            case .unknown(let fault):
                others.append(PositionedOutcome(position: answer.tag, outcome: .unknown(fault)))
            }
        }
    }

    private mutating func note(_ verdict: APNsVerdict) {
        switch verdict.outcome {
        case .deferred(_, .providerTokenExpired):
            add(verdict.alarm == .clock ? .providerTokenExpired : .connectionsUnfit)
        // A topic that the credential does not cover is no fault of the lane: other topics go on.
        case .deferred(_, .credentialRefused): add(verdict.connection == .close ? .credentialRefused : .topicRefused)
        default: break
        }
        if let alarm = verdict.alarm { add(.alarm(alarm)) }
    }

    private mutating func add(_ consequence: LaneConsequence) {
        if !consequences.contains(consequence) { consequences.append(consequence) }
    }

    /// APNs sends whole seconds, where it sends anything; a date, or nonsense, leaves the wait to the retry policy.
    private func seconds(_ text: Span<UInt8>) -> Duration? {
        guard !text.isEmpty, text.count <= 6 else { return nil }
        var value: Int64 = 0
        for place in text.indices {
            guard (0x30...0x39).contains(text[place]) else { return nil }
            value = value * 10 + Int64(text[place] - 0x30)
        }
        return .seconds(value)
    }
}
