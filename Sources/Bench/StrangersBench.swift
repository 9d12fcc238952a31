import ArgumentParser
import CommandLine
import Encodings
import Foundation
import JSON
import NIOCore
import NIOPosix
import Signing

/// `carillon-bench strangers`: requests of an app's key, alone and beside many callers without a valid key.
struct StrangersBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "strangers", abstract: "Requests of an app's key, beside callers without a valid key.",
        discussion: HelpText.of(
            """
            Strangers keep so many connections busy, each with one request after the other: subscriptions of new and of \
            known tokens, to an app, to one whose wake-up is off and to apps that do not exist, reads of nodes, and invented keys. \
            Beside them, requests of another app's key come one at a time. What is printed is how long these take, with the \
            same requests beside nobody.

            The load generator is in this program, on the same processors. It fails if a request of the key is refused, or \
            takes half a second or longer (p99).
            """,
            examples: ["carillon-bench strangers", "carillon-bench strangers --strangers 500 --rounds 5 --json"]))

    @OptionGroup var options: BenchOptions
    @Option(help: ArgumentHelp("How many strangers.", valueName: "count")) var strangers = 2_000
    @Option(help: ArgumentHelp("How many requests of each kind are timed in a round.", valueName: "count"))
    var requests = 100
    @Option(help: ArgumentHelp("How many times both are run, in turn.", valueName: "count")) var rounds = 3

    private static let longest: Duration = .milliseconds(500)

    func validate() throws {
        guard (1...3_000).contains(strangers) else { throw ValidationError("--strangers takes 1 to 3000.") }
        guard (10...10_000).contains(requests) else { throw ValidationError("--requests takes 10 to 10000.") }
        guard (1...100).contains(rounds) else { throw ValidationError("--rounds takes 1 to 100.") }
    }

    func run() async throws {
        try await options.run(standIns: ["--sink", "--open-streams"], data: "strangers") { world in
            let figures = try await measure(world)
            if options.json { writeJSON(figures.json) } else { figures.write() }
            let slowest = figures.slowest
            guard slowest < Self.longest else {
                throw CommandFault(.failed, "a request of the key took \(slowest / .milliseconds(1)) ms (p99)")
            }
        }
    }

    private func measure(_ world: BenchWorld) async throws -> StrangersFigures {
        let client = try await StrangersFixture(world: world).fill()
        guard let url = URL(string: world.client.base), let host = url.host, let port = url.port else {
            throw CommandFault(.failed, "\(world.client.base) is not an address")
        }
        var figures = StrangersFigures(strangers: strangers)
        var progress = Progress("requests")
        // The strangers' threads are not those of the client whose requests are timed.
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        try await RequestLoad.over(strangers, to: host, port: port, on: group) { load in
            for round in 0..<rounds {
                for kind in StrangersFigures.Kind.allCases {
                    figures.add(try await time(kind, client, round), of: kind, beside: nil)
                }
                let (_, answers) = try await load.beside({ StrangersFixture.request($0) }) {
                    for kind in StrangersFigures.Kind.allCases {
                        figures.add(try await time(kind, client, round), of: kind, beside: strangers)
                    }
                }
                figures.add(answers)
                progress.show(Int64(round + 1), of: Int64(rounds), "rounds")
            }
        }
        progress.end()
        try await group.shutdownGracefully()
        return figures
    }

    /// The times of requests, one after the other. Refused ones throw.
    private func time(
        _ kind: StrangersFigures.Kind, _ client: GatewayClient, _ round: Int
    ) async throws -> [Duration] {
        let clock = ContinuousClock()
        var times: [Duration] = []
        for number in 0..<requests {
            let request = kind.request(round * requests + number)
            let start = clock.now
            _ = try await client.call(request.method, request.path, request.body.map { Array($0.utf8) })
            times.append(clock.now - start)
        }
        return times
    }
}

/// An app that strangers ask about, one whose wake-up is off, and another app with a key.
private struct StrangersFixture {
    let world: BenchWorld

