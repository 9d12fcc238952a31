import Glibc
import Reactor
import Testing

@Suite("Core dumps")
struct CoreDumpTests {
    /// Runs in a process of its own: the limit can't be raised again.
    @Test("can't be switched on again once they are disabled")
    func disabled() async {
        await #expect(processExitsWith: .success) {
            CoreDumps.disable()
            var limit = rlimit()
            unsafe getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
            try #require(limit.rlim_cur == 0 && limit.rlim_max == 0)
        }
    }
}
