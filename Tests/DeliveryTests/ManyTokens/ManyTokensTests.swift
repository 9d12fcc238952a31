import APNs
import Basis
import CompiledMessages
import Content
import Delivery
import FCM
import LaneRules
import Lanes
import Model
import ProviderInterface
import QueueRules
import Testing

@Suite("A broadcast to 100,000 devices of a provider with 1,000 tokens per request", .timeLimit(.minutes(10)))
struct ManyTokensBroadcastTests {
    /// Each fault befalls one request of the first hundred.
    private static let faults: [Int: ManyTokensStandIn.Fault] = [
        4: .throttledByStatus, 18: .throttledInBody, 33: .credentialRefused, 47: .allIllegal, 61: .bodyReset,
        76: .bodyCut,
    ]
    /// Sent once for all tests.
    private static let sent = Task { try await ManyTokensBroadcast.run(faults: faults) }

    @Test("adds up: every push ends once, as the provider's own account says")
    func addsUp() async throws {
        let result = try await Self.sent.value
        let standIn = result.standIn
        #expect(result.ended == ManyTokensBroadcast.devices)
        #expect(result.ended(.accepted) == standIn.accepted.count)
        #expect(result.ended(.unregistered) == standIn.named.count)
        #expect(result.ended(.rejected) == standIn.allIllegal.count)
    }

    @Test("retires exactly the tokens that an answer names")
    func retires() async throws {
        let result = try await Self.sent.value
        #expect(result.retired == result.standIn.named && !result.retired.isEmpty)
    }

    @Test("suspects the tokens of a request that has no valid one, and retires none of them")
    func suspects() async throws {
        let result = try await Self.sent.value
        #expect(result.suspected == result.standIn.allIllegal && result.suspected.count == 1_000)
    }

    @Test("repeats only the pushes whose answer did not arrive whole")
    func repeats() async throws {
        let standIn = try await Self.sent.value.standIn
        let twice = Set(standIn.accepted.filter { $0.value > 1 }.keys)
        #expect(twice == standIn.lost.filter { !ManyTokensStandIn.isGone($0) } && standIn.lost.count == 2_000)
        #expect(standIn.accepted.values.allSatisfy { $0 <= 2 })
    }

    @Test("waits for each fault that passes, by its own cause")
    func waits() async throws {
        let causes = try await Self.sent.value.causes
        // A refused credential is the push's own fault if an accepted push was answered in the same delivery.
        let refusals: Set<WaitCause> = [.credentialRefused, .providerBusy]
        #expect(causes.subtracting(refusals) == [.providerThrottled, .answerLost])
        #expect(causes.intersection(refusals).count == 1)
    }

    @Test("fills its requests with devices of one language each")
    func requests() async throws {
        let standIn = try await Self.sent.value.standIn
        #expect(standIn.mostTokens == 1_000 && standIn.unreadable == 0)
        // A hundred requests, and again those of the faults that pass.
        #expect(standIn.requests == 100 + Self.faults.values.count { $0 != .allIllegal })
        #expect(Set(standIn.languages.keys) == ["Noon", "Midi"])
    }
}

@Suite("An answer to a request of several tokens")
struct ManyTokensAnswerTests {
    private let parcel = ManyTokensBroadcast.parcel(of: [1, 2, 3, 4, 5, 6])

    /// Reads answers to requests of two devices each.
    private func reading(
        _ answers: [(status: UInt16, body: [UInt8])], laneIsProven: Bool = false
    ) -> AnswerReading {
        var bytes: [UInt8] = []
        let list = answers.enumerated().map { place, answer in
            defer { bytes += answer.body }
            return Answer(
                tag: Int32(2 * place), weight: 2,
                kind: .response(
                    status: answer.status, retryAfter: .empty,
                    body: ByteRange(start: bytes.count, count: answer.body.count)),
                origin: AnswerOrigin(connection: ConnectionID(7), authorization: nil))
        }
        return ManyTokensBroadcast.reading(
            of: AnswerBatch(ticket: BatchTicket(1), answers: list, members: Array(0..<6), bytes: bytes), to: parcel,
            laneIsProven: laneIsProven)
    }

    private func body(_ code: String, illegal devices: [Int] = []) -> (status: UInt16, body: [UInt8]) {
        (200, ManyTokensCode.body(code, illegal: devices.map(ManyTokensStandIn.token)))
    }

    @Test("ends all its members, each by its own outcome")
    func members() {
        let reading = reading([body(ManyTokensCode.success), body(ManyTokensCode.someIllegal, illegal: [4, 6])])
        #expect(reading.accepted == [0, 1, 2])
        #expect(reading.others.map(\.position) == [3], "the device 6 is none of this request's")
        #expect(
            reading.others.map(\.outcome) == [
                .rejected(Rejection(fault: .tokenUnregistered, reason: ManyTokensCode.someIllegal))
            ])
    }

    @Test("proves nothing about a credential that it refuses in a 200")
    func credential() {
        let reading = reading([body(ManyTokensCode.credential)])
        #expect(reading.accepted.isEmpty && reading.refusedCount == 1)
        #expect(reading.consequences == [.credentialRefused(reason: ManyTokensCode.credential, ConnectionID(7))])
        #expect(
            reading.others.map(\.outcome)
                == [
                    .deferred(after: .seconds(10), .credentialRefused),
                    .deferred(after: .seconds(10), .credentialRefused),
                ])
        var health = LaneHealth(signalsMin: 1)
        let now = MonotonicInstant(nanoseconds: 0)
        health.noteProof(accepted: reading.accepted.count, refused: reading.refusedCount, now)
        #expect(!health.isProven(now))
    }

    @Test("blames the push if a credential is refused beside an accepted one", arguments: [true, false])
    func beside(besideAccepted: Bool) {
        let refusal = body(ManyTokensCode.credential)
        let reading = reading(
            besideAccepted ? [refusal, body(ManyTokensCode.success)] : [refusal], laneIsProven: !besideAccepted)
        #expect(reading.consequences.isEmpty && reading.refusedCount == 1)
    }

    @Test("counts as lost, and not as accepted, if its body breaks off", arguments: ["", #"{"code":"8000"#, "<html>"])
    func cut(text: String) {
        let reading = reading([(200, Array(text.utf8))])
        #expect(reading.accepted.isEmpty)
        #expect(reading.others.map(\.outcome) == [.unknown(.protocolViolation), .unknown(.protocolViolation)])
    }

    @Test("asks the lane to slow down, inside a 200 as with a status of its own")
    func throttled() {
        #expect(reading([body(ManyTokensCode.throttled)]).throttling?.status == 200)
        #expect(reading([(503, [])]).throttling?.status == 503)
    }
}

@Suite("A message to several providers")
struct ManyProvidersTests {
    @Test("may be repeated at one provider, although another one's pushes may not")
    func repeats() {
        let providers: [any PushProvider] = [APNsProvider(), FCMProvider(), ManyTokensProvider(mayRepeat: false)]
        let content = MessageContent(notification: NotificationText(body: "Noon"))
        for asked in [nil, []] as [[Provider]?] {
            let message = CompiledMessage(content, message: TemplateWorld.id, for: asked, by: providers)
            #expect(message.reading(by: .apns) == .repeatable && message.reading(by: .fcm) == .repeatable)
            #expect(message.reading(by: .hms) == .unrepeatable)
            #expect(message.reading(by: nil) == .unrepeatable, "the strictest form counts")
        }
    }
}
