import Listener
import Logging
import NIOCore
import NIOHTTP1

/// Inserts our handlers at positions for which the library has no option, and bounds what the socket holds.
///
/// The order from the socket: the place, answer stalls, TLS, the gate, the parser, request stalls, the shortcut.
package final class ConnectionHandlerInstaller: ChannelInboundHandler, RemovableChannelHandler {
    package typealias InboundIn = NIOAny

    private let limits: GatewayLimits
    private let log: Logger
    private let places: ConnectionPlaces
    private let shortcut: RequestShortcut

    package init(limits: GatewayLimits, log: Logger, places: ConnectionPlaces, shortcut: RequestShortcut) {
        (self.limits, self.log, self.places, self.shortcut) = (limits, log, places, shortcut)
    }

    package func handlerAdded(context: ChannelHandlerContext) {
        let pipeline = context.pipeline.syncOperations
        let placeHandler = ConnectionPlaceHandler(places, context.channel)
        let stallHandler = RequestStallHandler(limits: limits, log: log, place: placeHandler.place)
        do {
            try pipeline.addHandler(placeHandler, position: .first)
            let parser = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            try pipeline.addHandler(stallHandler, position: .after(parser))
            try pipeline.addHandler(RequestShortcutHandler(shortcut), position: .after(stallHandler))
            try pipeline.addHandler(RequestGate(stallHandler), position: .before(parser))
            try pipeline.addHandler(AnswerStallHandler(pauseMax: limits.bodyPauseMax), position: .after(placeHandler))
            try boundBuffers(of: context.channel)
        } catch {
            // The connection is already gone.
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
