import HummingbirdCore
import Logging
import NIOCore
import NIOSSL

/// A connection's HTTP/1.1 above TLS, with the identity that is served when the connection arrives.
///
/// Hummingbird's own TLS channel keeps one identity for as long as it listens.
package struct EncryptedChannel: ServerChildChannel {
    private let plain: HTTP1Channel
    private let identity: ServedIdentity

    package init(plain: HTTP1Channel, identity: ServedIdentity) { (self.plain, self.identity) = (plain, identity) }

    package func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<HTTP1Channel.Value> {
        channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: identity.context))
        }.flatMap { plain.setup(channel: channel, logger: logger) }
    }

    package func handle(value: HTTP1Channel.Value, logger: Logger) async {
        await plain.handle(value: value, logger: logger)
    }
}
