import CShims
import Glibc

/// One operating system thread that runs one closure.
///
/// Call `join` at most once, from the code that started it, or `detach`.
final class SystemThread: @unchecked Sendable {
    // Proof for `@unchecked`: written in `init` before the value is shared, and never again.
    private let handle: pthread_t

    private final class Body {
        let name: String
        let run: @Sendable () -> Void
        init(name: String, run: @escaping @Sendable () -> Void) { (self.name, self.run) = (name, run) }
    }

    /// - Parameter name: the name that `top -H` shows; the kernel keeps 15 bytes.
    init(name: String, _ run: @escaping @Sendable () -> Void) throws(ReactorError) {
        // Released by the thread itself, as its first step.
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
