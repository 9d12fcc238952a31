import Simulator
import Testing

@Suite("A simulator that is a sink", .serialized)
struct SinkTests {
    @Test("answers every push with 200 and its id, and counts it")
    func sink() async throws {
        let standIn = try await StandIn { settings, _ in settings.common.isSink = true }
        let provider = try standIn.connect()
        #expect(provider.streamLimits == [1_000])
        let id = "123e4567-e89b-12d3-a456-4266554400a0"
        let tags = try (0..<500).map { _ in try provider.send(Push([("apns-id", id)])) }
        for tag in tags {
            let answer = try provider.answer(to: tag)
            #expect(answer.status == 200)
            #expect(answer.apnsID == id)
        }
        #expect(try provider.ask(Push()).status == 200)
        #expect(try provider.get("/simulator/summary").body.contains(#""accepted":501"#))
        await standIn.simulator.follow(SimulatorScript(answerDelay: .milliseconds(20)))
        #expect(try provider.ask(Push([("apns-id", id)])).apnsID == id)
    }

    @Test("accepts a push with two ids")
    func repeatedID() async throws {
        let standIn = try await StandIn { settings, _ in settings.common.isSink = true }
        let provider = try standIn.connect()
        let answer = try provider.ask(Push([("apns-id", "a"), ("apns-id", "b")]))
        #expect(answer.status == 200)
        #expect(answer.apnsID == "a")
    }

    @Test("counts from zero after a reset")
    func reset() async throws {
        let standIn = try await StandIn { settings, _ in settings.common.isSink = true }
        let provider = try standIn.connect()
        #expect(try provider.ask(Push()).status == 200)
        let answer = try provider.ask(Push(method: "POST", path: "/simulator/reset"))
        #expect(answer.status == 200)
        #expect(answer.body == "{}")
        #expect(try provider.ask(Push()).status == 200)
        #expect(try provider.get("/simulator/summary").body.contains(#""accepted":1,"#))
    }

    @Test("answers 404 to a query for received pushes and to an unknown path")
    func received() async throws {
        let standIn = try await StandIn { settings, _ in settings.common.isSink = true }
        let provider = try standIn.connect()
        #expect(try provider.ask(Push(token: "0a")).status == 200)
        let answer = try provider.get("/simulator/received/0a")
        #expect(answer.status == 404)
        #expect(answer.body.contains(#""reason":"SinkKeepsNothing""#))
        for path in ["/simulator/else", "/simulator/", "/4/broadcasts/apps/com.example.carillon"] {
            let answer = try provider.ask(Push(method: "POST", path: path))
            #expect(answer.status == 404)
            #expect(answer.body == #"{"reason":"BadPath"}"#)
        }
    }
}
