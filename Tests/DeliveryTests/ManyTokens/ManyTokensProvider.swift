import Basis
import Content
import JSON
import Model
import ProviderInterface

/// A provider that exists in tests alone: a request carries up to 1,000 tokens, and a 200 may be a refusal.
///
/// It answers as HMS does. It borrows HMS' id, to which no version delivers yet.
struct ManyTokensProvider: PushProvider {
    let id = Provider.hms
    let title = "Many"
    let environments = [PushEnvironment.production]
    let kinds = [TokenKind.alert]
    let hasTopics = false
    let staleDays: Int32? = nil
    let credentialForms: [CredentialForm] = []
    let credentialKinds = "Many has no credentials"
    let takesRecords = false
    let offersValidation = false
    let takesUnknownSubscribers = false
    /// Whether its pushes may be sent again after their answer was lost.
    var mayRepeat = true

    func readToken(_ text: String) -> DeviceToken { DeviceToken(bytes: Array(text.utf8)) }
    func text(of token: DeviceToken) -> String { String(decoding: token.bytes, as: UTF8.self) }
    func readTopic(_ text: String, kind: TokenKind?) throws(ProviderFault) -> String {
        throw ProviderFault("invalid_value", "It has no topics.")
    }
    func readCredential(
        _ form: SubmittedForm, _ keys: any KeyReader
    ) throws(ProviderFault) -> any ProviderCredential {
        throw ProviderFault("not_supported", "It has no credentials.")
    }
    func tokenKinds(of type: PushType) -> [TokenKind] { type == .alert ? [.alert] : [] }
    func isHeader(_ place: JSONPointer) -> Bool { false }
    func shownTexts(of content: MessageContent) -> ShownTexts { ShownTexts([.title, .body], patch: nil, others: []) }
    func wakeUp(_ members: [DataMember], _ presentation: WakeUpPresentation) -> MessageContent { MessageContent() }
    func undocumentedBody(ofAccepted bodies: [ByteRange], bytes: [UInt8]) -> String? { nil }

    func compile(_ content: MessageContent, message: MessageID) throws(ProviderFault) -> any CompiledPush {
        let texts = LocaleTable.texts(content.notification, content.localizations).map { $0?.body ?? "" }
        return ManyTokensMessage(texts: texts, mayRepeat: mayRepeat)
    }
}

struct ManyTokensMessage: CompiledPush {
    /// By variant.
    let texts: [String]
    let mayRepeat: Bool
    let provider = Provider.hms
    let tokenKind = TokenKind.alert
    let requestMembersMax = 1_000

