import Foundation
import Reactor
import Synchronization

/// A network of its own for a process, and two cables from it to this machine's.
struct NetworkNamespace: Sendable {
    let name: String
    /// Where providers and databases are, until it is cut.
    let cable: NetworkCable
    /// Where the process listens, and where whatever shall stay within its reach is.
    let portCable: NetworkCable

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
        let name = "carillon-\(mark)"
        // Of the addresses that are kept for tests of networks (RFC 2544), so that no neighbour is hidden.
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

    /// The third number of addresses that no other namespace of this process has, nor of another one now.
    private static func freeNumber() throws -> UInt8 {
        for _ in 0..<1_000 {
            let number = UInt8.random(in: 0...255)
            guard given.withLock({ $0.insert(number).inserted }) else { continue }
            // An address that is this machine's can be listened at.
            guard let address = SocketAddress(literal: "198.18.\(number).1", port: 0),
                let taken = try? ListeningSocket(binding: address)
            else { return number }
            taken.close()
        }
        throw NetworkCable.Refused(description: "all addresses for tests of networks are in use")
    }

    private static let given = Mutex<Set<UInt8>>([])

    /// Has a process begin its life in here. It keeps its id: `ip` becomes it.
    func enter(_ process: Process) throws {
        guard let program = process.executableURL else {
            throw NetworkCable.Refused(description: "no program to start")
        }
        process.arguments = ["netns", "exec", name, program.path(percentEncoded: false)] + (process.arguments ?? [])
        process.executableURL = try NetworkCable.tool()
    }

    private func remove() { Self.remove(name) }

    /// The cables go with it.
    private static func remove(_ name: String) { try? NetworkCable.ip("netns", "del", name) }
}
