import APNs
import Basis
import Delivery
import LaneRules
import Lanes
import Model
import ProviderInterface
import Testing

@Suite("Answers of APNs, read by the delivery engine")
struct AnswerReadingTests {
    private static let here = AnswerOrigin(connection: ConnectionID(7), authorization: 3)

    /// Reads one answer from one connection.
    private func reading(_ status: UInt16, _ reason: String = "", retryAfter: String = "") -> AnswerReading {
        var names = ReasonNames()
        return reading([(status, reason, retryAfter)], &names)
    }

    private func reading(
        _ answers: [(status: UInt16, reason: String, retryAfter: String)], of pushType: PushType = .alert,
        laneIsProven: Bool = false, wereTried: Bool = false, _ names: inout ReasonNames
    ) -> AnswerReading {
        var bytes: [UInt8] = []
        func append(_ text: String) -> ByteRange {
            let start = bytes.count
            bytes += Array(text.utf8)
            return ByteRange(start: start, count: bytes.count - start)
        }
        let list = answers.enumerated().map { place, answer in
            let body = answer.reason.isEmpty ? "" : #"{"reason":"\#(answer.reason)"}"#
            return Answer(
                tag: Int32(place),
                kind: .response(
                    status: answer.status, retryAfter: append(answer.retryAfter), body: append(body)),
                origin: Self.here)
        }
        return AnswerReading(
            AnswerBatch(
                ticket: BatchTicket(1), answers: list, members: list.indices.map(Int32.init), bytes: bytes),
            of: APNsProvider(), pushType: pushType, laneIsProven: laneIsProven, wereTried: wereTried,
            now: WallInstant(secondsSince1970: 1_800_000_000), &names)
    }

    @Test("count as accepted by position, without consequences")
    func accepted() {
        let reading = reading(200)
        #expect(reading.accepted == [0])
        #expect(reading.others.isEmpty && reading.consequences.isEmpty)
    }

    @Test("count as accepted with a fault if they have a body")
    func oddlyAccepted() {
        #expect(reading(200).undocumentedBody == nil)
        let odd = reading(200, "Unregistered")
        #expect(odd.accepted == [0] && odd.undocumentedBody == "the body is not empty")
    }

    @Test("identify the expired provider token by its generation and connection")
    func expiredToken() {
        let reading = reading(403, "ExpiredProviderToken")
        #expect(reading.consequences.contains(.providerTokenExpired(generation: 3, ConnectionID(7))))
        #expect(reading.others.map(\.outcome) == [.deferred(after: nil, .providerTokenExpired)])
    }

