import NIOCore
import NIOSSL
import TLS

extension Channel {
    /// Fails, and closes the connection, unless the peer's certificate is for the host, as lanes demand it.
    ///
    /// The HTTP client's library has compared names before. It lets a wildcard stand for the whole of a name's first
    /// label or for a part of it, whatever follows: `*.com`, or `*` for a name with one label.
    /// - Parameter host: the name or IP literal of the request's URL.
    func requireCertificate(for host: String) -> EventLoopFuture<Void> {
        let checked = eventLoop.submit {
            let handler = try self.pipeline.syncOperations.handler(type: NIOSSLClientHandler.self)
            let certificate = try handler.peerCertificate.map { try TLSCertificate(der: $0.toDERBytes()) }
            guard certificate?.isFor(host) == true else { throw NIOSSLExtraError.failedToValidateHostname }
        }
        // Later than the failure: the client would take a closed connection for one that it never began.
        checked.whenFailure { _ in self.eventLoop.execute { self.close(promise: nil) } }
        return checked
    }
}
