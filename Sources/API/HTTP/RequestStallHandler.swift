import Logging
import NIOCore
import NIOHTTP1

/// Gives words to what the HTTP library refuses by itself, and an end to what stalls.
///
/// Stands right behind the library's parser. What can't be parsed the library answers with an empty 400, in its turn,
/// behind the answers to what was asked before: here that answer becomes a problem. A head that does not come to its
/// end, and a body that pauses, are refused in the same way, as if the parser had. Behind an answer that ends the
/// connection nothing more is read or written, so that no request gets two.
/// Lives on the connection's event loop.
package final class RequestStallHandler: ChannelDuplexHandler {
    package typealias InboundIn = HTTPServerRequestPart
    package typealias InboundOut = HTTPServerRequestPart
    package typealias OutboundIn = HTTPServerResponsePart
    package typealias OutboundOut = HTTPServerResponsePart

    /// Fired into the pipeline by whoever waited long enough for a body's end.
    struct BodyIsLate: Sendable {}
    /// Fired likewise by whoever is about to read a body: a client that waits to be asked for it is.
    struct BodyIsWanted: Sendable {}

    /// Of answers alone, so that the parser of requests never finds it.
    static let stalled = HTTPParserError.invalidStatus

    private let limits: GatewayLimits
    private let log: Logger
    /// Why nothing more is read; nil: it is.
    private var refusal: Problem?
    /// Bytes came, and not yet the end of the head that they begin.
    private var isInHead = false
    /// A head came, and not yet the end of its body.
    private(set) var isInBody = false
    /// Bytes of that body that are still to come; 0 also where its head does not say how many it has.
    private(set) var bodyBytesLeft = 0
    /// More of what the client sent is here, and stays unparsed until an answer is written: nothing is late.
    var isDelayed = false
    /// Its client waits with the body until it is asked for it (RFC 9110, section 10.1.1), or has heard the answer.
    private var delaysBody = false
    private var deadline: Scheduled<Void>?
    /// When something was asked or answered last.
    private var busyAt = NIODeadline.uptimeNanoseconds(0)
    private var idleCheck: Scheduled<Void>?
    private var requests = 0
    private var answers = 0
    /// Bytes that the parser was given and that belong to requests behind the one that is answered next, or to no part of
    /// a request yet.
    private var unansweredBytes = 0
    /// The answer on its way is the connection's last.
    private var isLast = false
    /// It has been written.
    private var isOver = false

    package init(limits: GatewayLimits, log: Logger) {
        self.limits = limits
        self.log = log
    }

    package func handlerAdded(context: ChannelHandlerContext) {
        busyAt = context.eventLoop.now
        checkIdle(after: limits.idleTimeout, context)
    }

    /// Heads that came and whose answers have not been written.
    var unanswered: Int { requests - answers }

    /// Nothing more of what comes is read.
    var isDone: Bool { refusal != nil || isOver }

    /// Whether the parser may have more: of the body that it is in, or else of another request.
    var hasRoom: Bool {
        (isInBody || unanswered < limits.unansweredRequestsMax) && unansweredBytes < limits.unansweredBytesMax
    }

    /// Before the parser has seen them.
    package func bytesCame(_ count: Int) {
        unansweredBytes += count
        if !isInBody { isInHead = true }
    }

    /// The bytes of the request that is answered next do not count: its reader bounds them.
    private func forgetBytesOfFirst() {
        if unanswered <= 1 { unansweredBytes = 0 }
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard refusal == nil, !isOver else { return }
        switch unwrapInboundIn(data) {
        case .head(var head):
            stopWaiting()
            isInHead = false
            if let fault = Self.fault(of: head) { return refuse(fault, .unknown, context) }
            requests += 1
            isInBody = true
            bodyBytesLeft = head.headers.first(name: "content-length").flatMap { Int($0) } ?? 0
            forgetBytesOfFirst()
            delaysBody = Self.waitsToBeAsked(head)
            guard head.version == .http1_0, !head.isKeepAlive else { break }
            // In that version the connection ends with the answer unless the client asks for more (RFC 9112, section
            // 9.3); the library behind here no longer knows of versions.
            head.headers.replaceOrAdd(name: "Connection", value: "close")
            return context.fireChannelRead(wrapInboundOut(.head(head)))
        case .body(let bytes):
            delaysBody = false
            bodyBytesLeft = max(0, bodyBytesLeft - bytes.readableBytes)
            forgetBytesOfFirst()
        case .end:
            stopWaiting()
            bodyBytesLeft = 0
            forgetBytesOfFirst()
            isInHead = false
            isInBody = false
            delaysBody = false
        }
        context.fireChannelRead(data)
    }

    /// A request that came in one go needs no timer.
    package func channelReadComplete(context: ChannelHandlerContext) {
        if refusal == nil, !isOver {
            if isDelayed {
                stopWaiting()
            } else if isInBody {
                stopWaiting()
                wait(limits.bodyPauseMax, context)
            } else if isInHead, deadline == nil {
                // From its first byte: one that trickles gains no time by it.
                wait(limits.headTimeout, context)
            }
        }
        context.fireChannelReadComplete()
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let error = error as? HTTPParserError else { return context.fireErrorCaught(error) }
        refuse(Problem(unreadable: error, limits), error, context)
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case is BodyIsLate: refuse(Problem(unreadable: Self.stalled, limits), Self.stalled, context)
        case is BodyIsWanted: askForBody(context)
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard !isOver else {
            promise?.succeed()
            return
        }
        switch unwrapOutboundIn(data) {
        case .head(var head):
            if let refusal, head.status == .badRequest, !head.headers.contains(name: "content-type") {
                return write(refusal, context, promise)
            }
            if refusal != nil, isInBody, answers + 1 == requests {
                head.headers.replaceOrAdd(name: "Connection", value: "close")
            }
            isLast = head.headers[canonicalForm: "connection"].contains("close")
            return context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .body: break
        case .end:
            answers += 1
            forgetBytesOfFirst()
            busyAt = context.eventLoop.now
            if isLast { end(context) }
        }
        context.write(data, promise: promise)
    }

    package func channelInactive(context: ChannelHandlerContext) {
        stopWaiting()
        idleCheck?.cancel()
        context.fireChannelInactive()
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        stopWaiting()
        idleCheck?.cancel()
    }
}

