import CShims
import Glibc

/// Starts programs that inherit nothing from us: no descriptor, signal mask, environment, terminal or folder.
///
/// The server must not inherit a listening socket: after our death it would keep the port occupied.
package enum ChildProcess {
    /// - Parameter input: the descriptor of standard input; nil: none.
    /// - Parameter log: the descriptor of both outputs.
    static func spawn(_ command: [String], input: Int32? = nil, log: Int32) -> pid_t? {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        if let input {
            unsafe posix_spawn_file_actions_adddup2(&actions, input, 0)
        } else {
            unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        }
        unsafe posix_spawn_file_actions_adddup2(&actions, log, 1)
        unsafe posix_spawn_file_actions_adddup2(&actions, log, 2)
        unsafe posix_spawn_file_actions_addclosefrom_np(&actions, 3)
        // PostgreSQL's programs look up their own folder, and the other user may not see ours.
        unsafe posix_spawn_file_actions_addchdir_np(&actions, "/")
        return unsafe launch(command, &actions)
    }

    @unsafe private static func launch(_ command: [String], _ actions: inout posix_spawn_file_actions_t) -> pid_t? {
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        unsafe sigemptyset(&none)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        var all = sigset_t()
        unsafe sigfillset(&all)
        unsafe posix_spawnattr_setsigdefault(&attributes, &all)
        // A separate session, so that Ctrl-C at our terminal or its closing does not reach the server.
        let flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | ChildProcess.setsid
        unsafe posix_spawnattr_setflags(&attributes, Int16(flags))
        let environment = ["PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"]
        var process: pid_t = 0
        let result = unsafe withArguments(command) { arguments in
            unsafe withArguments(environment) { environment in
                unsafe posix_spawn(&process, command[0], &actions, &attributes, arguments, environment)
            }
        }
        return result == 0 ? process : nil
    }

    /// POSIX_SPAWN_SETSID, a macro behind _GNU_SOURCE. Source: glibc's spawn.h.
    private static let setsid: Int32 = 0x80

    /// Waits for the end. Returns the exit status, or nil if a signal ended the process.
    static func wait(_ process: pid_t) -> Int32? {
        var status: Int32 = 0
        while unsafe waitpid(process, &status, 0) < 0 {
            guard errno == EINTR else { return nil }
        }
        return status & 0x7f == 0 ? (status >> 8) & 0xff : nil
    }

    /// Whether our child has ended, which also removes it from the kernel's table. True if it is no child of ours.
    static func reap(_ process: pid_t) -> Bool {
        var status: Int32 = 0
        return unsafe waitpid(process, &status, WNOHANG) != 0
    }

    /// Returns whether the program exits with 0. Its outputs are dropped.
    static func runQuietly(_ command: [String]) -> Bool {
        let nowhere = unsafe open("/dev/null", O_WRONLY | O_CLOEXEC)
        guard nowhere >= 0 else { return false }
        defer { close(nowhere) }
        guard let process = spawn(command, log: nowhere) else { return false }
        return wait(process) == 0
    }

    /// Returns both outputs, up to 64 KiB: more would fill the pipe and block it. nil: it did not exit with 0.
    package static func output(_ command: [String]) -> String? {
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { return nil }
        defer { close(ends[0]) }
        _ = fcntl(ends[0], F_SETFD, FD_CLOEXEC)
        let process = spawn(command, log: ends[1])
        close(ends[1])
        guard let process, wait(process) == 0 else { return nil }
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe Glibc.read(ends[0], &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }
}

/// Calls `body` with a nil-terminated array of C strings, which it must not keep.
private func withArguments<Answer>(
    _ strings: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Answer
) -> Answer {
    let starts = strings.reduce(into: [0]) { $0.append($0[$0.count - 1] + $1.utf8.count + 1) }
    var bytes: [CChar] = strings.flatMap { (text: String) -> [CChar] in Array(text.utf8CString) }
    return unsafe bytes.withUnsafeMutableBufferPointer { bytes in
        var pointers = unsafe starts.dropLast().map { unsafe bytes.baseAddress?.advanced(by: $0) }
        unsafe pointers.append(nil)
        return unsafe pointers.withUnsafeBufferPointer { pointers in
            guard let start = pointers.baseAddress else { preconditionFailure("the array holds its final nil") }
            return unsafe body(start)
        }
    }
}
