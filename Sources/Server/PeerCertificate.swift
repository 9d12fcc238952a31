import NIOCore
import NIOSSL
import TLS

extension Channel {
    /// Prepares a connection that an HTTP client has just made, on its event loop. The connection is closed if this throws.
    ///
    /// It is prepared at once: the client's library stops the program if it learns that a connection has begun after the
    /// connection's end.
    func prepared(_ prepare: (ChannelPipeline.SynchronousOperations) throws -> Void) -> EventLoopFuture<Void> {
        let done = eventLoop.makeCompletedFuture { try prepare(pipeline.syncOperations) }
        // Later than the failure, for the same reason.
        done.whenFailure { _ in self.eventLoop.execute { self.close(promise: nil) } }
        return done
    }
}

extension ChannelPipeline.SynchronousOperations {
    /// Fails unless the peer's certificate is for the host, as lanes demand it.
    ///
    /// The HTTP client's library has compared names before. It lets a wildcard stand for the whole of a name's first
    /// label or for a part of it, whatever follows: `*.com`, or `*` for a name with one label.
    /// - Parameter host: the name or IP literal of the request's URL.
    func requireCertificate(for host: String) throws {
        let handler = try handler(type: NIOSSLClientHandler.self)
        let certificate = try handler.peerCertificate.map { try TLSCertificate(der: $0.toDERBytes()) }
        guard certificate?.isFor(host) == true else { throw NIOSSLExtraError.failedToValidateHostname }
    }
}