extension RequestStallHandler {
    /// RFC 9112, sections 3.2 and 6.1. Two programs that read a head differently are how requests get smuggled.
    private static func fault(of head: HTTPRequestHead) -> Problem? {
        let hosts = head.headers["host"].count
        guard hosts == 1 || (hosts == 0 && head.version != .http1_1) else {
            return Problem(.malformedRequest, "A request of HTTP/1.1 has the header Host, once.")
        }
        let encodings = head.headers[canonicalForm: "transfer-encoding"]
        guard encodings.allSatisfy({ $0.lowercased() == "chunked" }) else {
            return Problem(.malformedRequest, "Transfer-Encoding can only be chunked here.")
        }
        guard encodings.isEmpty || head.version == .http1_1 else {
            return Problem(
                .malformedRequest,
                "HTTP/1.0 has no Transfer-Encoding: a program in between may have read another end of this request. "
                    + "Send it as HTTP/1.1, or with Content-Length.")
        }
        return nil
    }

    /// What HTTP/1.0 expects is to be ignored.
    private static func waitsToBeAsked(_ head: HTTPRequestHead) -> Bool {
        head.version == .http1_1
            && head.headers[canonicalForm: "expect"].contains { $0.lowercased() == Incoming.bodyAfterAsking }
    }

    /// Once, and only about the request that is answered next.
    private func askForBody(_ context: ChannelHandlerContext) {
        guard delaysBody, refusal == nil, !isOver, answers + 1 == requests else { return }
        delaysBody = false
        context.writeAndFlush(
            wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .continue))), promise: nil)
    }

    private func wait(_ time: Duration, _ context: ChannelHandlerContext) {
        deadline = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(time)) { [self] in
            deadline = nil
            refuse(Problem(unreadable: Self.stalled, limits), Self.stalled, context)
        }
    }

    /// One on which nothing was asked for so long is closed, between two requests alone. Here, since the library's own check
    /// does not see what takes the shortcut. A check finds out when the next one is due: requests cost no timer.
    private func checkIdle(after time: Duration, _ context: ChannelHandlerContext) {
        idleCheck = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(time)) { [self] in
            // Whoever is asking has other times to keep, and these begin anew when it is looked at next. What is refused
            // and has its answers is not being asked.
            let isAsked = requests > answers || (refusal == nil && (isInHead || isInBody))
            let left = isAsked ? limits.idleTimeout : limits.idleTimeout - Duration(context.eventLoop.now - busyAt)
            if left > .zero { checkIdle(after: left, context) } else { context.close(promise: nil) }
        }
    }

    private func stopWaiting() {
        deadline?.cancel()
        deadline = nil
    }

    /// Nothing more is read; what waits for more hears of `error`, and whoever answers last says `problem`.
    private func refuse(_ problem: Problem, _ error: HTTPParserError, _ context: ChannelHandlerContext) {
        guard refusal == nil, !isOver else { return }
        stopWaiting()
        refusal = problem
        // Its request has its answer, and nobody waits for the rest.
        guard !isInBody || answers < requests else { return context.close(promise: nil) }
        log.debug("What came could not be read", metadata: ["code": "\(problem.code.rawValue)", "cause": "\(error)"])
        context.fireErrorCaught(error)
    }

    private func write(_ problem: Problem, _ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?) {
        let answer = Answer(problem)
        var headers = HTTPHeaders()
        headers.add(name: "Content-Type", value: answer.contentType)
        headers.add(name: "Content-Length", value: "\(answer.body.count)")
        headers.add(name: "Connection", value: "close")
        let status = HTTPResponseStatus(statusCode: problem.code.status)
        isLast = true
        context.write(
            wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: status, headers: headers))),
            promise: promise)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: answer.body)))), promise: nil)
    }

    private func end(_ context: ChannelHandlerContext) {
        isOver = true
        stopWaiting()
        // At once would be a reset where the client still sends, and would take the answer away.
        context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limits.lingerTime)) {
            context.close(promise: nil)
        }
    }
}

