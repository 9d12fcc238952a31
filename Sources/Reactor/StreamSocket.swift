import Glibc

package enum ReadResult: Equatable, Sendable {
    /// The number of bytes now at the start of the buffer.
    case bytes(Int)
    /// No byte is there now. epoll reports when one is.
    case wouldBlock
    /// The peer will send no more.
    case ended
}

/// The owner of one connected or connecting non-blocking stream socket. Lives on one loop. `close()` or `deinit` closes
/// it, and a watched socket must be unwatched before.
package final class StreamSocket {
    /// The file descriptor; -1 once closed.
    package private(set) var descriptor: Int32

    /// A connection ends after data stayed unacknowledged for this long. Otherwise the kernel would keep one that a NAT
    /// or firewall dropped silently for 15 minutes.
    package static let unacknowledgedMilliseconds: Int32 = 30_000

    init(adopting descriptor: Int32) { self.descriptor = descriptor }

    deinit { close() }

    /// Starts to connect. The socket becomes writable when the result is known; then call `connectResult()`.
    package static func connect(to address: SocketAddress) throws(ReactorError) -> StreamSocket {
        let connecting = StreamSocket(adopting: try newSocket(address))
        let result = unsafe address.withKernelAddress { unsafe Glibc.connect(connecting.descriptor, $0, $1) }
        if result != 0 {
            let failure = SystemErrno.last
            guard failure == .inProgress || failure == .interrupted else { throw .system(call: "connect", failure) }
        }
        return connecting
    }

    /// Throws the reason if the connection failed. Call it once the socket is writable.
    package func connectResult() throws(ReactorError) {
        var failure: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard unsafe getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &failure, &length) == 0 else {
            throw .system(call: "getsockopt", .last)
        }
        if failure != 0 { throw .system(call: "connect", SystemErrno(failure)) }
    }

    package func read(into buffer: inout [UInt8]) throws(ReactorError) -> ReadResult {
        precondition(!buffer.isEmpty)
        while true {
            let count = unsafe recv(descriptor, &buffer, buffer.count, 0)
            if count > 0 { return .bytes(count) }
            if count == 0 { return .ended }
            switch SystemErrno.last {
            case .again: return .wouldBlock
            case .interrupted: continue
            case let failure: throw .system(call: "recv", failure)
            }
        }
    }

    /// Returns how many bytes the kernel took; 0 if it would block.
    package func write(_ bytes: Span<UInt8>) throws(ReactorError) -> Int {
        if bytes.isEmpty { return 0 }
        while true {
            let count = unsafe bytes.withUnsafeBytes { unsafe send(descriptor, $0.baseAddress, $0.count, noSignal) }
            if count >= 0 { return count }
            switch SystemErrno.last {
            case .again: return 0
            case .interrupted: continue
            case let failure: throw .system(call: "send", failure)
            }
        }
    }

    /// Tells the peer that no more bytes follow. Reading still works.
    package func shutdownWriting() { _ = shutdown(descriptor, Int32(SHUT_WR)) }

    /// Makes the next close send a reset instead of an orderly end. For tests and simulators.
    package func resetOnClose() {
        var abrupt = linger(l_onoff: 1, l_linger: 0)
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &abrupt, socklen_t(MemoryLayout<linger>.size))
    }

    package func close() {
        guard descriptor >= 0 else { return }
        _ = Glibc.close(descriptor)
        descriptor = -1
    }

    package var localAddress: SocketAddress? { Reactor.localAddress(of: descriptor) }
}

/// Without this flag SIGPIPE would end the process; EPIPE is an ordinary error.
private let noSignal = Int32(MSG_NOSIGNAL)

func newSocket(_ address: SocketAddress) throws(ReactorError) -> Int32 {
    let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    let descriptor = socket(address.protocolFamily, kind, 0)
    guard descriptor >= 0 else { throw .system(call: "socket", .last) }
    setStreamOptions(descriptor)
    return descriptor
}

func setStreamOptions(_ descriptor: Int32) {
    // We batch bytes ourselves. Nagle's algorithm would only delay the last packet of each burst.
    setOption(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
    setOption(descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, StreamSocket.unacknowledgedMilliseconds)
}

func setOption(_ descriptor: Int32, _ level: Int32, _ name: Int32, _ value: Int32) {
    var value = value
    // All our sockets support these options. If the kernel refuses one, only speed suffers, not correctness.
    _ = unsafe setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
}

/// The address of this end; nil if the kernel does not tell it.
func localAddress(of descriptor: Int32) -> SocketAddress? {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return unsafe withUnsafeMutablePointer(to: &storage) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
            unsafe getsockname(descriptor, address, &length) == 0 ? SocketAddress(address) : nil
        }
    }
}
