import API
import HTTPTypes
import Hummingbird
import JSON
import Listener
import Logging
import Model
import NIOCore
import NIOEmbedded
import Testing

/// The gateway's work for one request is the processor time of the request's own task. It is compared with the time of
/// reading a megabyte of JSON in the same run on the same thread. Work that grows with the square of a body takes
/// thousands of times as much.
@Suite("The most expensive request of each endpoint", .timeLimit(.minutes(15)))
struct CostliestRequestTests {
    /// A busy machine may spoil one measurement, but not three.
    private static let attemptsMax = 3
    /// Above this ratio the request is too expensive on any machine: measuring again would take minutes.
    private static let hopeless = 10.0
    /// Each line of an import is answered like a request: so many lines may cost as much as reading a megabyte.
    private static let linesPerReading = 1_000

    @Test("exists for every endpoint with a body, and for no other endpoint")
    func places() {
        #expect(CostliestRequest.places.keys.sorted() == Endpoint.all.filter(\.takesBody).map(\.name).sorted())
    }

    @Test("costs no more than reading a few megabytes of JSON, with a body of one megabyte")
    func bodies() async throws {
        try await Self.measure(readingsMax: 10) { limits in
            var requests: [() -> CostliestRequest] = []
            // The values are made once, because these tests are not optimized.
            let values = CostliestValue.allCases.map { ($0, $0.json(bytes: limits.bodyBytesMax - 200)) }
            let lines = CostliestValue.allCases.map { ($0, $0.json(bytes: limits.lineBytesMax - 200)) }
            for endpoint in Endpoint.all where endpoint.takesBody {
                for place in CostliestRequest.places[endpoint.name] ?? [] {
                    for (value, json) in endpoint.body == .lines ? lines : values {
                        requests.append {
                            let line = Self.body(place, json) + [UInt8(ascii: "\n")]
                            var body: [UInt8] = []
                            repeat { body += line } while body.count + line.count <= limits.bodyBytesMax
                            return CostliestRequest(endpoint, "\(value) in \(place)", body: body)
                        }
                    }
                }
            }
            let others =
                CostliestRequest.messages(bytesMax: limits.bodyBytesMax)
                + CostliestRequest.imports(bytesMax: limits.batchBytesMax) + CostliestRequest.fullest()
            return requests + others.map { request in { request } }
        }
    }

    @Test("costs less than reading a megabyte of JSON, with a head of the largest size")
    func heads() async throws {
        try await Self.measure(readingsMax: 1) { limits in
            Endpoint.all.flatMap { CostliestRequest.heads($0, bytesMax: limits.headerBytesMax) }.map { head in { head }
            }
        }
    }

    private static func body(_ place: String, _ json: [UInt8]) -> [UInt8] {
        let mark = place.utf8.firstIndex(of: UInt8(ascii: "$")) ?? place.utf8.endIndex
        return Array(place.utf8[..<mark]) + json + Array(place.utf8[mark...].dropFirst())
    }

    private static func measure(
        readingsMax: Double, _ requests: (GatewayLimits) -> [() -> CostliestRequest]
    ) async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            try await world.expect(200, "PATCH", app, #"{"triggers": {"enabled": true, "allow": [".*"]}}"#)
            for (number, kind) in TokenKind.allCases.enumerated() {
                let body = GatewayWorld.registration(number, #", "kind": "\#(kind.name)""#)
                try await world.expect(201, "PUT", app + "/devices/phone", body)
            }
            let thread = try CountedThread()
            defer { thread.stop() }
            let bench = CostliestBench(world, thread)
            var reading = try await bench.reading()
            for make in requests(world.services.limits) {
                let request = make()
                let allowed = readingsMax + Double(request.lines) / Double(Self.linesPerReading)
                var readings = try await bench.time(of: request) / reading
                for _ in 1..<Self.attemptsMax where readings > allowed && readings < Self.hopeless * allowed {
                    reading = try await bench.reading()
                    readings = try await bench.time(of: request) / reading
                }
                #expect(
                    readings <= allowed,
                    "\(request.endpoint.name), \(request.name): costs as much as reading \(Int(readings)) megabytes")
            }
        }
    }
}

/// Calls the gateway's responder without a network, and measures the work.
private final class CostliestBench: Sendable {
    private let responder: GatewayResponder
    private let thread: CountedThread
    private let channel = NIOAsyncTestingChannel()
    private let megabyte = CostliestValue.members.json(bytes: 1 << 20)

    init(_ world: GatewayWorld, _ thread: CountedThread) {
        responder = GatewayResponder(world.services)
        self.thread = thread
    }

    /// The processor time of reading a megabyte of JSON.
    func reading() async throws -> Duration {
        try await thread.time { [megabyte] in _ = try JSONReader.read(megabyte) }
    }

    func time(of request: CostliestRequest) async throws -> Duration {
        try await thread.time { try await self.ask(request) }
    }

    private func ask(_ dear: CostliestRequest) async throws {
        var head = HTTPRequest(method: dear.endpoint.method, scheme: nil, authority: "gateway", path: dear.path)
        head.headerFields[.authorization] = "Bearer \(GatewayWorld.key)"
        head.headerFields[.contentLength] = String(dear.body.count)
        let body = RequestBody(buffer: ByteBuffer(bytes: dear.body))
        let source = ApplicationRequestContextSource(channel: channel, logger: Logger(label: "dearest"))
        let response = try await responder.respond(
            to: Request(head: head, body: body), context: GatewayContext(source: source))
        #expect(response.status.code < (dear.isTaken ? 300 : 500), "\(dear.endpoint.name), \(dear.name)")
        try await response.body.write(DroppingWriter())
    }
}

private struct DroppingWriter: ResponseBodyWriter {
    mutating func write(_ buffer: ByteBuffer) async throws {}
    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {}
}
