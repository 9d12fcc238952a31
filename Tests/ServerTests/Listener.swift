import NIOCore
import NIOPosix

/// A port of the loopback that says something to whoever comes, and hangs up.
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
        // Not both ways: with bytes unread that would be a reset, which may overtake what was said.
        context.close(mode: .output, promise: nil)
    }
}
