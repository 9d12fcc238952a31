import Reactor

/// Checks whether the address to listen on is free, before a database is made for nothing.
package enum ListenAddressCheck {
    /// Throws if the address is taken. The listener looks up names itself.
    package static func check(_ listen: ListenAddress) throws(StartFault) {
        guard listen.port != 0, let address = SocketAddress(literal: listen.host, port: listen.port) else { return }
        do { try ListeningSocket(binding: address).close() } catch {
            guard case .system(_, let failure) = error else { return }
            throw fault(listen, failure)
        }
    }

    static func fault(_ listen: ListenAddress, _ failure: SystemErrno) -> StartFault {
        guard failure == .addressInUse else {
            return StartFault("CARILLON_LISTEN: can't listen on \(listen): \(failure)")
        }
        return StartFault(
            "port \(listen.port) on \(listen.host) is taken: another program listens there; stop it or choose another "
                + "with CARILLON_LISTEN")
    }
}
