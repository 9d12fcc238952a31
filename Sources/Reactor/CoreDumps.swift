import Glibc

/// Core dumps of this process, which would hold every secret that it knows.
package enum CoreDumps {
    /// Switches them off for good, for child processes too.
    package static func disable() {
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        guard unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none) == 0 else {
            preconditionFailure("a process may lower its limits")
        }
    }
}