    @Test("end a push whose kind the certificate does not cover, and keep the route open")
    func kindNotCovered() {
        var names = ReasonNames()
        let ofKind = reading([(400, "TopicDisallowed", "")], of: .voip, &names)
        #expect(ofKind.consequences == [.alarm(.credential)])
        #expect(
            ofKind.others.map(\.outcome) == [.rejected(Rejection(fault: .message, reason: "TopicDisallowed"))])
        // A refusal of the app's own topic pauses the route, because nothing can be sent there.
        #expect(reading(400, "TopicDisallowed").consequences.contains(.topicRefused(reason: "TopicDisallowed")))
    }

    @Test("request new connections if another key bound the old ones")
    func unrelatedKey() {
        #expect(reading(403, "UnrelatedKeyIdInToken").consequences == [.connectionsUnfit])
    }

    @Test(
        "block the lane if they refuse the credential",
        arguments: ["InvalidProviderToken", "Forbidden", "BadCertificate", "BadEnvironmentKeyIdInToken"])
    func refusedCredential(reason: String) {
        #expect(reading(403, reason).consequences.contains(.credentialRefused(reason: reason, ConnectionID(7))))
    }

    @Test("leave the lane open if they refuse one push and others are accepted", arguments: [true, false])
    func oneIsRefused(besideAccepted: Bool) {
        var names = ReasonNames()
        let pauses: [(reason: String, pause: Duration?)] = [("Forbidden", nil), ("InvalidProviderToken", .seconds(15))]
        for (reason, pause) in pauses {
            var answers: [(status: UInt16, reason: String, retryAfter: String)] = [(403, reason, "")]
            // The answer of the accepted push comes second.
            if besideAccepted { answers.append((200, "", "")) }
            let reading = reading(answers, laneIsProven: !besideAccepted, &names)
            #expect(reading.consequences == [.alarm(.credential)] && reading.refusedCount == 1)
            #expect(reading.others.map(\.outcome) == [.deferred(after: pause, .providerBusy)])
        }
    }

    @Test("reject a push that APNs forbids again, and no push whose refusal names the credential")
    func refusedAgain() {
        var names = ReasonNames()
        let forbidden = reading([(403, "Forbidden", "")], laneIsProven: true, wereTried: true, &names)
        #expect(forbidden.consequences == [.alarm(.credential)])
        #expect(forbidden.others.map(\.outcome) == [.rejected(Rejection(fault: .message, reason: "Forbidden"))])
        let invalid = reading([(403, "InvalidProviderToken", "")], laneIsProven: true, wereTried: true, &names)
        #expect(invalid.others.map(\.outcome) == [.deferred(after: .seconds(15), .providerBusy)])
        // Nothing proves that the credential is good, so the lane is blocked, and the push waits.
        let alone = reading([(403, "Forbidden", "")], wereTried: true, &names)
        #expect(alone.consequences.contains(.credentialRefused(reason: "Forbidden", ConnectionID(7))))
        #expect(alone.others.map(\.outcome) == [.deferred(after: nil, .credentialRefused)])
    }

    @Test("pause the route, not the lane, if they refuse the topic", arguments: ["TopicDisallowed", "MissingTopic"])
    func refusedTopic(reason: String) {
        #expect(reading(400, reason).consequences == [.topicRefused(reason: reason), .alarm(.credential)])
    }

    @Test(
        "end their connection if APNs asks for another one",
        arguments: [(400, "IdleTimeout"), (503, "Shutdown")])
    func otherConnection(status: Int, reason: String) {
        #expect(reading(UInt16(status), reason).consequences == [.connectionEnds(ConnectionID(7))])
    }

    @Test(
        "leave the connection open if it is not the cause",
        arguments: [
            (410, "Unregistered"), (429, "TooManyRequests"), (503, "ServiceUnavailable"), (400, "BadDeviceToken"),
        ])
    func sameConnection(status: Int, reason: String) {
        #expect(reading(UInt16(status), reason).consequences.isEmpty)
    }

    @Test(
        "wait as long as the Retry-After header asks, if it gives plausible seconds",
        arguments: [("120", Int64(120)), ("soon", 10), ("-5", 10), ("99999999", 10)])
    func retryAfter(text: String, seconds: Int64) {
        let outcome = reading(503, "ServiceUnavailable", retryAfter: text).others.first?.outcome
        #expect(outcome == .deferred(after: .seconds(seconds), .providerUnavailable))
    }

    @Test("name each consequence once, however many answers share it")
    func once() {
        var names = ReasonNames()
        let many = [(status: UInt16, reason: String, retryAfter: String)](
            repeating: (403, "InvalidProviderToken", ""), count: 500)
        #expect(reading(many, &names).consequences.count == 2, "the consequences are the refusal and its alarm")
    }

    @Test("give the log the status and reason of the first answer behind each consequence")
    func quotes() {
        var names = ReasonNames()
        let answers: [(status: UInt16, reason: String, retryAfter: String)] = [
            (429, "TooManyRequests", ""), (400, "TopicDisallowed", ""), (503, "ServiceUnavailable", ""),
            (403, "InvalidProviderToken", ""),
        ]
        let reading = reading(answers, &names)
        let (topic, key) = (
            AnswerQuote(status: 400, reason: "TopicDisallowed"),
            AnswerQuote(status: 403, reason: "InvalidProviderToken")
        )
        #expect(
            zip(reading.consequences, reading.quotes).contains {
                $0 == .topicRefused(reason: topic.reason) && $1 == topic
            })
        #expect(
            zip(reading.consequences, reading.quotes).contains {
                $0 == .credentialRefused(reason: key.reason, ConnectionID(7)) && $1 == key
            })
        #expect(reading.quotes.count == reading.consequences.count)
        #expect(reading.throttling == AnswerQuote(status: 503, reason: "ServiceUnavailable"))
    }

    @Test("add only a limited number of undocumented reasons")
    func inventedReasons() {
        var names = ReasonNames()
        let letters = "abcdefghijklmnopqrstuvwxyz".map(String.init)
        let invented = letters.flatMap { first in letters.map { (UInt16(400), "Made" + first + $0, "") } }
        let outcomes = reading(invented, &names).others.map(\.outcome)
        let reasons = Set(
            outcomes.compactMap { outcome in
                if case .rejected(let rejection) = outcome { rejection.reason } else { nil }
            })
        #expect(reasons.count == ReasonNames.namesMax + 1)
        #expect(reasons.contains("status_400"))
        // Reasons that were stored earlier and documented reasons keep their meaning.
        #expect(reading([(400, "Madeaa", "")], &names).others.first?.outcome == outcomes.first)
        let documented = reading([(400, "BadCollapseId", "")], &names).others.first?.outcome
        #expect(documented == .rejected(Rejection(fault: .message, reason: "BadCollapseId")))
    }
}
