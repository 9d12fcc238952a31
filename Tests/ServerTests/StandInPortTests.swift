import Reactor
import Server
import Testing

@Suite("The port of a simulator")
struct StandInPortTests {
    private static func opening(_ address: SocketAddress) async throws(StartFault) -> UInt16 {
        try await StandInPort.open(9443, chosenWith: "--fcm-port") { () async throws(ReactorError) in
            let socket = try ListeningSocket(binding: address)
            defer { socket.close() }
            return socket.address.port
        }
    }

    @Test("fails with a remedy while it is taken, and opens once it is free")
    func taken() async throws {
        let other = try ListeningSocket(binding: SocketAddress(loopbackPort: 0))
        let address = SocketAddress(loopbackPort: other.address.port)
        let fault = await #expect(throws: StartFault.self) { try await Self.opening(address) }
        #expect(
            fault?.description == "port 9443 is taken: another program listens there; stop it or choose another with"
                + " --fcm-port")
        other.close()
        #expect(try await Self.opening(address) == other.address.port)
    }

    @Test("fails with a readable message if its address belongs to another machine")
    func foreign() async throws {
        // An address for documentation only (RFC 5737), which no machine has.
        let address = try #require(SocketAddress(literal: "192.0.2.1", port: 9443))
        let fault = await #expect(throws: StartFault.self) { try await Self.opening(address) }
        #expect(fault?.description == "--fcm-port: can't listen on port 9443: Cannot assign requested address")
    }
}