    func beginBatch(of pushes: ParcelPushes, count: Int) -> PushBatchBuilder {
        PushBatchBuilder(
            sharedFields: [PushBatch.SharedField("content-type", "application/json".utf8)],
            sharedPath: Array(pushes.address.utf8),
            frames: texts.map { text in
                PushBatch.BodyFrame(prefix: Array(#"{"text":"\#(text)","tokens":["#.utf8), suffix: Array("]}".utf8))
            }, fillers: [], count: count)
    }

    func append(_ positions: ArraySlice<Int32>, of pushes: ParcelPushes, to batch: inout PushBatchBuilder) {
        func variant(_ position: Int32) -> Int { pushes.variant(for: pushes.parcel.members[Int(position)]) }
        var rest = positions
        while let first = rest.first {
            let own = variant(first)
            let members = rest.prefix { variant($0) == own }.prefix(requestMembersMax)
            let start = batch.bytes.count
            for position in members {
                if batch.bytes.count > start { batch.bytes.append(UInt8(ascii: ",")) }
                batch.bytes.append(UInt8(ascii: "\""))
                batch.bytes += pushes.parcel.tokens[pushes.tokenRange(of: pushes.parcel.members[Int(position)])]
                batch.bytes.append(UInt8(ascii: "\""))
            }
            batch.add(members, path: batch.sharedPath, id: .empty, variant: own, bodyStart: start)
            rest = rest.dropFirst(members.count)
        }
    }

    func preview(_ device: PreviewedDevice) -> PushPreview {
        PushPreview(body: Array(texts[device.variant].utf8), payloadBytes: 0, payloadBytesMax: 4_096)
    }
}

/// The provider's answers, by the codes in their bodies.
enum ManyTokensCode {
    static let success = "80000000"
    static let someIllegal = "80100000"
    static let allIllegal = "80300007"
    static let credential = "80200001"
    static let throttled = "80100017"

    static func body(_ code: String, illegal: [String] = []) -> [UInt8] {
        let names = illegal.map { "\"\($0)\"" }.joined(separator: ",")
        return Array(#"{"code":"\#(code)","illegal_tokens":[\#(names)]}"#.utf8)
    }
}

extension ManyTokensProvider {
    var answerRules: AnswerRules {
        AnswerRules(successIsInBody: true, uncountedStatuses: [503], bodyBytesMax: 262_144)
    }

    private static let accepted = ProviderVerdict(outcome: .accepted, connection: .keep, alarm: nil)
    private static let unreadable = ProviderVerdict(
        outcome: .unknown(.protocolViolation), connection: .keep, alarm: nil)

    private static func refused(_ code: String, _ fault: RejectionFault) -> ProviderVerdict {
        ProviderVerdict(
            outcome: .rejected(Rejection(fault: fault, reason: code)), connection: .keep, alarm: nil, reason: code)
    }

    private static func waits(_ code: String, _ reason: DeferralReason) -> ProviderVerdict {
        ProviderVerdict(
            outcome: .deferred(after: .seconds(10), reason), connection: .keep, alarm: nil, reason: code)
    }

    /// The code in the body; nil: the body can't be read.
    private struct Reading {
        let code: String
        let illegal: [[UInt8]]

        init?(_ response: ProviderResponse, _ bytes: [UInt8]) {
            guard response.status == 200 else {
                (code, illegal) = (ManyTokensCode.throttled, [])
                return
            }
            let body = try? JSONReader.read(Array(bytes[response.body.range]))
            guard let members = body?.object, let code = members["code"]?.string else { return nil }
            self.code = code
            illegal = (members["illegal_tokens"]?.array ?? []).compactMap { $0.string.map { Array($0.utf8) } }
        }
    }

    func classify(_ responses: [ProviderResponse], bytes: [UInt8], _ context: AnswerContext) -> ClassifiedAnswers {
        let readings = responses.map { Reading($0, bytes) }
        let isProven =
            context.laneIsProven
            || readings.contains { [ManyTokensCode.success, ManyTokensCode.someIllegal].contains($0?.code) }
        var answers = ClassifiedAnswers()
        for (response, reading) in zip(responses, readings) {
            func add(_ verdict: ProviderVerdict) { answers.add(response, verdict.outcome, of: verdict) }
            switch reading?.code {
            case ManyTokensCode.success: add(Self.accepted)
            case ManyTokensCode.someIllegal:
                let named = context.tokens.members(response.members, named: reading?.illegal ?? [])
                let part = AnswerPart(named, Self.refused(ManyTokensCode.someIllegal, .tokenUnregistered))
                answers.add(response, [part], others: Self.accepted)
            // One wrong address would make all tokens illegal.
            case ManyTokensCode.allIllegal: add(Self.refused(ManyTokensCode.allIllegal, .tokenSuspect))
            case ManyTokensCode.credential where isProven:
                answers.refusedCount += 1
                add(Self.waits(ManyTokensCode.credential, .providerBusy))
            case ManyTokensCode.credential:
                answers.refusedCount += 1
                answers.add(
                    .credentialRefused(reason: ManyTokensCode.credential, response.origin?.connection),
                    quoting: AnswerQuote(status: response.status, reason: ManyTokensCode.credential))
                add(Self.waits(ManyTokensCode.credential, .credentialRefused))
            case ManyTokensCode.throttled: add(Self.waits(ManyTokensCode.throttled, .laneThrottled))
            default: add(Self.unreadable)
            }
        }
        return answers
    }
}
