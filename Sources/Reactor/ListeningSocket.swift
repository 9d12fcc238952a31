import Basis
import CShims
import Glibc

/// Owner of one listening socket. Watch it with an `Acceptor`.
package final class ListeningSocket {
    /// -1 once closed.
    package private(set) var descriptor: Int32
    /// With the port that the kernel chose, where 0 was asked for.
    package let address: SocketAddress

    package static let backlogDefault: Int32 = 1_024

    /// A Unix path that exists already is an error (`addressInUse`): whoever owns the folder removes it.
    package init(
        binding address: SocketAddress, backlog: Int32 = ListeningSocket.backlogDefault
    ) throws(ReactorError) {
        let descriptor = try newSocket(address)
        if address.family != .unix { setOption(descriptor, SOL_SOCKET, SO_REUSEADDR, 1) }
        if address.family == .ipv6 { setOption(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, 1) }
        let bound = unsafe address.withKernelAddress { unsafe bind(descriptor, $0, $1) }
        guard bound == 0, listen(descriptor, backlog) == 0 else {
            let failure = SystemErrno.last
            _ = Glibc.close(descriptor)
            throw .system(call: "bind", failure)
        }
        self.descriptor = descriptor
        self.address = localAddress(of: descriptor) ?? address
    }

    deinit { close() }

    /// Closes the port; those who wait in its queue are refused. A second call does nothing.
    package func close() {
        guard descriptor >= 0 else { return }
        _ = Glibc.close(descriptor)
        descriptor = -1
    }

    package var localPort: UInt16 { address.port }

    package enum AcceptResult {
        case accepted(StreamSocket)
        /// Nobody waits.
        case none
        /// Out of descriptors or memory: ask again later, not at once (the descriptor stays readable).
        case exhausted
    }

    package func accept() -> AcceptResult {
        while true {
            let accepted = shim_accept(descriptor)
            if accepted >= 0 {
                if address.family != .unix { setStreamOptions(accepted) }
                return .accepted(StreamSocket(adopting: accepted))
            }
            switch errno {
            case EAGAIN: return .none
            case EMFILE, ENFILE, ENOBUFS, ENOMEM: return .exhausted
            // A connection that died in the queue (ECONNABORTED and the network errors of accept(2)): the next one.
            default: continue
            }
        }
    }
}

/// Takes connections from a listening socket on a loop, and pauses where the process has no descriptors left.
package final class Acceptor: ReadinessHandler, TimerHandler {
    private let loop: ReactorLoop
    private let socket: ListeningSocket
    private let take: (StreamSocket) -> Void
    private var pause: TimerID?
    private var isOpen = true

    /// The backlog holds the others until the next turn, so that those already connected are served between.
    private static let acceptsPerTickMax = 64
    /// A level-triggered listener would turn the loop without rest; connections close by themselves meanwhile.
    package static let pauseWhenExhausted: Duration = .milliseconds(100)

    /// On the loop's thread.
    package init(
        _ socket: ListeningSocket, on loop: ReactorLoop, take: @escaping (StreamSocket) -> Void
    ) throws(ReactorError) {
        self.loop = loop
        self.socket = socket
        self.take = take
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
        do {
            try loop.watch(socket.descriptor, .read, self)
        } catch {
            // The kernel is short of memory for the watch itself: as exhausted as before.
            pause = loop.schedule(at: loop.now + Acceptor.pauseWhenExhausted, tag: 0, self)
        }
    }

    /// On the loop's thread. Closes the listening socket too.
    package func close() {
        guard isOpen else { return }
        isOpen = false
        if let pause { loop.cancel(pause) }
        loop.unwatch(socket.descriptor)
        socket.close()
    }
}
