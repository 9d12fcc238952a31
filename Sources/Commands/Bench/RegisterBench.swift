import ArgumentParser
import Foundation
import JSON
import NIOCore

/// `carillon bench register`: registrations over HTTP, beside a route of the same server that does nothing.
struct RegisterBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "register", abstract: "Registrations over HTTP, beside an empty route of the same server.",
        discussion: HelpText.of(
            """
            Every registration is a PUT of its own, answered after its commit with PostgreSQL's default durability. Then \
            the same devices register again, as they do at each start of the app. The load generator is in this program, \
            on the same processors: what holds on another machine are the ratios.
            """,
            examples: ["carillon bench register", "carillon bench register --devices 300000 --connections 64 --json"]))

    @OptionGroup var options: BenchOptions
    @Option(help: ArgumentHelp("How many devices register in a round.", valueName: "count")) var devices = 100_000
    @Option(help: ArgumentHelp("How many requests are on their way at once.", valueName: "count")) var connections = 64
    @Option(help: ArgumentHelp("How many times each is run, in turn.", valueName: "count")) var rounds = 3

    func validate() throws {
        guard (1_000...10_000_000).contains(devices) else {
            throw ValidationError("--devices takes 1000 to 10000000.")
        }
        guard (1...1_000).contains(connections) else { throw ValidationError("--connections takes 1 to 1000.") }
        guard (1...100).contains(rounds) else { throw ValidationError("--rounds takes 1 to 100.") }
    }

    func run() async throws {
        try await options.run(data: "register") { world in try await measure(world) }
    }

    private func measure(_ world: BenchWorld) async throws {
        let base = world.client.base
        guard let url = URL(string: base), let host = url.host, let port = url.port else {
            throw CommandFault(.failed, "\(base) is no address")
        }
        let load = RequestLoad(host: host, port: port, connections: connections)
        let key = try text(ofFile: world.gateway.keyFile).filter { !$0.isNewline }
        try await world.furnish()
        // Devices that no earlier run knows.
        let run = UUID().uuidString.lowercased().filter { $0 != "-" }
        var figures = RegisterFigures(devices: devices, connections: connections)
        var progress = Progress("registrations")
        for round in 1...rounds {
            let name = run + String(format: "%02x", round)
            let registration: @Sendable (Int) -> ByteBuffer = { Self.registration($0, name, key) }
            var parts: [RegisterFigures.Part: RegisterFigures.Run] = [:]
            for part in RegisterFigures.Part.allCases {
                let before = try world.used()
                let load = try await load.run(devices) { part == .empty ? Self.empty : registration($0) }
                guard load.statuses == [part.status: devices] else {
                    throw CommandFault(.failed, "\(part.rawValue): the gateway answered \(load.statuses)")
                }
                parts[part] = RegisterFigures.Run(load: load, used: try world.used() - before)
            }
            figures.rounds.append(parts)
            progress.show(Int64(round), of: Int64(rounds), "rounds")
        }
        progress.end()
        figures.memoryBytesMax = world.memoryBytesMax
        if options.json { sayJSON(figures.json) } else { figures.say() }
    }

    private static let empty = ByteBuffer(string: "GET /healthz HTTP/1.1\r\nhost: bench\r\n\r\n")

    private static func registration(_ number: Int, _ run: String, _ key: String) -> ByteBuffer {
        // Tokens of APNs are hexadecimal digits, two for a byte, and of any length.
        let body =
            #"{"provider":"apns","topic":"\#(OwnStandIns.topic)","locale":"en-GB","tags":["news"],"#
            + #""token":"\#(run)\#(BroadcastGarden.token(number))"}"#
        return ByteBuffer(
            string: "PUT /v1/apps/bench/devices/\(run)-\(number) HTTP/1.1\r\nhost: bench\r\n"
                + "authorization: Bearer \(key)\r\ncontent-type: application/json\r\n"
                + "content-length: \(body.utf8.count)\r\n\r\n" + body)
    }
}
