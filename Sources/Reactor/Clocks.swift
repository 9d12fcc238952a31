import Basis
import Glibc

/// The two clocks. The pure modules never read them: instants are handed in.
package enum Clocks {
    /// The time on `CLOCK_BOOTTIME`, which also counts while the machine sleeps. Leases are timed with it, and the
    /// database that granted a lease does not sleep with us.
    package static func monotonicNow() -> MonotonicInstant {
        let time = read(CLOCK_BOOTTIME)
        return MonotonicInstant(nanoseconds: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
    }

    package static func wallNow() -> WallInstant {
        let time = read(CLOCK_REALTIME)
        return WallInstant(microseconds: Int64(time.tv_sec) &* 1_000_000 &+ Int64(time.tv_nsec) / 1_000)
    }

    private static func read(_ clock: clockid_t) -> timespec {
        var time = timespec()
        let result = unsafe clock_gettime(clock, &time)
        precondition(result == 0, "both clocks exist since Linux 2.6.39")
        return time
    }
}
