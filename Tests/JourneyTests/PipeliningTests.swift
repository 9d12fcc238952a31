import Foundation
import TestSupport
import Testing

extension Journeys {
    @Suite("Clients that pipeline requests and read no answer")
    struct PipeliningTests {
        private static let connections = 100
        private static let bytesEach = 4 << 20
        private static let growthMiBMax = 100
        /// After this many rounds in which no connection takes a byte, the gateway takes no more.
        private static let quietRounds = 50

        /// The requests that the clients send, without a valid key.
        private static let requests = [
            "GET /healthz HTTP/1.1\r\nHost:\r\n\r\n",
            "PUT /v1/apps/garden/devices/a HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer wrong\r\n"
                + "Content-Length: 2\r\n\r\n{}",
        ]

        @Test("use little of the gateway's memory, also over TLS", arguments: requests, [false, true])
        func memory(request: String, isEncrypted: Bool) async throws {
            try await World.within(isEncrypted: isEncrypted) { world in
                let gateway = try await world.gateway()
                let port = try #require(gateway.api.base.port)
                let before = try gateway.program.residentMiB()
                let floods = try (1...Self.connections).map { _ in
                    try Flood(
                        request, to: port, trust: isEncrypted ? world.authority.pem : nil, bytesMax: Self.bytesEach)
                }
                var quiet = 0
                try await eventually("the gateway to read no more") {
                    let taken = try floods.reduce(0) { try $0 + $1.push() }
                    quiet = taken == 0 ? quiet + 1 : 0
                    return quiet == Self.quietRounds
                }
                let growth = try gateway.program.residentPeakMiB() - before
                #expect(growth < Self.growthMiBMax)
                print("\(Self.connections) connections that read nothing: \(growth) MiB")
                withExtendedLifetime(floods) {}
            }
        }
    }
}
