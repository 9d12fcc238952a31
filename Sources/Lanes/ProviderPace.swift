import Basis
import LaneRules
import Reactor
import Synchronization

/// The requests per minute that one project may send, shared by all its lanes, whatever their threads.
///
/// A lane asks once per round of requests, never per request. Now and then its question makes this process ask for its
/// part among all processes; no lane waits for that answer.
package final class ProviderPace: Sendable {
    private let shared: Mutex<SharedPace>
    private let requester: QuotaRequester?

    /// Asks the ledger that all processes share; nil: it can't be asked.
    package typealias QuotaRequester = @Sendable (QuotaRequest) async -> QuotaGrant?

    /// - Parameter requester: nil: the whole pace is this process's.
    package init(perMinute: Int, requester: QuotaRequester? = nil) {
        shared = Mutex(SharedPace(perMinute: perMinute, amongProcesses: requester != nil))
        self.requester = requester
    }

    /// Returns a lane's part of the pace, for as long as the lane lives.
    func join() -> LanePace { LanePace(self, shared.withLock { $0.join() }) }

    private func allowance(_ share: SharedPace.Share, _ now: MonotonicInstant) -> Int {
        let (allowance, ask) = shared.withLock { ($0.allowance(share, now), $0.ask(now)) }
        if let ask, let requester {
            Task {
                let grant = await requester(ask)
                shared.withLock { $0.receive(grant, of: ask, Clocks.monotonicNow()) }
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