    /// - Returns: a client with a key of the other app.
    func fill() async throws -> GatewayClient {
        try await world.fill()
        let client = world.client
        for slug in ["crowd", "off"] {
            try await client.send("POST", "/v1/apps", ["slug": .string(slug), "name": .string(slug)], as: .app)
        }
        for (method, path, body) in [
            ("PATCH", "/v1/apps/crowd", #"{"wakeup": {"enabled": true}}"#),
            ("PUT", "/v1/apps/crowd/rules", #"{"rules": {".read": "root.open == true"}}"#),
            ("PUT", "/base/crowd/open.json", "true"), ("PUT", "/base/crowd/news.json", Self.node),
            ("PUT", "/base/bench/news.json", Self.node),
        ] { _ = try await client.call(method, path, Array(body.utf8)) }
        for number in 0..<StrangersFigures.devices {
            let request = StrangersFigures.Kind.registration.request(number)
            _ = try await client.call(request.method, request.path, request.body.map { Array($0.utf8) })
        }
        let name = UUID().uuidString
        let made = try await client.call(
            "POST", BenchWorld.app + "/keys", Array(#"{"name": "\#(name)", "scopes": ["admin"]}"#.utf8))
        guard let key = try JSONReader.read(made.body).object?["key"]?.string else {
            throw CommandFault(.failed, "the gateway made no key")
        }
        return GatewayClient(base: client.base, key: key)
    }

    /// 40 kilobytes.
    private static let node =
        "{" + (0..<8).map { #""\#($0)":"\#(String(repeating: "x", count: 5_000))""# }.joined(separator: ",") + "}"

    /// The request of a stranger with a number.
    static func request(_ number: Int) -> ByteBuffer {
        switch number % 8 {
        case 0: write("PUT", "/base/nosuch/.wakeup/news?id=device-1")
        case 1: write("PUT", "/base/nosuch-\(number)/.wakeup/news?id=device-1")
        case 2: write("PUT", "/base/crowd/.wakeup/news?id=device-\(number % 1_000)")
        case 3: write("PUT", "/base/crowd/.wakeup/news?id=new-\(number)-\(Self.run)&mode=value")
        case 4: write("PUT", "/base/off/.wakeup/news?id=device-1")
        case 5: write("GET", "/base/crowd/news.json")
        case 6: write("GET", "/v1/apps/bench/devices", key: inventedKey(number))
        default: write("GET", "/base/nosuch/news.json", key: inventedKey(number))
        }
    }

    private static let run = UUID().uuidString

    private static func write(_ method: String, _ path: String, key: String? = nil) -> ByteBuffer {
        let authorization = key.map { "authorization: Bearer \($0)\r\n" } ?? ""
        return ByteBuffer(string: "\(method) \(path) HTTP/1.1\r\nhost: bench\r\n\(authorization)\r\n")
    }

    /// A key with the form and the checksum of those that the gateway makes.
    private static func inventedKey(_ number: Int) -> String {
        let prefix = "carillon_"
        let random = Hashes.sha256(Array("\(run) \(number)".utf8))
        let checksum = Hashes.sha256(Array(prefix.utf8) + random)[..<4]
        return prefix + String(decoding: Base64.urlEncode(random + checksum), as: UTF8.self)
    }
}

/// The times of a key's requests.
private struct StrangersFigures {
    static let devices = 100

    enum Kind: String, CaseIterable {
        case registration, message, list, node, health

        var title: String {
            switch self {
            case .registration: "registration"
            case .message: "direct message"
            case .list: "list of devices"
            case .node: "node of 40 kB"
            case .health: "/healthz"
            }
        }

        func request(_ number: Int) -> (method: String, path: String, body: String?) {
            let device = "phone-\(number % devices)"
            return switch self {
            case .registration:
                (
                    "PUT", "\(BenchWorld.app)/devices/\(device)",
                    #"{"provider": "fcm", "token": "token-of-\#(device)", "app_version": "\#(number)"}"#
                )
            case .message:
                (
                    "POST", "\(BenchWorld.app)/messages",
                    #"{"audience": {"installations": ["\#(device)"]}, "notification": {"body": "Noon"}}"#
                )
            case .list: ("GET", "\(BenchWorld.app)/devices?limit=20", nil)
            case .node: ("GET", "/base/bench/news.json", nil)
            case .health: ("GET", "/healthz", nil)
            }
        }
    }

    private let strangers: Int
    private var alone: [Kind: [Duration]] = [:]
    private var crowded: [Kind: [Duration]] = [:]
    private var answers: [RequestLoad.Figures] = []

    init(strangers: Int) { self.strangers = strangers }

    mutating func add(_ times: [Duration], of kind: Kind, beside strangers: Int?) {
        if strangers == nil { alone[kind, default: []] += times } else { crowded[kind, default: []] += times }
    }

    mutating func add(_ figures: RequestLoad.Figures) { answers.append(figures) }

    /// The largest p99 beside strangers.
    var slowest: Duration {
        Kind.allCases.compactMap { crowded[$0].map { Percentiles($0).value(at: 0.99) } }.max() ?? .zero
    }

    private var rows: [(kind: Kind, alone: Percentiles, crowded: Percentiles)] {
        Kind.allCases.compactMap { kind in
            guard let alone = alone[kind], let crowded = crowded[kind] else { return nil }
            return (kind, Percentiles(alone), Percentiles(crowded))
        }
    }

    func write() {
        Console.write("requests of an app's key, one at a time, in milliseconds")
        var table = TextTable("", "P50", "P99", "P50 BESIDE \(strangers) STRANGERS", "P99")
        for (kind, alone, crowded) in rows {
            let values = [alone, crowded].flatMap { [$0.value(at: 0.5), $0.value(at: 0.99)] }
            let texts = values.map { String(format: "%.1f", $0 / .milliseconds(1)) }
            table.add(kind.title, texts[0], texts[1], texts[2], texts[3])
        }
        table.write()
        if let all = answers.reduce(nil, { (sum: RequestLoad.Figures?, one) in sum.map { $0 + one } ?? one }) {
            let statuses = all.statuses.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
            Console.write(
                String(format: "strangers: %.0f answers a second, ", all.perSecond) + statuses.joined(separator: ", "))
        }
    }

    var json: JSONValue {
        func number(_ time: Duration) -> JSONValue {
            JSONNumber(time / .milliseconds(1)).map(JSONValue.number) ?? .null
        }
        var members = [JSONMember("strangers", .number(.whole(Int64(strangers))))]
        for (kind, alone, crowded) in rows {
            members.append(JSONMember(kind.rawValue + "_p99_ms", number(alone.value(at: 0.99))))
            members.append(JSONMember(kind.rawValue + "_crowded_p99_ms", number(crowded.value(at: 0.99))))
        }
        return .object(JSONObject(members))
    }
}
