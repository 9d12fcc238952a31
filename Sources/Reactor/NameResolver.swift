import Glibc

/// Asks the system's resolver anew each time, because providers' addresses change.
package enum NameResolver {
    /// Returns addresses of both families in the resolver's order of preference (RFC 6724). A literal address is
    /// returned as it is. Blocks a thread of the pool as long as the resolver takes: the caller sets the deadline.
    package static func resolve(
        host: String, port: UInt16, on pool: BlockingPool = .shared
    ) async throws(ReactorError) -> [SocketAddress] {
        if let literal = SocketAddress(literal: host, port: port) { return [literal] }
        let answer: Result<[SocketAddress], ReactorError>
        do { answer = try await pool.run { lookUp(host, port) } } catch {
            throw error as? ReactorError ?? .nameNotResolved(isTemporary: true)
        }
        return try answer.get()
    }

    private static func lookUp(_ host: String, _ port: UInt16) -> Result<[SocketAddress], ReactorError> {
        var hints = unsafe addrinfo()
        unsafe hints.ai_family = AF_UNSPEC
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let result = unsafe getaddrinfo(host, nil, &hints, &list)
        guard result == 0 else {
            // EAI_SYSTEM means that the resolver's own sockets failed, which is temporary.
            return .failure(.nameNotResolved(isTemporary: result == EAI_AGAIN || result == EAI_SYSTEM))
        }
        defer { unsafe freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var next = unsafe list
        while let entry = unsafe next {
            if let pointer = unsafe entry.pointee.ai_addr, let address = unsafe SocketAddress(pointer) {
                let complete = address.replacingPort(port)
                if !addresses.contains(complete) { addresses.append(complete) }
            }
            unsafe next = unsafe entry.pointee.ai_next
        }
        return .success(addresses)
    }
}
