import Basis
import JSON
import Reactor
import Simulator
import TLS
import TestSupport

/// An APNs server in the test's process, over real TLS.
struct StandIn: Sendable {
    let simulator: ProviderSimulator
    let url: String
    private let port: UInt16

    /// The unusual traits of a stand-in.
    struct Traits: Sendable {
        /// A small limit, so that a broadcast lasts long enough to have a middle.
        var streamLimit: UInt32 = 1_000
        /// Revoked certificates, by their SHA-256.
        var revokedCertificates: [[UInt8]] = []
        /// Addresses of this machine at which other networks reach it. Empty: only localhost.
        var addresses: [String] = []
        /// Whether it returns to the same port after a restart.
        var keepsItsPort = false
    }

    init(
        _ authority: CertificateAuthority, _ traits: Traits = Traits(),
        environment: APNsSimulatorSettings.Environment = .production
    ) async throws {
        let identity = try authority.issue(
            CertificateSubject(commonName: "localhost"),
            names: ["localhost", "127.0.0.1"] + traits.addresses,
            validity: .days(2, from: Clocks.wallNow()))
        var settings = APNsSimulatorSettings(identity: identity)
        if !traits.addresses.isEmpty { settings.common.reach = .everyone }
        if traits.keepsItsPort { settings.common.port = Self.freePort() }
        settings.environment = environment
        settings.streamLimit = traits.streamLimit
        settings.revokedCertificates = traits.revokedCertificates
        simulator = try ProviderSimulator(settings)
        let port = try await simulator.start()
        self.port = port
        url = "https://\(traits.addresses.first ?? "localhost"):\(port)"
    }

    /// The same stand-in, for a network that reaches it at this address.
    func url(at address: String) -> String { "https://\(address):\(port)" }

    /// A free port for a server that is stopped and started again there.
    ///
    /// The kernel assigns higher ports by itself, so that no other process gets this one in between.
    static func freePort() -> UInt16 {
        while true {
            let port = UInt16.random(in: 20_000..<32_000)
            guard let socket = try? ListeningSocket(binding: SocketAddress(loopbackPort: port)) else { continue }
            socket.close()
            return port
        }
    }

    /// Stops as a machine that loses its power does: without a GOAWAY, and with its port closed.
    func die() async {
        await simulator.dropConnections()
        await simulator.stop()
    }

    func receipts(of devices: [Device], raisedBy increment: Int = 1) async throws -> Receipts {
        try await simulator.receipts(of: devices, raisedBy: increment)
    }

    /// Waits until this many pushes were accepted.
    func accepted(atLeast count: Int) async throws {
        try await eventually("\(count) pushes at the stand-in") { await simulator.summary().accepted >= count }
    }
}

/// The receipts of one message by its devices.
struct Receipts: Equatable {
    var reached = 0
    var missing = 0
    /// Pushes beyond the first that one device received.
    var repeats = 0
    var wrongBadges = 0
    /// Devices that got the same message under several ids, or with no id.
    var severalIDs = 0

    /// Every device once, and everything correct.
    static func onceEach(_ count: Int) -> Receipts { Receipts(reached: count) }

    /// The same without repeats, which P4 allows.
    var withoutRepeats: Receipts {
        var receipts = self
        receipts.repeats = 0
        return receipts
    }
}

extension ProviderSimulator {
    /// One call to the actor for all of them.
    fileprivate func receipts(of devices: [Device], raisedBy increment: Int) throws -> Receipts {
        var receipts = Receipts()
        for device in devices {
            let pushes = received(device.deviceToken).filter { $0.reason == nil }
            guard let first = pushes.first else {
                receipts.missing += 1
                continue
            }
            receipts.reached += 1
            receipts.repeats += pushes.count - 1
            if first.apnsID.isEmpty || pushes.contains(where: { $0.apnsID != first.apnsID }) {
                receipts.severalIDs += 1
            }
            let badges = try pushes.map { try $0.badge() }
            if badges.contains(where: { $0 != device.badge + increment }) { receipts.wrongBadges += 1 }
        }
        return receipts
    }

    /// The times at which accepted pushes arrived, sorted.
    func arrivals(of devices: [Device]) -> [WallInstant] {
        devices.flatMap { received($0.deviceToken).filter { $0.reason == nil }.map(\.arrivedAt) }.sorted()
    }
}

extension ReceivedPush {
    func badge() throws -> Int? {
        let badge = try JSONReader.read(body).object?["aps"]?.object?["badge"]?.integer
        return badge.map { Int($0) }
    }
}
