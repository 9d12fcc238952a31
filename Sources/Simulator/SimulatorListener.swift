import Reactor
import TLS

/// The stand-in's listener: accepts connections and owns the open ones. On the loop's thread only.
final class SimulatorListener {
    private let world: SimulatorWorld
    private let tls: TLSContext
    private var acceptor: Acceptor?
    private var connections: [Int: SimulatorConnection] = [:]
    private var port: UInt16 = 0
    private var lastNumber = 0

    init(_ world: SimulatorWorld) throws(TLSError) {
        self.world = world
        tls = try TLSContext.server(
            identity: world.settings.identity, alpn: ["h2", "http/1.1"],
            clientCertificates: world.settings.clientCertificates)
        world.listener = self
    }

    /// - Returns: the port; a second call returns the same one.
    func open() throws(ReactorError) -> UInt16 {
        guard acceptor == nil else { return port }
        let listening = try ListeningSocket(
            binding: world.settings.reach == .everyone
                ? SocketAddress(everyAddressPort: world.settings.port)
                : SocketAddress(loopbackPort: world.settings.port))
        port = listening.address.port
        acceptor = try Acceptor(listening, on: world.loop) { [weak self] socket in self?.serve(socket) }
        return port
    }

    func close() {
        acceptor?.close()
        acceptor = nil
        closeConnections(isAbrupt: false)
    }

    func closeConnections(isAbrupt: Bool) {
        for connection in openConnections { connection.close(isAbrupt: isAbrupt) }
    }

    var openConnections: [SimulatorConnection] { connections.keys.sorted().compactMap { connections[$0] } }

    private func serve(_ socket: StreamSocket) {
        guard connections.count < world.settings.connectionsMax || makeRoom() else { return socket.close() }
        lastNumber += 1
        let number = lastNumber
        do {
            connections[number] = try SimulatorConnection(number, socket, TLSSession(tls), world) { [weak self] in
                self?.forget($0.number)
            }
            world.summary.connectionsOpened += 1
            world.summary.connectionsOpen += 1
        } catch {
            // Out of memory or descriptors: the client can try again.
            socket.close()
        }
    }

    /// Closes the oldest connection that a script stalled. Its client may have left long ago, and the client that ends
    /// the script needs a place.
    private func makeRoom() -> Bool {
        guard let stalled = openConnections.first(where: \.isStalled) else { return false }
        stalled.close(isAbrupt: true)
        return true
    }

    private func forget(_ number: Int) {
        if connections.removeValue(forKey: number) != nil { world.summary.connectionsOpen -= 1 }
    }
}
