import Glibc
import Reactor
import Testing

@Suite("The limit of file descriptors")
struct DescriptorLimitTests {
    /// Runs in a process of its own: the limit would affect the tests beside it.
    @Test("rises as far as is wanted and allowed, and never falls")
    func raised() async {
        await #expect(processExitsWith: .success) {
            var low = rlimit(rlim_cur: 100, rlim_max: 200)
            unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &low)
            try #require(DescriptorLimit.raise(to: 50) == 100)
            try #require(DescriptorLimit.raise(to: 150) == 150)
            try #require(DescriptorLimit.raise(to: 65_536) == 200)
            try #require(DescriptorLimit.raise(to: 65_536) == 200)
        }
    }
}