/// Puts our handlers into their places, which the library offers to nobody, and bounds what the socket holds.
///
/// From the socket: the watch over answers, TLS, the gate, the parser, the watch over requests, the shortcut.
package final class ConnectionHandlerInstaller: ChannelInboundHandler, RemovableChannelHandler {
    package typealias InboundIn = NIOAny

    private let limits: GatewayLimits
    private let log: Logger
    private let shortcut: RegistrationShortcut

    package init(limits: GatewayLimits, log: Logger, shortcut: RegistrationShortcut) {
        self.limits = limits
        self.log = log
        self.shortcut = shortcut
    }

    package func handlerAdded(context: ChannelHandlerContext) {
        let pipeline = context.pipeline.syncOperations
        let stallHandler = RequestStallHandler(limits: limits, log: log)
        do {
            let parser = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            try pipeline.addHandler(stallHandler, position: .after(parser))
            try pipeline.addHandler(RegistrationShortcutHandler(shortcut), position: .after(stallHandler))
            try pipeline.addHandler(RequestGate(stallHandler), position: .before(parser))
            try pipeline.addHandler(AnswerStallHandler(pauseMax: limits.bodyPauseMax), position: .first)
            try boundBuffers(of: context.channel)
        } catch {
            // The connection is gone already.
            context.close(promise: nil)
        }
    }

    private func boundBuffers(of channel: any Channel) throws {
        guard let options = channel.syncOptions else { return }
        try options.setOption(.maxMessagesPerRead, value: 1)
        try options.setOption(
            .recvAllocator,
            value: AdaptiveRecvByteBufferAllocator(
                minimum: limits.firstReadBytes, initial: limits.firstReadBytes, maximum: limits.readBytesMax))
        try options.setOption(
            .writeBufferWaterMark, value: .init(low: limits.unsentBytesMax / 2, high: limits.unsentBytesMax))
        for buffer in [NIOBSDSocket.Option.so_rcvbuf, .so_sndbuf] {
            try options.setOption(.socketOption(buffer), value: .init(limits.socketBufferBytes))
        }
    }
}
