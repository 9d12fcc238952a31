import Foundation

/// A cable between a network namespace and this machine. While it is pulled, packets are lost without an error at
/// either end.
struct NetworkCable: Sendable {
    /// The address of this machine's end.
    let outside: String
    /// The address of the namespace's end.
    let inside: String
    private let namespace: String
    private let name: String
    private var farEnd: String { name + "-in" }

    /// How the cable is broken.
    enum Break: Sendable, CaseIterable, CustomStringConvertible {
        case pulled
        /// Packets into the namespace are lost; packets out of it arrive.
        case wayInLost

        var description: String {
            switch self {
            case .pulled: "the cable is pulled"
            case .wayInLost: "incoming packets are lost"
            }
        }
    }

    /// An unused address: the other end drops packets to it.
    private static let unusedAddress = "02:00:00:00:00:01"

    /// - Parameter net: the first three numbers of both addresses.
    init(into namespace: String, _ name: String, net: String) throws {
        self.namespace = namespace
        self.name = name
        outside = net + ".1"
        inside = net + ".2"
        try Self.ip("link", "add", name, "type", "veth", "peer", "name", farEnd, "netns", namespace)
        try Self.ip("addr", "add", outside + "/30", "dev", name)
        try Self.ip("link", "set", name, "up")
        try Self.ip("-n", namespace, "addr", "add", inside + "/30", "dev", farEnd)
        try Self.ip("-n", namespace, "link", "set", farEnd, "up")
    }

    func cut(_ how: Break = .pulled) throws {
        switch how {
        case .pulled: try Self.ip("link", "set", name, "down")
        case .wayInLost:
            try Self.ip("neigh", "replace", inside, "lladdr", Self.unusedAddress, "nud", "permanent", "dev", name)
        }
    }

    func repair(_ how: Break = .pulled) throws {
        switch how {
        case .pulled: try Self.ip("link", "set", name, "up")
        case .wayInLost: try Self.ip("neigh", "del", inside, "dev", name)
        }
    }

    struct Refused: Error, CustomStringConvertible { let description: String }

    static func tool() throws -> URL {
        let places = ["/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip", "/bin/ip"]
        guard let place = places.first(where: FileManager.default.isExecutableFile) else {
            throw Refused(description: "the program ip (iproute2) is missing")
        }
        return URL(filePath: place)
    }

    static func ip(_ arguments: String...) throws {
        let process = Process()
        process.executableURL = try tool()
        process.arguments = arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Refused(description: "ip \(arguments.joined(separator: " ")) ended with \(process.terminationStatus)")
        }
    }
}
