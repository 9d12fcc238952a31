import Reactor
import Server
import Testing

@Suite("The address to listen on")
struct ListenAddressCheckTests {
    @Test("fails with a remedy while its port is taken, and succeeds once the port is free")
    func taken() throws {
        let other = try ListeningSocket(binding: SocketAddress(loopbackPort: 0))
        let listen = ListenAddress(host: "127.0.0.1", port: other.address.port)
        let fault = #expect(throws: StartFault.self) { try ListenAddressCheck.check(listen) }
        #expect(
            fault?.description == "port \(listen.port) on 127.0.0.1 is taken: another program listens there; stop it or"
                + " choose another with CARILLON_LISTEN")
        other.close()
        try ListenAddressCheck.check(listen)
    }

    @Test("fails with a readable message if it belongs to another machine")
    func foreign() throws {
        // An address for documentation only (RFC 5737), which no machine has.
        let fault = #expect(throws: StartFault.self) {
            try ListenAddressCheck.check(ListenAddress(host: "192.0.2.1", port: 8080))
        }
        #expect(
            fault?.description
                == "CARILLON_LISTEN: can't listen on 192.0.2.1:8080: Cannot assign requested address")
    }
}
