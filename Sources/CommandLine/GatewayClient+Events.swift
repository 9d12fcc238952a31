import AsyncHTTPClient
import NIOCore

extension GatewayClient {
    enum StreamEnd: Equatable {
        case finished
        case cutOff
        /// The gateway serves no events: it is older, or has no stream left for us.
        case notServed
    }

    /// Longer than a gateway is ever silent on a stream. After this time the connection is taken for dead.
    private static let silenceMax: TimeAmount = .seconds(45)
    private var streaming: HTTPClient {
        var configuration = Self.configuration
        configuration.timeout.read = Self.silenceMax
        return Self.client(configuration, hosts: hosts)
    }

    /// Follows a stream until `event` returns false.
    ///
    /// - Parameters:
    ///   - lastID: the id of the last event received; empty: there was none.
    ///   - heartbeat: called now and then while nothing happens.
    func events(
        _ path: String, after lastID: String, heartbeat: () -> Void, event: (ServerSentEvent) throws -> Bool
    ) async throws -> StreamEnd {
        var request = request("GET", path)
        request.headers.add(name: "accept", value: "text/event-stream")
        if !lastID.isEmpty { request.headers.add(name: "last-event-id", value: lastID) }
        let whole = request
        let response = try await reaching { try await streaming.execute(whole, deadline: .distantFuture) }
        let status = Int(response.status.code)
        guard status == 200 else {
            let body = try await reaching { try await response.body.collect(upTo: Self.answerBytesMax) }
            // 501: an older gateway. 429, or 503 with `overloaded`: the gateway has no stream left.
            if status == 501 || status == 429 { return .notServed }
            let fault = CommandFault(status: status, body: Array(body.readableBytesView))
            if fault.code == "overloaded" { return .notServed }
            throw fault
        }
        guard response.headers.first(name: "content-type")?.hasPrefix("text/event-stream") == true else {
            return .notServed
        }
        var parser = ServerSentEvents()
        var chunks = response.body.makeAsyncIterator()
        while true {
            let chunk: ByteBuffer?
            do { chunk = try await chunks.next() } catch is CancellationError { throw CancellationError() } catch {
                return .cutOff
            }
            guard let chunk else { return .cutOff }
            let heartbeats = parser.heartbeats
            let events: [ServerSentEvent]
            do { events = try parser.take(chunk.readableBytesView) } catch {
                throw CommandFault(.refused, "the gateway answered with an event that is too large")
            }
            if parser.heartbeats > heartbeats { heartbeat() }
            for next in events where try !event(next) { return .finished }
        }
    }
}
