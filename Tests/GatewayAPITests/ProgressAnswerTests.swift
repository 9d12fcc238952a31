import GatewayAPI
import JSON
import PushModel
import Testing

@Suite("The estimate in an answer")
struct ProgressAnswerTests {
    private func estimate(
        _ state: MessageState, audience: Int64?, walked: Double?, lastDue: WallInstant? = nil
    ) throws -> JSONObject {
        let part = ProviderAccount(provider: .apns, outcomes: [100], pending: 100)
        let account = MessageAccount(
            id: MessageID(UniversalID(high: 1, low: 1)), state: state, acceptedAt: noon, expiresAt: noon,
            finishedAt: nil, audience: audience, outcomes: [100], pending: 100, reasons: [], providers: [part])
        let progress = MessageProgress(
            account: account, at: noon,
            providers: [
                ProviderProgress(
                    provider: .apns, sending: 0, ready: 100, waiting: 0, reasons: [], otherReasons: 0,
                    pace: Pace(ended: 100, in: .seconds(10)))
            ], waits: [], lastDue: lastDue, walked: walked)
        let answer = try JSONReader.read(MessageAnswer.body(progress))
        return try #require(answer.object?["progress"]?.object?["estimate"]?.object)
    }

    @Test("has how large the audience will be while it is being found, and an end")
    func planning() throws {
        let early = try estimate(.planning, audience: nil, walked: 0.25)
        #expect(early.members.map(\.name) == ["audience", "finished_at", "pushes_per_second"])
        #expect(early["audience"]?.integer == 800)
        #expect(early["finished_at"] == "2026-12-01T12:01:10.000Z")
    }

    @Test("has the audience itself once it is known, and an end that is hours away")
    func known() throws {
        let known = try estimate(.sending, audience: 200, walked: nil, lastDue: noon + .seconds(36_000))
        #expect(known["audience"]?.integer == 200)
        #expect(known["finished_at"] == "2026-12-01T22:00:00.000Z")
    }

    @Test("is null where nothing can be said")
    func unknown() throws {
        let unknown = try estimate(.planning, audience: nil, walked: nil)
        #expect(unknown["audience"] == .null && unknown["finished_at"] == .null)
    }
}
