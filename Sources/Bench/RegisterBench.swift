import ArgumentParser
import CommandLine
import Foundation
import NIOCore

/// `carillon-bench register`: registrations over HTTP, beside a route of the same server that does nothing.
struct RegisterBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "register", abstract: "Registrations over HTTP, beside an empty route of the same server.",
        discussion: HelpText.of(
            """
            Every registration is a PUT of its own, answered after its commit with PostgreSQL's default durability. Then \
            the same devices register again, as they do at each start of the app. The load generator is in this program, \
            on the same processors: what holds on another machine are the ratios. Fewer connections make smaller batches, \
            which cost more each.
            """,
            examples: ["carillon-bench register", "carillon-bench register --devices 300000 --connections 256 --json"]))

    @OptionGroup var options: BenchOptions
    @Option(help: ArgumentHelp("How many devices register in a round.", valueName: "count")) var devices = 100_000
    @Option(help: ArgumentHelp("How many requests are on their way at once.", valueName: "count")) var connections = 512
    @Option(help: ArgumentHelp("How many times each is run, in turn.", valueName: "count")) var rounds = 5

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
            throw CommandFault(.failed, "\(base) is not an address")
        }
        let key = try text(ofFile: world.gateway.keyFile).filter { !$0.isNewline }
        try await world.fill()
        // Devices that no earlier run registered.
        let run = UUID().uuidString.lowercased().filter { $0 != "-" }
        var figures = RegisterFigures(devices: devices, connections: connections)
        var progress = Progress("registrations")
        try await RequestLoad.over(connections, to: host, port: port) { load in
            for round in 1...rounds {
                let name = run + String(format: "%02x", round)
                figures.rounds.append(try await measure(world, load, RegistrationTemplate(run: name, key: key)))
                progress.show(Int64(round), of: Int64(rounds), "rounds")
            }
        }
        progress.end()
        figures.memoryBytesMax = world.memoryBytesMax
        if options.json { writeJSON(figures.json) } else { figures.write() }
    }

    /// Measures in short batches, so that other work of the machine affects all three parts equally.
    private func measure(
        _ world: BenchWorld, _ load: RequestLoad, _ template: RegistrationTemplate
    ) async throws -> [RegisterFigures.Part: RegisterFigures.Run] {
        var parts: [RegisterFigures.Part: RegisterFigures.Run] = [:]
        // Large enough that the last requests of a batch, when connections fall idle, are a small part of it.
        let batch = max(5_000, 40 * connections)
        for start in stride(from: 0, to: devices, by: batch) {
            let numbers = start..<min(start + batch, devices)
            for part in RegisterFigures.Part.allCases {
                let (before, generator) = (try world.used(), ProcessUsage.own)
                let figures = try await load.run(numbers) { part == .empty ? Self.empty : template.request($0) }
                guard figures.statuses == [part.status: numbers.count] else {
                    throw CommandFault(.failed, "\(part.rawValue): the gateway answered \(figures.statuses)")
                }
                let run = RegisterFigures.Run(
                    load: figures, used: try world.used() - before, generator: ProcessUsage.own - generator)
                parts[part] = parts[part].map { $0 + run } ?? run
            }
        }
        return parts
    }

    private static let empty = ByteBuffer(string: "GET /healthz HTTP/1.1\r\nhost: bench\r\n\r\n")
}

/// The bytes of a registration, with places for the device's number. Little is computed per request, because a load
/// generator's processor time is taken from the gateway.
private struct RegistrationTemplate: Sendable {
    private static let digits = 16
    private let bytes: [UInt8]
    private let places: [Int]

    /// - Parameter run: hexadecimal digits that no earlier registration has.
    init(run: String, key: String) {
        let placeholder = String(repeating: "0", count: Self.digits)
        // Has the length of Apple's tokens: 32 bytes, as hexadecimal digits.
        let token = (run + String(repeating: "0", count: 64)).prefix(64 - Self.digits) + placeholder
        let start =
            #"{"provider":"apns","topic":"\#(OwnStandIns.topic)","locale":"en-GB","tags":["news"],"token":"\#(token)"#
        let body = start + #""}"#
        let path = "PUT /v1/apps/bench/devices/\(run)-\(placeholder)"
        let head =
            path + " HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer \(key)\r\ncontent-type: application/json\r\n"
            + "content-length: \(body.utf8.count)\r\n\r\n"
        bytes = Array((head + body).utf8)
        places = [path.utf8.count - Self.digits, head.utf8.count + start.utf8.count - Self.digits]
    }

    func request(_ number: Int) -> ByteBuffer {
        var request = bytes
        var remaining = number
        for digit in stride(from: Self.digits - 1, through: 0, by: -1) {
            let letter = UInt8(ascii: "0") + UInt8(remaining % 10)
            for place in places { request[place + digit] = letter }
            remaining /= 10
        }
        return ByteBuffer(bytes: request)
    }
}
