import Reactor
import Simulator
import TLS
import Testing

@Suite("An unusual client of the APNs simulator", .serialized)
struct StrangerTests {
    @Test("speaks HTTP/2 although it offers no protocol by ALPN")
    func noALPN() async throws {
        let standIn = try await StandIn()
        let provider = try standIn.connect(alpn: [])
        #expect(provider.tls.alpn == nil)
        #expect(try provider.ask(Push(authorization: standIn.authorization())).status == 200)
    }

    @Test("sends garbage before or inside TLS, and other clients are still served")
    func garbage() async throws {
        let standIn = try await StandIn()
        var state: UInt64 = 20_261_121
        func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state >> 33
        }
        for round in 0..<200 {
            let socket = try StreamSocket.connect(to: SocketAddress(loopbackPort: standIn.port))
            var bytes = (0..<(1 + Int(next() % 600))).map { _ in UInt8(truncatingIfNeeded: next()) }
            // A plausible beginning, a TLS handshake record, reaches deeper code.
            if round % 2 == 0 { bytes = [22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3] + bytes }
            while (try? socket.connectResult()) == nil {}
            _ = try? socket.write(bytes.span)
            socket.close()
        }
        for _ in 0..<20 {
            let provider = try standIn.connect()
            provider.writeRaw((0..<100).map { _ in UInt8(truncatingIfNeeded: next()) })
            try provider.waitForClose()
        }
        #expect(try standIn.connect().ask(Push(authorization: standIn.authorization())).status == 200)
    }

    @Test("gets some streams refused above the limit, but keeps its connection")
    func tooManyStreams() async throws {
        let standIn = try await StandIn()
        let provider = try standIn.connect(limitAtStart: 100)
        let authorization = try standIn.authorization()
        let tags = try (0..<50).map { _ in try provider.send(Push(authorization: authorization)) }
        let terminalCounts = try tags.map { try provider.answer(to: $0).conclusion }
        #expect(terminalCounts.allSatisfy { $0 == .complete || $0 == .refused })
        #expect(terminalCounts.contains(.complete))
    }

    @Test("loses its connection if the simulator stops, and connects again after a restart")
    func restart() async throws {
        let standIn = try await StandIn()
        let provider = try standIn.connect()
        await standIn.simulator.stop()
        try provider.waitForClose()
        let port = try await standIn.simulator.start()
        let again = try Provider(standIn.simulator, port: port, trust: standIn.authority.pem)
        #expect(try again.ask(Push(authorization: standIn.authorization())).status == 200)
    }
}
