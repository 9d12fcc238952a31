import Basis
import LaneRules
import Reactor
import Synchronization

/// The pushes per minute that one project may send, shared by all its lanes, whatever their threads. A request counts
/// its weight.
///
/// A lane asks once per round of requests, never per request. Once a second its question makes this process tell the
/// others that it sends; no lane waits for that answer.
package final class ProviderPace: Sendable {
    /// Tells the other processes that this one sends. Returns how many send, with this one; nil: no answer came.
    package typealias Heartbeat = @Sendable () async -> Int?

    private let shared: Mutex<SharedPace>
    private let heartbeat: Heartbeat?

    package init(perMinute: Int, heartbeat: Heartbeat? = nil) {
        shared = Mutex(SharedPace(perMinute: perMinute, amongProcesses: heartbeat != nil))
        self.heartbeat = heartbeat
    }

    /// The number of pushes that may leave now, of all lanes together.
    package func room(_ now: MonotonicInstant) -> Int { shared.withLock { $0.room(now) } }

    /// Returns a lane's part of the pace, for as long as the lane lives.
    func join() -> LanePace { LanePace(self, shared.withLock { $0.join() }) }

    private func allowance(_ share: SharedPace.Share, _ now: MonotonicInstant) -> Int {
        let (allowance, isDue) = shared.withLock { ($0.allowance(share, now), $0.beginsHeartbeat(now)) }
        if isDue, let heartbeat {
            Task {
                let processes = await heartbeat()
                shared.withLock { $0.heartbeatEnded(processes, Clocks.monotonicNow()) }
            }
        }
        return allowance
    }

    /// One lane's side of `SharedPace`, which documents these calls.
    final class LanePace: Sendable {
        private let pace: ProviderPace
        private let share: SharedPace.Share

        fileprivate init(_ pace: ProviderPace, _ share: SharedPace.Share) { (self.pace, self.share) = (pace, share) }

        deinit { pace.shared.withLock { $0.leave(share) } }

        func allowance(_ now: MonotonicInstant) -> Int { pace.allowance(share, now) }
        func took(_ count: Int) { pace.shared.withLock { $0.took(share, count) } }
        func giveBack(_ count: Int) { pace.shared.withLock { $0.giveBack(share, count) } }
        func idle() { pace.shared.withLock { $0.idle(share) } }
        func nextAt(_ now: MonotonicInstant) -> MonotonicInstant { pace.shared.withLock { $0.nextAt(share, now) } }
    }
}
