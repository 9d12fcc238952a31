import Basis
import Listener
import Reactor
import Testing

@Suite("A thousand connections that trickle")
struct SlowCrowdTests {
    private static let slowCount = 1_000
    private static let honestCount = 200

    @Test("block no other request, and all end with a 408 at their deadline")
    func beside() async throws {
        var limits = GatewayLimits()
        limits.headTimeout = .seconds(4)
        limits.bodyTimeout = .seconds(4)
        limits.bodyPauseMax = .seconds(4)
        try await withGateway(limits: limits) { world in
            let app = try await world.makeApp()
            let quiet = try await Self.honest(app, world)
            var slow: [Wire] = []
            for number in 0..<Self.slowCount {
                let wire = try Wire(port: world.port)
                // Half of them stall in the head, half in the body.
                let request = GatewayWorld.request("POST", "/v1/apps", String(repeating: " ", count: 1_000))
                try await wire.send(String(number.isMultiple(of: 2) ? request.prefix(60) : request.dropLast(900)))
                slow.append(wire)
            }
            let crowded = try await Self.honest(app, world)
            print(
                "honest requests, median: \(quiet.microseconds) us in quiet, \(crowded.microseconds) us beside "
                    + "\(Self.slowCount) slow connections")
            // Each connection gets one answer and is then closed.
            for wire in slow {
                let reply = try await wire.reply()
                #expect(reply.status == 408, "\(reply.text)")
                #expect(await wire.isEnded())
            }
            try await world.expect(200, "GET", app + "/devices")
        }
    }

    /// Registers and reads over one connection, as a backend does; each request has to succeed.
    private static func honest(_ app: String, _ world: GatewayWorld) async throws -> Duration {
        let wire = try Wire(port: world.port)
        var times: [Duration] = []
        for number in 0..<honestCount {
            let start = Clocks.monotonicNow()
            let path = "\(app)/devices/phone\(number)"
            if number.isMultiple(of: 2) {
                try await wire.send(GatewayWorld.request("PUT", path, GatewayWorld.registration(number)))
            } else {
                try await wire.send(GatewayWorld.request("GET", app))
            }
            let reply = try await wire.reply()
            #expect(reply.status < 300, "\(reply.text)")
            times.append(Clocks.monotonicNow() - start)
        }
        return times.sorted()[times.count / 2]
    }
}

extension Duration {
    fileprivate var microseconds: Int64 { components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000 }
}
