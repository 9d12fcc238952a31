import NIOCore

/// Closes a connection whose client has read nothing of a written answer for `GatewayLimits.bodyPauseMax`.
///
/// The handler stands next to the socket and counts bytes, so that one rule holds for every answer, under TLS too. The
/// kernel takes bytes in pieces of up to 190 kB (`GatewayLimits.socketBufferBytes`). A client that reads less than
/// about 3 kB a second therefore counts as reading nothing. Answers that the socket takes at once set no timer.
/// The handler lives on the connection's event loop.
package final class AnswerStallHandler: ChannelOutboundHandler {
    package typealias OutboundIn = IOData
    package typealias OutboundOut = IOData

    /// The number of checks of a connection with unsent bytes within a pause: it is closed at most a sixtieth too late.
    private static let checksPerPause = 60

    private let pauseMax: Duration
    private let unsentBytes: (any Channel) -> Int
    /// Bytes that were written since the last check.
    private var written = 0
    /// Bytes that the socket had not taken at the last check.
    private var unsent = 0
    private var movedAt = NIODeadline.uptimeNanoseconds(0)
    /// The next check; nil while the socket has taken all that was written.
    private var check: Scheduled<Void>?

    /// - Parameter unsentBytes: returns how many written bytes the socket has not taken.
    package init(pauseMax: Duration, unsentBytes: @escaping (any Channel) -> Int = AnswerStallHandler.unsentBytes) {
        (self.pauseMax, self.unsentBytes) = (pauseMax, unsentBytes)
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
