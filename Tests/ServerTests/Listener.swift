import NIOCore
import NIOPosix

/// A loopback port that sends the same bytes to every client and closes the connection.
struct Listener {
    private let channel: any Channel
    var port: Int { channel.localAddress?.port ?? 0 }

    init(reporting text: String = "") async throws {
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { $0.pipeline.addHandler(HangingUp(text: text)) }
            .bind(host: "127.0.0.1", port: 0).get()
    }

    func close() async throws { try await channel.close() }
}

/// Waits for the first bytes: a connection that is reset before them would be another case.
private final class HangingUp: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer
    private let text: String

    init(text: String) { self.text = text }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        context.writeAndFlush(NIOAny(ByteBuffer(string: text)), promise: nil)
        // Only one direction is closed: unread bytes would cause a reset, which may overtake the answer.
        context.close(mode: .output, promise: nil)
    }
}
