import CShims
import Glibc

/// The owner of one epoll instance and of the buffer that the kernel reports into.
///
/// A mark is a number that the caller gives with a descriptor and gets back with its events.
@safe struct Poller: ~Copyable {
    private let epoll: Int32
    private let events: UnsafeMutableBufferPointer<epoll_event>

    /// Further events stay in the kernel until the next tick.
    private static let eventsPerTickMax = 256

    init() throws(ReactorError) {
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard epoll >= 0 else { throw .system(call: "epoll_create1", .last) }
        unsafe events = .allocate(capacity: Poller.eventsPerTickMax)
        unsafe events.initialize(repeating: epoll_event())
    }

    deinit {
        unsafe events.deallocate()
        close(epoll)
    }

    func add(_ descriptor: Int32, _ interest: Interest, mark: UInt64) throws(ReactorError) {
        try control(EPOLL_CTL_ADD, descriptor, interest, mark)
    }

    func change(_ descriptor: Int32, _ interest: Interest, mark: UInt64) throws(ReactorError) {
        try control(EPOLL_CTL_MOD, descriptor, interest, mark)
    }

    /// Fails only if the descriptor was closed before, and then the kernel has already removed it.
    func remove(_ descriptor: Int32) {
        var ignored = unsafe epoll_event()
        _ = unsafe epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, &ignored)
    }

    /// Returns the number of events; 0 after an interruption, as by a debugger or profiler.
    func wait(milliseconds: Int32) -> Int {
        let count = unsafe epoll_wait(epoll, events.baseAddress, Int32(events.count), milliseconds)
        return max(0, Int(count))
    }

    func mark(at index: Int) -> UInt64 { unsafe events[index].data.u64 }

    func readiness(at index: Int) -> Readiness {
        let bits = unsafe events[index].events
        var readiness: Readiness = []
        if bits & EPOLLIN.rawValue != 0 { readiness.insert(.readable) }
        if bits & EPOLLOUT.rawValue != 0 { readiness.insert(.writable) }
        if bits & (EPOLLHUP.rawValue | EPOLLRDHUP.rawValue) != 0 { readiness.insert(.hungUp) }
        if bits & EPOLLERR.rawValue != 0 { readiness.insert(.failed) }
        return readiness
    }

    private func control(
        _ operation: Int32, _ descriptor: Int32, _ interest: Interest, _ mark: UInt64
    ) throws(ReactorError) {
        var event = unsafe epoll_event()
        if interest.contains(.read) { unsafe event.events |= EPOLLIN.rawValue | EPOLLRDHUP.rawValue }
        if interest.contains(.write) { unsafe event.events |= EPOLLOUT.rawValue }
        unsafe event.data.u64 = mark
        guard unsafe epoll_ctl(epoll, operation, descriptor, &event) == 0 else {
            throw .system(call: "epoll_ctl", .last)
        }
    }
}
