import Basis
import Glibc

/// The two clocks. Nobody on floors 0 to 2 reads them: instants are handed in.
package enum Clocks {
    /// Goes on while the machine sleeps (`CLOCK_BOOTTIME`): a lease's end is counted on this clock, and the
    /// database that gave the lease does not sleep with us.
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
