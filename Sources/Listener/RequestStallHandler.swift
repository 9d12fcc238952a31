import Logging
import NIOCore
import NIOHTTP1
import Requests

/// Writes problems in place of the HTTP library's own refusals, and ends requests that stall.
///
/// The handler stands right behind the library's parser. The library answers an unparsable request with an empty 400,
/// after the answers to earlier requests. This handler turns that answer into a problem. A head that does not end, and
/// a body that pauses, are refused in the same way, as if the parser had refused them. After an answer that ends the
/// connection nothing more is read or written, so that no request gets two answers.
/// The handler lives on the connection's event loop.
package final class RequestStallHandler: ChannelDuplexHandler {
    package typealias InboundIn = HTTPServerRequestPart
    package typealias InboundOut = HTTPServerRequestPart
    package typealias OutboundIn = HTTPServerResponsePart
    package typealias OutboundOut = HTTPServerResponsePart

    /// Fired into the pipeline when a body was not complete in time (`BodyDeadlines`).
    struct BodyIsLate: Sendable {}
    /// Fired when a handler is about to read a body: the client that waits to be asked for it is asked.
    package struct BodyIsWanted: Sendable {
        package init() {}
    }

    /// The only supported expectation, in lower case.
    package static let bodyAfterAsking = "100-continue"

    /// The error for a stall. Only parsers of responses throw it, so that the parser of requests never does.
    static let stalled = HTTPParserError.invalidStatus

    private let limits: GatewayLimits
    private let log: Logger
    private let place: ConnectionPlace
    /// The reason why nothing more is read; nil while input is read.
    private var refusal: Problem?
    /// Whether bytes of a head came, but not yet its end.
    private var isInHead = false
    /// Whether a head came, but not yet the end of its body.
    private(set) var isInBody = false
    /// Bytes of that body that are still to come; 0 also if its head declares no length.
    private(set) var bodyBytesLeft = 0
    /// Whether more of the client's bytes wait unparsed until an answer is written. Then nothing is late.
    var isDelayed = false
    /// Whether the client sends the body only when asked for it (RFC 9110, section 10.1.1), or after the answer.
    private var delaysBody = false
    private var deadline: Scheduled<Void>?
    /// The time of the last answer, or of the connection's start.
    private var busyAt = NIODeadline.uptimeNanoseconds(0)
    private var idleCheck: Scheduled<Void>?
    private var requests = 0
    private var answers = 0
    /// Unanswered requests in HTTP/1.0, by number, and whether their client asked to keep the connection.
    private var oldRequests: [Int: Bool] = [:]
    /// Whether the answer that is being written ends with the connection, on an otherwise kept connection.
    private var isUnframed = false
    /// Parsed bytes of requests after the one that is answered next, or of no part of a request yet.
    private var unansweredBytes = 0
    private var isLast = false
    private var isOver = false

    package init(limits: GatewayLimits, log: Logger, place: ConnectionPlace) {
        (self.limits, self.log, self.place) = (limits, log, place)
    }

    package func handlerAdded(context: ChannelHandlerContext) {
        busyAt = context.eventLoop.now
        checkIdle(after: limits.idleTimeout, context)
    }

    /// The number of heads that came and whose answers were not written.
    var unanswered: Int { requests - answers }

    var isDone: Bool { refusal != nil || isOver }

    /// Whether the parser may have more bytes: of the current body, or of another request.
    var hasRoom: Bool {
        (isInBody || unanswered < limits.unansweredRequestsMax) && unansweredBytes < limits.unansweredBytesMax
    }

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
            place.requestCame()
            isInBody = true
            bodyBytesLeft = head.headers.first(name: "content-length").flatMap { Int($0) } ?? 0
            forgetBytesOfFirst()
            delaysBody = Self.waitsToBeAsked(head)
            guard head.version == .http1_0 else { break }
            oldRequests[requests] = head.isKeepAlive
            guard !head.isKeepAlive else { break }
            // In HTTP/1.0 the connection ends with the answer unless the client asks for more (RFC 9112, section 9.3).
            // The library behind this handler no longer knows the version.
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

    /// A request that came whole in one read needs no timer.
    package func channelReadComplete(context: ChannelHandlerContext) {
        if refusal == nil, !isOver {
            if isDelayed {
                stopWaiting()
            } else if isInBody {
                stopWaiting()
                wait(limits.bodyPauseMax, context)
            } else if isInHead, deadline == nil {
                // The time runs from the head's first byte: a client that sends slowly gains none.
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
            if let isKept = oldRequests.removeValue(forKey: answers + 1) { fit(&head, isKept: isKept) }
            isLast = head.headers[canonicalForm: "connection"].contains("close")
            return context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .body: break
        case .end:
            answers += 1
            forgetBytesOfFirst()
            busyAt = context.eventLoop.now
            if unanswered <= 0 { place.requestsEnded(at: busyAt) }
            guard isLast else { break }
            end(context)
            guard isUnframed else { break }
            context.writeAndFlush(data, promise: promise)
            return context.close(mode: .output, promise: nil)
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
    /// Refuses ambiguous heads, which allow smuggling (RFC 9112, sections 3.2 and 6.1).
    private static func fault(of head: HTTPRequestHead) -> Problem? {
        let hosts = head.headers["host"].count
        guard hosts == 1 || (hosts == 0 && head.version != .http1_1) else {
            return Problem(.malformedRequest, "An HTTP/1.1 request must have the header Host exactly once.")
        }
        let encodings = head.headers[canonicalForm: "transfer-encoding"]
        guard encodings.allSatisfy({ $0.lowercased() == "chunked" }) else {
            return Problem(.malformedRequest, "Transfer-Encoding may only be chunked.")
        }
        guard encodings.isEmpty || head.version == .http1_1 else {
            return Problem(
                .malformedRequest,
                "HTTP/1.0 has no Transfer-Encoding: a proxy may have read a different end of this request. "
                    + "Send it as HTTP/1.1, or with Content-Length.")
        }
        return nil
    }

    /// Whether the client waits for 100 Continue. HTTP/1.0 has no expectations: they are ignored.
    private static func waitsToBeAsked(_ head: HTTPRequestHead) -> Bool {
        head.version == .http1_1
            && head.headers[canonicalForm: "expect"].contains { $0.lowercased() == bodyAfterAsking }
    }

    /// Writes 100 Continue, once, and only for the request that is answered next.
    private func askForBody(_ context: ChannelHandlerContext) {
        guard delaysBody, refusal == nil, !isOver, answers + 1 == requests else { return }
        delaysBody = false
        context.writeAndFlush(
            wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .continue))), promise: nil)
    }

    /// Changes an answer's head so that a client of HTTP/1.0 finds the answer's end. That protocol has no chunks: an
    /// answer without a length ends with the connection (RFC 9112, sections 6.1 and 6.3).
    private func fit(_ head: inout HTTPResponseHead, isKept: Bool) {
        let isUnframed = !head.headers.contains(name: "content-length") && head.status.mayHaveResponseBody
        // The library's encoder cuts every answer in HTTP/1.1 without a length into chunks.
        if isUnframed { head.version = .http1_0 }
        let ends = isUnframed || !isKept || head.headers[canonicalForm: "connection"].contains("close")
        head.headers.replaceOrAdd(name: "Connection", value: ends ? "close" : "keep-alive")
        // The library ends the output of a connection only if its client did not ask to keep it.
        self.isUnframed = isUnframed && isKept
    }

    private func wait(_ time: Duration, _ context: ChannelHandlerContext) {
        deadline = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(time)) { [self] in
            deadline = nil
            refuse(Problem(unreadable: Self.stalled, limits), Self.stalled, context)
        }
    }

    /// Closes a connection that was idle for the timeout, and only between two requests. The library's own check does
    /// not see registrations on the shortcut. Each check computes when the next one is due: requests cost no timer.
    private func checkIdle(after time: Duration, _ context: ChannelHandlerContext) {
        idleCheck = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(time)) { [self] in
            // A request under way has timeouts of its own, so that its idle time begins anew. A refused request that
            // has its answer is no longer under way.
            let isAsked = requests > answers || (refusal == nil && (isInHead || isInBody))
            let left = isAsked ? limits.idleTimeout : limits.idleTimeout - Duration(context.eventLoop.now - busyAt)
            if left > .zero { checkIdle(after: left, context) } else { context.close(promise: nil) }
        }
    }

    private func stopWaiting() {
        deadline?.cancel()
        deadline = nil
    }

    /// Ends the reading. Readers that wait for more get `error`, and the last answer is `problem`.
    private func refuse(_ problem: Problem, _ error: HTTPParserError, _ context: ChannelHandlerContext) {
        guard refusal == nil, !isOver else { return }
        stopWaiting()
        refusal = problem
        // The request has its answer, and nothing waits for the rest of its body.
        guard !isInBody || answers < requests else { return context.close(promise: nil) }
        log.debug("What came could not be read", metadata: ["code": "\(problem.code.rawValue)", "cause": "\(error)"])
        context.fireErrorCaught(error)
    }

    private func write(_ problem: Problem, _ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?) {
        let body = problem.body
        var headers = HTTPHeaders()
        headers.add(name: "Content-Type", value: Problem.contentType)
        headers.add(name: "Content-Length", value: "\(body.count)")
        headers.add(name: "Connection", value: "close")
        let status = HTTPResponseStatus(statusCode: problem.code.status)
        isLast = true
        context.write(
            wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: status, headers: headers))),
            promise: promise)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))), promise: nil)
    }

    private func end(_ context: ChannelHandlerContext) {
        isOver = true
        stopWaiting()
        // Closing at once would reset a connection whose client still sends, and the client could lose the answer.
        context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limits.lingerTime)) {
            context.close(promise: nil)
        }
    }
}
