import Basis
import Delivery
import FCM
import LaneRules
import Lanes
import Model
import ProviderInterface
import QueueRules
import Testing

@Suite("Answers of FCM, read by the delivery engine")
struct FCMAnswerReadingTests {
    @Test("carry what FCM calls wrong about the message")
    func complaint() {
        let text = #"Invalid JSON payload received. Unknown name \"content_available\" at 'message'"#
        let body = #"{"error":{"code":400,"message":"\#(text)","status":"INVALID_ARGUMENT"}}"#
        let told = MessageComplaint(reason: "INVALID_ARGUMENT", text: "unknown name content_available")
        #expect(reading(400, body).complaint == told)
        #expect(reading(400, #"{"error":{"status":"INVALID_ARGUMENT"}}"#).complaint == nil)
    }

    private static let here = AnswerOrigin(connection: ConnectionID(7), authorization: 3)

    private func reading(
        _ status: UInt16, _ body: String, retryAfter: String = "", besideAccepted: Bool = false,
        laneIsProven: Bool = false
    ) -> AnswerReading {
        let bytes = Array(retryAfter.utf8) + Array(body.utf8)
        let wait = retryAfter.utf8.count
        let answer = Answer(
            tag: 0,
            kind: .response(
                status: status, retryAfter: ByteRange(start: 0, count: wait),
                body: ByteRange(start: wait, count: bytes.count - wait)),
            origin: Self.here)
        // The answer of the accepted push comes second.
        let neighbour = Answer(
            tag: 1, kind: .response(status: 200, retryAfter: .empty, body: .empty), origin: Self.here)
        let answers = besideAccepted ? [answer, neighbour] : [answer]
        var names = ReasonNames()
        return AnswerReading(
            AnswerBatch(
                ticket: BatchTicket(1), answers: answers, members: answers.indices.map(Int32.init), bytes: bytes),
            of: FCMProvider(), pushType: .alert, laneIsProven: laneIsProven, wereTried: false,
            now: WallInstant(secondsSince1970: 1_800_000_000), &names)
    }

    private static func error(_ status: String, code: String? = nil) -> String {
        let type = "type.googleapis.com/google.firebase.fcm.v1.FcmError"
        let details = code.map { #","details":[{"@type":"\#(type)","errorCode":"\#($0)"}]"# } ?? ""
        return #"{"error":{"status":"\#(status)","message":"no"\#(details)}}"#
    }

    @Test("count as accepted by position, whatever message name they carry")
    func accepted() {
        let reading = reading(200, #"{"name":"projects/tower/messages/1"}"#)
        #expect(reading.accepted == [0] && reading.others.isEmpty && reading.consequences.isEmpty)
    }

    @Test(
        "count as accepted with a fault if their body names no message",
        arguments: [#"{"name":"#, "{}", "<html>Sign in</html>", #"{"name":"projects/tower/mess"#])
    func oddlyAccepted(body: String) {
        #expect(reading(200, body).accepted == [0])
        #expect(reading(200, body).undocumentedBody == "the body is not a JSON object that names the message")
    }

    @Test(
        "count as accepted without a fault if their body names a message, or was cut off",
        arguments: ["", #"{"name":"projects/tower/messages/1"}"#, "{\n  \"name\": \"projects/tower/messages/1\"\n}\n"])
    func documented(body: String) {
        #expect(reading(200, body).undocumentedBody == nil)
    }

    @Test("refuse the access token of the request, and keep the connection")
    func accessToken() {
        let reading = reading(401, Self.error("UNAUTHENTICATED"))
        #expect(reading.consequences == [.accessTokenRefused(generation: 3)])
        #expect(reading.others.map(\.outcome) == [.deferred(after: nil, .providerTokenExpired)])
    }

    @Test("block the lane if the project or account is wrong, without a verdict on the token")
    func account() throws {
        for (status, name) in [(UInt16(404), "NOT_FOUND"), (403, "PERMISSION_DENIED")] {
            let reading = reading(status, Self.error(name))
            #expect(reading.consequences.contains(.credentialRefused(reason: name, ConnectionID(7))))
            guard case .deferred(_, .credentialRefused) = try #require(reading.others.first).outcome else {
                Issue.record("\(name) became a verdict on the push")
                continue
            }
        }
    }

    @Test("leave the lane open if they refuse one push and others are accepted", arguments: [true, false])
    func oneIsRefused(besideAccepted: Bool) {
        for (status, name) in [(UInt16(404), "NOT_FOUND"), (403, "PERMISSION_DENIED")] {
            let reading = reading(
                status, Self.error(name), besideAccepted: besideAccepted, laneIsProven: !besideAccepted)
            #expect(reading.consequences == [.alarm(.credential)] && reading.refusedCount == 1)
            #expect(reading.others.map(\.outcome) == [.deferred(after: .seconds(60), .providerBusy)])
        }
    }

    @Test("retire a token after UNREGISTERED, and keep the lane open")
    func unregistered() {
        let reading = reading(404, Self.error("NOT_FOUND", code: "UNREGISTERED"))
        #expect(reading.consequences.isEmpty)
        #expect(
            reading.others.map(\.outcome) == [
                .rejected(Rejection(fault: .tokenUnregistered, reason: "UNREGISTERED"))
            ])
    }

    @Test("wait as long as Retry-After asks, in seconds or until a date")
    func retryAfter() {
        let busy = Self.error("UNAVAILABLE", code: "UNAVAILABLE")
        #expect(
            reading(503, busy, retryAfter: "77").others.map(\.outcome) == [
                .deferred(after: .seconds(77), .providerUnavailable)
            ])
        // The date is fifteen seconds after the test's current time.
        let date = reading(503, busy, retryAfter: "Fri, 15 Jan 2027 08:00:15 GMT")
        #expect(date.others.map(\.outcome) == [.deferred(after: .seconds(15), .providerUnavailable)])
    }
}
