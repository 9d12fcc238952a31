import HTTPTypes
import Hummingbird
import JSON
import Listener
import Model
import NIOCore
import Postgres

extension Response {
    init(_ answer: Answer) {
        let body = answer.body.isEmpty ? ResponseBody() : ResponseBody(byteBuffer: ByteBuffer(bytes: answer.body))
        self.init(status: answer.status, headers: answer.fields, body: body)
    }

    /// - Parameter share: given back once the client has read all but a last piece.
    init(_ answer: Answer, holding share: BudgetShare?, on channel: any Channel) {
        guard let share else {
            self.init(answer)
            return
        }
        self.init(
            status: answer.status, headers: answer.fields,
            body: ResponseBody(contentLength: answer.body.count) { writer in
                defer { share.giveBack() }
                var sink = writer
                var rest = ByteBuffer(bytes: answer.body)
                while let piece = rest.readSlice(length: min(rest.readableBytes, Self.pieceBytes)),
                    piece.readableBytes > 0
                {
                    try await sink.write(piece)
                    // Once the event loop has the piece, the next write waits if the socket did not take it.
                    try await channel.eventLoop.submit {}.get()
                }
                try await sink.finish(nil)
            })
    }

    private static let pieceBytes = 64 << 10

    /// Makes a response that announces the step once the socket has the answer.
    init(_ answer: Answer, announcing step: Step, to steps: any StepListener, on channel: any Channel) {
        self.init(
            status: answer.status, headers: answer.fields,
            body: ResponseBody(contentLength: answer.body.count) { writer in
                var sink = writer
                try await sink.write(ByteBuffer(bytes: answer.body))
                try await sink.finish(nil)
                // Writes reach the event loop in order: once it runs this task, it has handed them to the socket.
                try await channel.eventLoop.submit {}.get()
                steps.reached(step)
            })
    }
}

extension Response {
    init(_ stream: AnswerStream, on channel: any Channel, linger: Duration) {
        // The stream runs after the request was handled, and still counts for its caller.
        let share = PoolShare.current
        self.init(
            status: .ok, headers: stream.headers,
            body: ResponseBody { writer in
                var sink = writer
                let isWhole = try await PoolShare.$current.withValue(share) {
                    try await stream.run { try await sink.write(ByteBuffer(bytes: $0)) }
                }
                try await sink.finish(nil)
                if !isWhole { Self.hangUp(on: channel, after: linger) }
            })
    }

    /// Ends the connection with this answer: the rest of the request is not wanted, and may have no end.
    func hangingUp(on channel: any Channel, after linger: Duration) -> Response {
        let body = body
        var headers = headers
        headers[.connection] = "close"
        let closing = ResponseBody(contentLength: body.contentLength) { writer in
            try await body.write(writer)
            Self.hangUp(on: channel, after: linger)
        }
        return Response(status: status, headers: headers, body: closing)
    }

    static func hangUp(on channel: any Channel, after linger: Duration) {
        channel.eventLoop.scheduleTask(in: TimeAmount(linger)) { channel.close(promise: nil) }
    }
}

extension Answer {
    fileprivate var fields: HTTPFields {
        var fields = HTTPFields()
        if !body.isEmpty { fields[.contentType] = contentType }
        for header in headers { fields[header.name] = header.value }
        return fields
    }
}

extension HTTPField.Name {
    static let idempotencyKey = constant("Idempotency-Key")
    static let idempotencyReplayed = constant("Idempotency-Replayed")
    /// The value "no" asks nginx to forward each piece at once.
    static let accelBuffering = constant("X-Accel-Buffering")

    private static func constant(_ name: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(name) else { preconditionFailure("a header's name is a token") }
        return name
    }
}

enum HealthAnswer {
    static let alive = status("alive")
    static let ready = status("ready")

    private static func status(_ name: String) -> [UInt8] { JSONWriter.body { $0.member("status", name) } }
}
