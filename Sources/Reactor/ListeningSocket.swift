import Basis
import CShims
import Glibc

/// The owner of one listening socket. Watch it with an `Acceptor`.
package final class ListeningSocket {
    /// The file descriptor; -1 once closed.
    package private(set) var descriptor: Int32
    /// The bound address. It holds the port that the kernel chose if port 0 was asked for.
    package let address: SocketAddress

    private static let backlog: Int32 = 1_024

    package init(binding address: SocketAddress) throws(ReactorError) {
        let descriptor = try newSocket(address)
        setOption(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
        if address.family == .ipv6 { setOption(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, 1) }
        let bound = unsafe address.withKernelAddress { unsafe bind(descriptor, $0, $1) }
        guard bound == 0, listen(descriptor, ListeningSocket.backlog) == 0 else {
            let failure = SystemErrno.last
            _ = Glibc.close(descriptor)
            throw .system(call: "bind", failure)
        }
        self.descriptor = descriptor
        self.address = localAddress(of: descriptor) ?? address
    }

    deinit { close() }

    /// Closes the port and refuses the connections in its backlog. A second call does nothing.
    package func close() {
        guard descriptor >= 0 else { return }
        _ = Glibc.close(descriptor)
        descriptor = -1
    }

    package enum AcceptResult {
        case accepted(StreamSocket)
        /// No connection is waiting.
        case none
        /// The process is out of descriptors or memory. The descriptor stays readable, so ask again later, not at once.
        case exhausted
    }

    package func accept() -> AcceptResult {
        while true {
            let accepted = shim_accept(descriptor)
            if accepted >= 0 {
                setStreamOptions(accepted)
                return .accepted(StreamSocket(adopting: accepted))
            }
            switch errno {
            case EAGAIN: return .none
            case EMFILE, ENFILE, ENOBUFS, ENOMEM: return .exhausted
            // The connection died in the backlog (ECONNABORTED and the network errors of accept(2)): take the next one.
            default: continue
            }
        }
    }
}

/// Takes connections from a listening socket on a loop, and pauses while the process has no descriptors left.
package final class Acceptor: ReadinessHandler, TimerHandler {
    private let loop: ReactorLoop
    private let socket: ListeningSocket
    private let take: (StreamSocket) -> Void
    private var pause: TimerID?
    private var isOpen = true

    /// The backlog keeps further connections until the next tick, so that the accepted ones are served in between.
    private static let acceptsPerTickMax = 64
    /// A level-triggered listener would otherwise keep the loop spinning. Meanwhile other connections close by
    /// themselves.
    package static let pauseWhenExhausted: Duration = .milliseconds(100)

    /// Starts to accept. Call it on the loop's thread.
    package init(
        _ socket: ListeningSocket, on loop: ReactorLoop, take: @escaping (StreamSocket) -> Void
    ) throws(ReactorError) {
        (self.loop, self.socket, self.take) = (loop, socket, take)
        try loop.watch(socket.descriptor, .read, self)
    }

    package func descriptorIsReady(_ descriptor: Int32, _ readiness: Readiness) {
        for _ in 0..<Acceptor.acceptsPerTickMax where isOpen {
            switch socket.accept() {
            case .accepted(let accepted): take(accepted)
            case .none: return
            case .exhausted: return pauseAccepting()
            }
        }
    }

    private func pauseAccepting() {
        loop.unwatch(socket.descriptor)
        pause = loop.schedule(at: loop.now + Acceptor.pauseWhenExhausted, tag: 0, self)
    }

    package func timerFired(tag: UInt64) {
        pause = nil
        guard isOpen else { return }
        do { try loop.watch(socket.descriptor, .read, self) } catch {
            // The kernel lacks memory even for the watch: wait again.
            pause = loop.schedule(at: loop.now + Acceptor.pauseWhenExhausted, tag: 0, self)
        }
    }

    /// Closes the listening socket too. Call it on the loop's thread.
    package func close() {
        guard isOpen else { return }
        isOpen = false
        if let pause { loop.cancel(pause) }
        loop.unwatch(socket.descriptor)
        socket.close()
    }
}
