import AsyncHTTPClient
import NIOCore

extension GatewayClient {
    /// How a stream of events ended.
    enum StreamEnd: Equatable {
        /// Whoever heard them had enough.
        case finished
        /// It ended, or its connection broke, without the last event.
        case cutOff
        /// No events are served there: an older gateway, or one that has no stream left for us.
        case notServed
    }

    /// Longer than a gateway is ever silent on a stream: its connection leads nowhere any more.
    private static let silenceMax: TimeAmount = .seconds(45)
    private static let streaming: HTTPClient = {
        var configuration = Self.configuration
        configuration.timeout.read = silenceMax
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

    /// Follows a stream until `event` returns false.
    ///
    /// - Parameters:
    ///   - lastID: of the event that was heard last; empty: none was.
    ///   - beat: called now and then while nothing happens.
    func events(
        _ path: String, after lastID: String, heartbeat: () -> Void, event: (ServerSentEvent) throws -> Bool
    ) async throws -> StreamEnd {
        var request = request("GET", path)
        request.headers.add(name: "accept", value: "text/event-stream")
        if !lastID.isEmpty { request.headers.add(name: "last-event-id", value: lastID) }
        let whole = request
        let response = try await reaching { try await Self.streaming.execute(whole, deadline: .distantFuture) }
        let status = Int(response.status.code)
        guard status == 200 else {
            let body = try await reaching { try await response.body.collect(upTo: Self.answerBytesMax) }
            // 501: an older gateway. 429, 503 overloaded: as many streams as there may be.
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
                throw CommandFault(.refused, "the gateway answered with an event that is too large for one")
            }
            if parser.heartbeats > heartbeats { heartbeat() }
            for next in events where try !event(next) { return .finished }
        }
    }
}
