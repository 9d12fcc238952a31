import Foundation

/// A network of its own for a process, and a cable from it to this machine's, which can be pulled: what is sent from then
/// on is lost without a word to either end. PostgreSQL's socket is a file, and stays within reach.
struct NetworkNamespace: Sendable {
    let name: String
    /// This machine's end of the cable.
    let outside: String
    /// The other one.
    let inside: String
    private let cable: String

    /// The kernel asks for an administrator, and some containers have none.
    static let isPossible = (try? NetworkNamespace())?.remove() != nil
    static let whyNot = "this machine lets nobody make a network namespace (ip netns add)"

    static func within(_ body: (NetworkNamespace) async throws -> Void) async throws {
        let network = try NetworkNamespace()
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await body(network)) } catch { outcome = .failure(error) }
        network.remove()
        try outcome.get()
    }

    private init() throws {
        let mark = UUID().uuidString.prefix(6).lowercased()
        // Of the addresses that are kept for tests of networks (RFC 2544), so that no neighbour is hidden.
        let net = "198.18.\(UInt8.random(in: 0...255))"
        name = "carillon-\(mark)"
        cable = "crl-\(mark)"
        outside = net + ".1"
        inside = net + ".2"
        try Self.ip("netns", "add", name)
        do {
            let farEnd = cable + "-in"
            try Self.ip("link", "add", cable, "type", "veth", "peer", "name", farEnd, "netns", name)
            try Self.ip("addr", "add", outside + "/30", "dev", cable)
            try Self.ip("link", "set", cable, "up")
            try Self.ip("-n", name, "addr", "add", inside + "/30", "dev", farEnd)
            try Self.ip("-n", name, "link", "set", farEnd, "up")
            try Self.ip("-n", name, "link", "set", "lo", "up")
        } catch {
            remove()
            throw error
        }
    }

    func cut() throws { try Self.ip("link", "set", cable, "down") }

    func mend() throws { try Self.ip("link", "set", cable, "up") }

    /// Has a process begin its life in here. It keeps its id: `ip` becomes it.
    func enter(_ process: Process) throws {
        guard let program = process.executableURL else { throw Refused(description: "no program to start") }
        process.arguments = ["netns", "exec", name, program.path(percentEncoded: false)] + (process.arguments ?? [])
        process.executableURL = try Self.tool()
    }

    /// The cable goes with it.
    private func remove() { try? Self.ip("netns", "del", name) }

    private struct Refused: Error, CustomStringConvertible { let description: String }

    private static func tool() throws -> URL {
        let places = ["/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip", "/bin/ip"]
        guard let place = places.first(where: FileManager.default.isExecutableFile) else {
            throw Refused(description: "there is no ip (iproute2)")
        }
        return URL(filePath: place)
    }

    private static func ip(_ arguments: String...) throws {
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
