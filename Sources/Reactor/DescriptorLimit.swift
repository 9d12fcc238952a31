import Glibc

/// The limit of descriptors that this process may have open at once: files and connections.
package enum DescriptorLimit {
    /// Raises the limit as far as the system allows, and at most to `wanted`. Returns the limit from now on.
    ///
    /// Shells and services usually start programs with 1,024 and allow far more. Child processes inherit the limit.
    package static func raise(to wanted: Int) -> Int {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard unsafe getrlimit(resource, &limit) == 0 else { preconditionFailure("the arguments are valid") }
        let reachable = min(rlim_t(wanted), limit.rlim_max)
        if limit.rlim_cur < reachable {
            var raised = rlimit(rlim_cur: reachable, rlim_max: limit.rlim_max)
            if unsafe setrlimit(resource, &raised) == 0 { limit = raised }
        }
        return Int(clamping: limit.rlim_cur)
    }
}
