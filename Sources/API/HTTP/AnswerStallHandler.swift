import NIOCore

/// Closes a connection whose client takes nothing of what was written to it for `GatewayLimits.bodyPauseMax`.
///
/// Stands next to the socket and judges by bytes, so that one rule holds for every answer, and under TLS too. The kernel
/// takes bytes in pieces of up to 190 kB (`GatewayLimits.socketBufferBytes`): a client that reads less than about 3 kB a second
/// counts as reading nothing. Answers that the socket takes at once set no timer.
/// Lives on the connection's event loop.
package final class AnswerStallHandler: ChannelOutboundHandler {
    package typealias OutboundIn = IOData
    package typealias OutboundOut = IOData

    /// How often a connection whose answers wait is looked at within the pause: it is closed at most a sixtieth too late.
    private static let checksPerPause = 60

    private let pauseMax: Duration
    private let unsentBytes: (any Channel) -> Int
    /// Bytes that were written since the last look.
    private var written = 0
    /// Bytes that the socket had not taken at the last look.
    private var unsent = 0
    private var movedAt = NIODeadline.uptimeNanoseconds(0)
    /// nil: the socket took all that was written.
    private var check: Scheduled<Void>?

    /// - Parameter unsentBytes: how many bytes of what was written the socket has not taken.
    package init(
        pauseMax: Duration, unsentBytes: @escaping (any Channel) -> Int = AnswerStallHandler.unsentBytes
    ) {
        self.pauseMax = pauseMax
        self.unsentBytes = unsentBytes
    }

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        written += unwrapOutboundIn(data).readableBytes
        context.write(data, promise: promise)
    }

    package func flush(context: ChannelHandlerContext) {
        context.flush()
        guard check == nil else { return }
        note(unsentBytes(context.channel))
        guard unsent > 0 else { return }
        movedAt = context.eventLoop.now
        checkLater(context)
    }

    package func handlerRemoved(context: ChannelHandlerContext) { check?.cancel() }

    private func note(_ unsent: Int) {
        self.unsent = unsent
        written = 0
    }

    private func checkLater(_ context: ChannelHandlerContext) {
        let pause = TimeAmount(pauseMax / Self.checksPerPause)
        check = context.eventLoop.assumeIsolated().scheduleTask(in: pause) { [self] in
            check = nil
            let now = context.eventLoop.now
            let left = unsentBytes(context.channel)
            if left < unsent + written { movedAt = now }
            note(left)
            guard left > 0 else { return }
            if Duration(now - movedAt) < pauseMax { checkLater(context) } else { context.close(promise: nil) }
        }
    }

    package static func unsentBytes(_ channel: any Channel) -> Int {
        (try? channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
    }
}
