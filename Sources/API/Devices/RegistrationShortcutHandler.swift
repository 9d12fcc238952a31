import NIOCore
import NIOHTTP1

/// Takes registrations out of a connection's requests that can be answered without a task.
///
/// Stands behind `RequestStallHandler`, and before the library's own handlers, which never hear of what is answered here. Answers
/// keep the order of their requests: a registration is taken only where all before it are answered, and what comes behind
/// it waits for its answer. A request that turns out to be for the others is handed on as it came.
/// Lives on the connection's event loop.
package final class RegistrationShortcutHandler: ChannelDuplexHandler {
    package typealias InboundIn = HTTPServerRequestPart
    package typealias InboundOut = HTTPServerRequestPart
    package typealias OutboundIn = HTTPServerResponsePart
    package typealias OutboundOut = HTTPServerResponsePart

    private enum Phase {
        /// What comes is handed on.
        case open
        /// A request that may be taken, as far as it came.
        case gathering(HTTPRequestHead, ByteBuffer?)
        /// It was taken, and has no answer yet.
        case waiting
    }

    /// What came behind a request that waits for its answer.
    private enum Buffered {
        case part(HTTPServerRequestPart)
        case event(Any)
        case error(any Error)
        case inputEnd(EventLoopPromise<Void>?)
    }

    private let shortcut: RegistrationShortcut
    private var phase = Phase.open
    /// Requests that were handed on, and have no answer yet.
    private var passedOn = 0
    /// No more than `RequestGate` lets through.
    private var buffered = CircularBuffer<Buffered>()
    /// nil: the connection is over.
    private var context: ChannelHandlerContext?

    package init(_ shortcut: RegistrationShortcut) { self.shortcut = shortcut }

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
            // Taken out, or it would be copied.
            phase = .open
            if var body {
                body.writeBuffer(&more)
                more = body
            }
            phase = .gathering(head, more)
        case (.gathering(let head, .some(let body)), .end(nil)):
            if let entry = shortcut.enter(head, body) { register(entry, context) } else { fallthrough }
        default:
            passOnGathered(context)
            passOn(part, context)
        }
    }

    /// Not of a client that asks and reads no answers, which the library has wait.
    private func mayTake(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) -> Bool {
        passedOn == 0 && context.channel.isWritable && shortcut.mayTake(head)
    }

    /// What did not come in one go is for the others, who watch how long it takes.
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
        // The connection's end would take the answer with it.
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
        // A refusal of the library's own answers no request.
        if case .end = unwrapOutboundIn(data), passedOn > 0 { passedOn -= 1 }
        context.write(data, promise: promise)
    }
}

extension RegistrationShortcutHandler {
    private func register(_ entry: RegistrationShortcut.Entry, _ context: ChannelHandlerContext) {
        phase = .waiting
        let loop = context.eventLoop
        let bound = NIOLoopBound(self, eventLoop: loop)
        shortcut.register(entry, on: loop) { reply in bound.value.answer(reply) }
    }

    private func answer(_ reply: RegistrationShortcut.Reply) {
        guard let context else { return }
        phase = .open
        context.write(wrapOutboundOut(.head(reply.head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(reply.body))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        if !buffered.isEmpty { release() }
    }

    /// Until one of them waits for its answer again, or none is left.
    private func release() {
        while let context, let next = buffered.popFirst() {
            if case .part(let part) = next { take(part, context) } else { pass(next, context) }
            if case .waiting = phase { return }
            // An end of the connection was among them.
            guard context.channel.isActive else { return forget() }
        }
        // They came in one go with what is behind them now.
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
