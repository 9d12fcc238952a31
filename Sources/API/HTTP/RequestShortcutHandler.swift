import NIOCore
import NIOHTTP1

/// Answers the usual small requests of a connection (`RequestShortcut`).
///
/// The handler stands behind `RequestStallHandler` and before the library's own handlers, which never see the requests
/// that are answered here. Answers keep the order of their requests: a request is taken only if all requests before it
/// are answered, and later input waits for its answer. A request that can't be answered here is handed on unchanged.
/// The handler lives on the connection's event loop.
package final class RequestShortcutHandler: ChannelDuplexHandler {
    package typealias InboundIn = HTTPServerRequestPart
    package typealias InboundOut = HTTPServerRequestPart
    package typealias OutboundIn = HTTPServerResponsePart
    package typealias OutboundOut = HTTPServerResponsePart

    private enum Phase {
        /// Input is handed on. → gathering
        case open
        /// A request that may be taken is collected, as far as it came. → waiting (taken), open (handed on)
        case gathering(HTTPRequestHead, ByteBuffer?)
        /// The request was taken, and has no answer yet. → open
        case waiting
    }

    private enum Buffered {
        case part(HTTPServerRequestPart)
        case event(Any)
        case error(any Error)
        case inputEnd(EventLoopPromise<Void>?)
    }

    private let shortcut: RequestShortcut
    private var phase = Phase.open
    /// The number of requests that were handed on and have no answer yet.
    private var passedOn = 0
    /// Holds no more than `RequestGate` lets through.
    private var buffered = CircularBuffer<Buffered>()
    private var context: ChannelHandlerContext?
    private var hasShownKey = false

    package init(_ shortcut: RequestShortcut) { self.shortcut = shortcut }

    package func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    package func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        forget()
    }

    private func forget() {
        while let next = buffered.popFirst() {
            if case .inputEnd(let promise) = next { promise?.fail(ChannelError.alreadyClosed) }
        }
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = unwrapInboundIn(data)
        if isHolding { buffered.append(.part(part)) } else { take(part, context) }
    }

    private var isHolding: Bool {
        if case .waiting = phase { true } else { !buffered.isEmpty }
    }

    private func take(_ part: HTTPServerRequestPart, _ context: ChannelHandlerContext) {
        switch (phase, part) {
        case (.open, .head(let head)) where mayTake(head, context): phase = .gathering(head, nil)
        case (.gathering(let head, let body), .body(var more)):
            // The phase must not hold the body too: the write below would copy it.
            phase = .open
            if var body {
                body.writeBuffer(&more)
                more = body
            }
            phase = .gathering(head, more)
        case (.gathering(let head, .some(let body)), .end(nil)):
            if let entry = shortcut.enter(head, body) { answer(entry, context) } else { fallthrough }
        default:
            passOnGathered(context)
            passOn(part, context)
        }
    }

    /// A client that reads no answers is left to the library, which makes it wait.
    private func mayTake(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) -> Bool {
        passedOn == 0 && context.channel.isWritable && shortcut.mayTake(head)
    }

    /// A request that did not come whole in one read is handed on: the next handlers limit its time.
    package func channelReadComplete(context: ChannelHandlerContext) {
        passOnGathered(context)
        context.fireChannelReadComplete()
    }

    private func passOnGathered(_ context: ChannelHandlerContext) {
        guard case .gathering(let head, let body) = phase else { return }
        phase = .open
        passOn(.head(head), context)
        if let body { passOn(.body(body), context) }
    }

    private func passOn(_ part: HTTPServerRequestPart, _ context: ChannelHandlerContext) {
        if case .head = part { passedOn += 1 }
        context.fireChannelRead(wrapInboundOut(part))
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        passOnGathered(context)
        // The connection's end must wait, or it would take the answer with it.
        if isHolding { buffered.append(.event(event)) } else { context.fireUserInboundEventTriggered(event) }
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        passOnGathered(context)
        if isHolding { buffered.append(.error(error)) } else { context.fireErrorCaught(error) }
    }

    package func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        if isHolding, mode == .input {
            buffered.append(.inputEnd(promise))
        } else {
            context.close(mode: mode, promise: promise)
        }
    }

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        // The library's own refusal answers no request.
        if case .end = unwrapOutboundIn(data), passedOn > 0 { passedOn -= 1 }
        context.write(data, promise: promise)
    }
}

extension RequestShortcutHandler {
    private func answer(_ entry: RequestShortcut.Entry, _ context: ChannelHandlerContext) {
        phase = .waiting
        if !hasShownKey {
            hasShownKey = true
            shortcut.keyWasShown(on: context.channel)
        }
        let loop = context.eventLoop
        let bound = NIOLoopBound(self, eventLoop: loop)
        shortcut.answer(entry, on: loop) { reply in bound.value.send(reply) }
    }

    private func send(_ reply: RequestShortcut.Reply) {
        guard let context else { return }
        phase = .open
        context.write(wrapOutboundOut(.head(reply.head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(reply.body))), promise: nil)
        let written = reply.answered.map { answered in
            let promise = context.eventLoop.makePromise(of: Void.self)
            promise.futureResult.whenSuccess(answered)
            return promise
        }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: written)
        if !buffered.isEmpty { release() }
    }

    /// Handles the buffered input, until a request waits for its answer again or none is left.
    private func release() {
        while let context, let next = buffered.popFirst() {
            if case .part(let part) = next { take(part, context) } else { pass(next, context) }
            if case .waiting = phase { return }
            // One of them ended the connection.
            guard context.channel.isActive else { return forget() }
        }
        // The parts just handed on need this call: the one of their own read has already passed.
        if let context { channelReadComplete(context: context) }
    }

    private func pass(_ buffered: Buffered, _ context: ChannelHandlerContext) {
        passOnGathered(context)
        switch buffered {
        case .part: break
        case .event(let event): context.fireUserInboundEventTriggered(event)
        case .error(let error): context.fireErrorCaught(error)
        case .inputEnd(let promise): context.close(mode: .input, promise: promise)
        }
    }
}
