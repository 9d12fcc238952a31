import CShims
import Glibc

/// One operating system thread that runs one closure.
///
/// Joined at most once, by whoever started it; else it is detached when this value goes.
final class SystemThread: @unchecked Sendable {
    // Written in `init` before the value is shared, and never again: that is the proof for `@unchecked`.
    private let handle: pthread_t

    private final class Body {
        let name: String
        let run: @Sendable () -> Void
        init(name: String, run: @escaping @Sendable () -> Void) {
            self.name = name
            self.run = run
        }
    }

    /// - Parameter name: shown by `top -H`; the kernel keeps 15 bytes.
    init(name: String, _ run: @escaping @Sendable () -> Void) throws(ReactorError) {
        // Released by the thread itself, first thing in its entry.
        let retained = unsafe Unmanaged.passRetained(Body(name: name, run: run))
        var handle = pthread_t()
        let result = unsafe pthread_create(&handle, nil, threadEntry, retained.toOpaque())
        guard result == 0 else {
            unsafe retained.release()
            throw .system(call: "pthread_create", SystemErrno(result))
        }
        self.handle = handle
    }

    func join() { pthread_join(handle, nil) }

    func detach() { pthread_detach(handle) }

    fileprivate static func enter(_ context: UnsafeMutableRawPointer) {
        let body = unsafe Unmanaged<Body>.fromOpaque(context).takeRetainedValue()
        unsafe shim_name_this_thread(body.name)
        body.run()
    }
}

private func threadEntry(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let context = unsafe context { unsafe SystemThread.enter(context) }
    return nil
}
