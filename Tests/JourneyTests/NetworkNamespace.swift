import Foundation
import Reactor
import Synchronization

/// A network namespace for a process, with two cables to this machine's network.
struct NetworkNamespace: Sendable {
    let name: String
    /// The way to providers and databases, until it is cut.
    let cable: NetworkCable
    /// The way to the process, and to everything that must stay within its reach.
    let portCable: NetworkCable

    /// The kernel requires an administrator's rights, which some containers lack.
    static let isPossible = (try? NetworkNamespace())?.remove() != nil
    static let whyNot = "this machine allows no network namespace (ip netns add)"

    static func within(_ body: (NetworkNamespace) async throws -> Void) async throws {
        let network = try NetworkNamespace()
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await body(network)) } catch { outcome = .failure(error) }
        network.remove()
        try outcome.get()
    }

    private init() throws {
        let mark = UUID().uuidString.prefix(6).lowercased()
        let name = "carillon-\(mark)"
        // Addresses that are reserved for network tests (RFC 2544), so that no real neighbour is hidden.
        let third = try Self.freeNumber()
        try NetworkCable.ip("netns", "add", name)
        do {
            self.name = name
            cable = try NetworkCable(into: name, "crl-\(mark)", net: "198.18.\(third)")
            portCable = try NetworkCable(into: name, "crd-\(mark)", net: "198.19.\(third)")
            try NetworkCable.ip("-n", name, "link", "set", "lo", "up")
        } catch {
            Self.remove(name)
            throw error
        }
    }

    /// The third number of addresses that no other namespace uses now, in this process or another.
    private static func freeNumber() throws -> UInt8 {
        for _ in 0..<1_000 {
            let number = UInt8.random(in: 0...255)
            guard given.withLock({ $0.insert(number).inserted }) else { continue }
            // A process can listen at any address of this machine.
            guard let address = SocketAddress(literal: "198.18.\(number).1", port: 0),
                let taken = try? ListeningSocket(binding: address)
            else { return number }
            taken.close()
        }
        throw NetworkCable.Refused(description: "all addresses for tests of networks are in use")
    }

    private static let given = Mutex<Set<UInt8>>([])

    /// Starts a process in this namespace. It keeps its id: `ip` becomes the process.
    func enter(_ process: Process) throws {
        guard let program = process.executableURL else {
            throw NetworkCable.Refused(description: "no program to start")
        }
        process.arguments = ["netns", "exec", name, program.path(percentEncoded: false)] + (process.arguments ?? [])
        process.executableURL = try NetworkCable.tool()
    }

    private func remove() { Self.remove(name) }

    /// The cables are removed with it.
    private static func remove(_ name: String) { try? NetworkCable.ip("netns", "del", name) }
}
