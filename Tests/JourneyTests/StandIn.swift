import Basis
import JSON
import Reactor
import Simulator
import TLS
import TestSupport

/// An APNs of the test's own, in this process, over real TLS.
struct StandIn: Sendable {
    let simulator: APNsSimulator
    let url: String
    private let port: UInt16

    /// What is not as usual about one.
    struct Traits: Sendable {
        /// Small: a broadcast takes long enough to have a middle.
        var streamLimit: UInt32 = 1_000
        /// By SHA-256.
        var revokedCertificates: [[UInt8]] = []
        /// Where it is reached from other networks: addresses of this machine. Empty: at localhost alone.
        var addresses: [String] = []
        /// It is found where it was after it has stopped and started again.
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
        if !traits.addresses.isEmpty { settings.reach = .everyone }
        if traits.keepsItsPort { settings.port = Self.freePort() }
        settings.environment = environment
        settings.streamLimit = traits.streamLimit
        settings.revokedCertificates = traits.revokedCertificates
        simulator = try APNsSimulator(settings)
        let port = try await simulator.start()
        self.port = port
        url = "https://\(traits.addresses.first ?? "localhost"):\(port)"
    }

    /// The same one, from a network that reaches it there.
    func url(at address: String) -> String { "https://\(address):\(port)" }

    /// A port that nobody listens at, for what is stopped and started again there.
    ///
    /// The kernel hands out higher ones by itself: no neighbour gets this one in between.
    static func freePort() -> UInt16 {
        while true {
            let port = UInt16.random(in: 20_000..<32_000)
            guard let socket = try? ListeningSocket(binding: SocketAddress(loopbackPort: port)) else { continue }
            socket.close()
            return port
        }
    }

    /// As a provider's machine does that loses its power: no goodbye, and nobody at the door.
    func die() async {
        await simulator.dropConnections()
        await simulator.stop()
    }

    func receipts(of devices: [Device], raisedBy increment: Int = 1) async throws -> Receipts {
        try await simulator.receipts(of: devices, raisedBy: increment)
    }

    /// Waits until so many pushes were accepted.
    func accepted(atLeast count: Int) async throws {
        try await eventually("\(count) pushes at the stand-in") { await simulator.summary().accepted >= count }
    }
}

/// What devices got of one message.
struct Receipts: Equatable {
    var reached = 0
    var missing = 0
    /// Pushes beyond the first that one device got.
    var repeats = 0
    var wrongBadges = 0
    /// Devices that got the same message under several ids, or with no id.
    var severalIDs = 0

    /// Everyone once, everything right.
    static func onceEach(_ count: Int) -> Receipts { Receipts(reached: count) }

    /// The same, but some may have got it again: what P4 allows.
    var withoutRepeats: Receipts {
        var receipts = self
        receipts.repeats = 0
        return receipts
    }
}

extension APNsSimulator {
    /// One hop for all of them.
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

    /// When the accepted pushes arrived, sorted.
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
