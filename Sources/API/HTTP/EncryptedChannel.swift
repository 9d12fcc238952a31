import HummingbirdCore
import Logging
import NIOCore
import NIOSSL

/// A connection's HTTP/1.1 above TLS, with the identity that is served when the connection arrives.
///
/// Hummingbird's own TLS channel keeps one identity for as long as it listens.
struct EncryptedChannel: ServerChildChannel {
    let plain: HTTP1Channel
    let identity: ServedIdentity

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<HTTP1Channel.Value> {
        channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: identity.context))
        }.flatMap { plain.setup(channel: channel, logger: logger) }
    }

    func handle(value: HTTP1Channel.Value, logger: Logger) async { await plain.handle(value: value, logger: logger) }
}
