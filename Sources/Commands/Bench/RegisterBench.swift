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

    @Option(
        help: ArgumentHelp("Where everything lies that it makes.", valueName: "path"), completion: .directory)
    var folder = "data/bench"
    @Option(help: ArgumentHelp("How many devices register in a round.", valueName: "count")) var devices = 100_000
    @Option(help: ArgumentHelp("How many requests are on their way at once.", valueName: "count")) var connections = 64
    @Option(help: ArgumentHelp("How many times each is run, in turn.", valueName: "count")) var rounds = 3
    @Flag(help: "Prints the figures as JSON, for scripts.") var json = false

    func validate() throws {
        guard (1_000...10_000_000).contains(devices) else {
            throw ValidationError("--devices takes 1000 to 10000000.")
        }
        guard (1...1_000).contains(connections) else { throw ValidationError("--connections takes 1 to 1000.") }
        guard (1...100).contains(rounds) else { throw ValidationError("--rounds takes 1 to 100.") }
    }

    func run() async throws {
        try await orComplain(asJSON: json) {
            try await OwnFolder(path: folder).locked { folder in
                try await ChildPrograms.running { children in try await measure(folder, children) }
            }
        }
    }

    private func measure(_ folder: OwnFolder, _ children: ChildPrograms) async throws {
        let standIns = try await OwnStandIns(folder, children)
        let gateway = try await OwnGateway(folder, standIns, port: 0, children, data: "register")
        guard let url = URL(string: gateway.client.base), let host = url.host, let port = url.port else {
            throw CommandFault(.failed, "\(gateway.client.base) is no address")
        }
        let load = RequestLoad(host: host, port: port, connections: connections)
        let key = try text(ofFile: gateway.keyFile).filter { !$0.isNewline }
        try await gateway.client.send("POST", "/v1/apps", ["slug": "bench", "name": "Bench"])
        // Devices that no earlier run knows.
        let run = UUID().uuidString.lowercased().filter { $0 != "-" }
        var figures = RegisterFigures(devices: devices, connections: connections)
        var progress = Progress("registrations")
        for round in 1...rounds {
            let empty = try await load.run(devices) { _ in Self.empty }
            let name = run + String(format: "%02x", round)
            let registration: @Sendable (Int) -> ByteBuffer = { Self.registration($0, name, key) }
            let created = try await load.run(devices, registration)
            let again = try await load.run(devices, registration)
            guard empty.statuses == [200: devices], created.statuses == [201: devices],
                again.statuses == [200: devices]
            else {
                throw CommandFault(
                    .failed, "the gateway answered \(empty.statuses), \(created.statuses) and \(again.statuses)")
            }
            figures.rounds.append((empty, created, again))
            progress.show(Int64(round), of: Int64(rounds), "rounds")
        }
        progress.end()
        if json { sayJSON(figures.json) } else { figures.say() }
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

/// What several rounds gave; medians are shown.
private struct RegisterFigures {
    let devices: Int
    let connections: Int
    var rounds: [(empty: RequestLoad.Figures, created: RequestLoad.Figures, again: RequestLoad.Figures)] = []

    init(devices: Int, connections: Int) {
        self.devices = devices
        self.connections = connections
    }

    private func median(_ values: [Double]) -> Double {
        values.isEmpty ? 0 : values.sorted()[values.count / 2]
    }

    private var rates: (empty: Double, created: Double, again: Double) {
        (
            median(rounds.map(\.empty.perSecond)), median(rounds.map(\.created.perSecond)),
            median(rounds.map(\.again.perSecond))
        )
    }

    private var ratios: (created: Double, again: Double) {
        (
            median(rounds.map { $0.created.perSecond / $0.empty.perSecond }),
            median(rounds.map { $0.again.perSecond / $0.empty.perSecond })
        )
    }

    func say() {
        Console.say("\(devices) devices over \(connections) connections, \(rounds.count) rounds, medians")
        var table = TextTable("", "REQUESTS/S", "OF THE EMPTY ROUTE")
        func share(_ value: Double) -> String { String(format: "%.2f", value) }
        table.add("empty route", String(format: "%.0f", rates.empty), "1")
        table.add("new registrations", String(format: "%.0f", rates.created), share(ratios.created))
        table.add("the same again", String(format: "%.0f", rates.again), share(ratios.again))
        table.say()
    }

    var json: JSONValue {
        func number(_ value: Double) -> JSONValue { JSONNumber(value).map(JSONValue.number) ?? .null }
        return [
            "devices": .number(.whole(Int64(devices))), "connections": .number(.whole(Int64(connections))),
            "rounds": .number(.whole(Int64(rounds.count))), "empty_per_second": number(rates.empty),
            "created_per_second": number(rates.created), "again_per_second": number(rates.again),
            "created_ratio": number(ratios.created), "again_ratio": number(ratios.again),
        ]
    }
}
