import Basis

/// Why a lane lets nothing through.
package enum BlockCause: Equatable, Sendable {
    /// No connection could be made, or none lived long enough to prove itself.
    case unreachable
    /// The peer's certificate was not believed, or it refused ours in the handshake.
    case tlsRefused
    /// The peer refused our credential, by GOAWAY or in an answer: dialling again would be the same.
    case credentialRefused
}

/// Counts failures in a row, and says when a dial may be tried.
///
/// closed → (failures) → open → (rest over, one dial at a time) → closed (proved), open (failed again)
package struct Breaker: Equatable, Sendable {
    package let backoff: Backoff
    /// So many failures in a row block the lane. One may be an address that just went away.
    package let failuresMax: Int
    /// After a refused credential. Nothing changes by itself within seconds; `allowNow` comes when somebody mended it.
    package let credentialBackoff: Duration

    package private(set) var failures = 0
    /// No dial before.
    package private(set) var blockedUntil: MonotonicInstant?
    /// nil: requests may come.
    package private(set) var block: BlockCause?
    /// Failed dials in a row beside a connection that works.
    private var spareFailures = 0
    /// No dial before, beside a connection that works.
    package private(set) var spareBlockedUntil: MonotonicInstant?

    package init(backoff: Backoff, failuresMax: Int, credentialBackoff: Duration) {
        precondition(failuresMax >= 1 && credentialBackoff >= backoff.floor)
        self.backoff = backoff
        self.failuresMax = failuresMax
        self.credentialBackoff = credentialBackoff
    }

    package func mayDial(_ now: MonotonicInstant) -> Bool {
        guard let blockedUntil else { return true }
        return now >= blockedUntil
    }

    /// A dial failed, or a connection ended before it had proved itself. True where this blocks the lane.
    package mutating func failed(_ cause: BlockCause, now: MonotonicInstant, entropy: UInt64) -> Bool {
        // Counted no further than anybody can tell the difference.
        failures = min(failures + 1, 1_000)
        let delay = backoff.delay(afterFailures: failures, entropy: entropy)
        blockedUntil = now + (cause == .credentialRefused ? max(delay, credentialBackoff) : delay)
        let wasBlocked = block != nil
        if cause == .credentialRefused || failures >= failuresMax || wasBlocked { block = cause }
        return block != nil && !wasBlocked
    }

    /// A dial failed while another connection works: the next one beside it rests, and nothing else follows. Its loss
    /// finds a breaker that has counted nothing.
    package mutating func failedBeside(now: MonotonicInstant, entropy: UInt64) {
        spareFailures = min(spareFailures + 1, 1_000)
        spareBlockedUntil = now + backoff.delay(afterFailures: spareFailures, entropy: entropy)
    }

    /// A connection works. True where this opens the lane again.
    package mutating func proved() -> Bool {
        let wasBlocked = block != nil
        failures = 0
        blockedUntil = nil
        block = nil
        spareFailures = 0
        spareBlockedUntil = nil
        return wasBlocked
    }

    /// Somebody mended something: the next dial may be at once. The block stays until a connection proves itself.
    package mutating func allowNow() {
        blockedUntil = nil
        spareBlockedUntil = nil
    }
}
