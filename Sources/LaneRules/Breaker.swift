import Basis

/// Counts failures in a row and decides when a dial may be tried.
///
/// closed → (failures) → open → (pause over, one dial at a time) → closed (proved), open (failed again)
package struct Breaker: Equatable, Sendable {
    package let backoff: Backoff
    /// The failures in a row that block the lane. A single failure may be an address that just went away.
    package let failuresMax: Int
    /// The pause after a refused credential. The cause doesn't go away within seconds; `allowNow` comes when a person
    /// mended it.
    package let credentialBackoff: Duration

    package private(set) var failures = 0
    /// No dial before this instant.
    package private(set) var blockedUntil: MonotonicInstant?
    /// nil: the breaker is closed.
    package private(set) var block: LaneCause?
    private var spareFailures = 0
    /// No dial before this instant while another connection works.
    package private(set) var spareBlockedUntil: MonotonicInstant?

    package init(backoff: Backoff, failuresMax: Int, credentialBackoff: Duration) {
        precondition(failuresMax >= 1 && credentialBackoff >= backoff.floor)
        (self.backoff, self.failuresMax, self.credentialBackoff) = (backoff, failuresMax, credentialBackoff)
    }

    /// Notes that a dial failed, or that a connection ended before it proved itself. Returns true if this blocks the
    /// lane.
    package mutating func failed(_ cause: LaneCause, now: MonotonicInstant, entropy: UInt64) -> Bool {
        // Saturated: a higher count makes no difference.
        failures = min(failures + 1, 1_000)
        let delay = backoff.delay(afterFailures: failures, entropy: entropy)
        blockedUntil = now + (cause == .credentialRefused ? max(delay, credentialBackoff) : delay)
        let wasBlocked = block != nil
        if cause == .credentialRefused || failures >= failuresMax || wasBlocked { block = cause }
        return block != nil && !wasBlocked
    }

    /// Notes that a dial failed while another connection works. Only the next spare dial is delayed. If the working
    /// connection is lost, the breaker has counted no failure.
    package mutating func failedBeside(now: MonotonicInstant, entropy: UInt64) {
        spareFailures = min(spareFailures + 1, 1_000)
        spareBlockedUntil = now + backoff.delay(afterFailures: spareFailures, entropy: entropy)
    }

    /// Notes that a connection works. Returns true if this unblocks the lane.
    package mutating func proved() -> Bool {
        let wasBlocked = block != nil
        failures = 0
        blockedUntil = nil
        block = nil
        spareFailures = 0
        spareBlockedUntil = nil
        return wasBlocked
    }

    /// Allows the next dial at once, because the cause was mended. The block stays until a connection proves itself.
    package mutating func allowNow() {
        blockedUntil = nil
        spareBlockedUntil = nil
    }
}
