import API
import Basis
import Documents
import JSON
import Model
import Testing

@Suite("The progress in a message's answer")
struct ProgressAnswerTests {
    private func estimate(
        _ state: MessageState, audience: Int64?, scanned: Double?, lastDue: WallInstant? = nil
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
            ], waits: [], lastDue: lastDue, scanned: scanned)
        let answer = try JSONReader.read(MessageAnswer.body(progress))
        return try #require(answer.object?["progress"]?.object?["estimate"]?.object)
    }

    @Test("estimates the audience and the end while the audience is being found")
    func planning() throws {
        let early = try estimate(.planning, audience: nil, scanned: 0.25)
        #expect(early.members.map(\.name) == ["audience", "finished_at", "pushes_per_second"])
        #expect(early["audience"]?.integer == 800)
        #expect(early["finished_at"] == "2026-12-01T12:01:10.000Z")
    }

    @Test("shows the known audience, and an end that is hours away")
    func known() throws {
        let known = try estimate(.sending, audience: 200, scanned: nil, lastDue: noon + .seconds(36_000))
        #expect(known["audience"]?.integer == 200)
        #expect(known["finished_at"] == "2026-12-01T22:00:00.000Z")
    }

    @Test("contains null for an estimate that cannot be made")
    func unknown() throws {
        let unknown = try estimate(.planning, audience: nil, scanned: nil)
        #expect(unknown["audience"] == .null && unknown["finished_at"] == .null)
    }

    /// The reasons why the message as a whole waits, and until when.
    private func waits(_ state: MessageState, sendAt: WallInstant?, accepted: Int64 = 0) throws -> [[JSONValue?]] {
        let account = MessageAccount(
            id: MessageID(UniversalID(high: 1, low: 1)), state: state, acceptedAt: noon, expiresAt: noon,
            finishedAt: nil, audience: nil, outcomes: [accepted], pending: 0, reasons: [], providers: [], sendAt: sendAt
        )
        let progress = MessageProgress(account: account, at: noon, providers: [], waits: [])
        let answer = try JSONReader.read(MessageAnswer.body(progress))
        let waiting = try #require(answer.object?["progress"]?.object?["waiting"]?.array).compactMap(\.object)
        #expect(waiting.allSatisfy { $0["pushes"] == .null && $0.members.count == 8 })
        return waiting.map { [$0["for"], $0["until"]] }
    }

    @Test("names what planners wait for")
    func planners() throws {
        func waits(_ planWait: MessageProgress.PlanWait) throws -> [JSONValue?] {
            let account = MessageAccount(
                id: MessageID(UniversalID(high: 1, low: 1)), state: .accepted, acceptedAt: noon, expiresAt: noon,
                finishedAt: nil, audience: nil, outcomes: [0], pending: 0, reasons: [], providers: [])
            let progress = MessageProgress(account: account, at: noon, providers: [], waits: [], planWait: planWait)
            let answer = try JSONReader.read(MessageAnswer.body(progress))
            let waiting = try #require(answer.object?["progress"]?.object?["waiting"]?.array?.first?.object)
            return ["for", "until", "reason"].map { waiting[$0] }
        }
        let before = MessageID(UniversalID(high: 2, low: 3))
        #expect(try waits(.predecessor(before)) == ["predecessor", .null, .string(before.value.text)])
        #expect(try waits(.queued) == ["planning", .null, .null])
        #expect(
            try waits(.setAside(until: noon + .seconds(1))) == ["planning", "2026-12-01T12:00:01.000Z", .null])
    }

    @Test("has a name in the contract for every cause", arguments: PushWait.Cause.allCases)
    func documented(_ cause: PushWait.Cause) {
        let contract = String(decoding: EmbeddedDocuments.contract, as: UTF8.self)
        #expect(contract.contains("\n            - \(cause.name): "), "it is explained")
        #expect(contract.contains("\n            - \(cause.name)\n"), "it is listed")
    }

    @Test("names the scheduled time and the pause that a message waits for")
    func whole() throws {
        let hour: [JSONValue?] = ["hour", "2026-12-01T12:00:01.000Z"]
        #expect(try waits(.scheduled, sendAt: noon + .seconds(1)) == [hour])
        #expect(try waits(.paused, sendAt: noon + .seconds(1)) == [hour, ["resume", .null]])
        #expect(try waits(.paused, sendAt: noon) == [["resume", .null]])
        #expect(try waits(.paused, sendAt: nil) == [["resume", .null]])
        #expect(try waits(.paused, sendAt: nil, accepted: 1).isEmpty)
        #expect(try waits(.planning, sendAt: noon).isEmpty)
    }
}
