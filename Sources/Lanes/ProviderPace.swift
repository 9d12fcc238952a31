import Basis
import LaneRules
import Reactor
import Synchronization

/// What one project may send in a minute, for all lanes that speak for it, whatever their threads.
///
/// A lane asks once a round of requests, never once a request. Now and then its question makes this process ask for its
/// part among all processes; nobody waits for that answer.
package final class ProviderPace: Sendable {
    private let shared: Mutex<SharedPace>
    private let requester: QuotaRequester?

    /// Asks the book that all processes share; nil where it can't be asked.
    package typealias QuotaRequester = @Sendable (QuotaRequest) async -> QuotaGrant?

    /// - Parameter book: nil: the whole is this process's.
    package init(perMinute: Int, requester: QuotaRequester? = nil) {
        shared = Mutex(SharedPace(perMinute: perMinute, amongProcesses: requester != nil))
        self.requester = requester
    }

    /// A lane's part in it, as long as the lane lives.
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

    /// One lane's side of `SharedPace`, which says what the words mean.
    final class LanePace: Sendable {
        private let pace: ProviderPace
        private let share: SharedPace.Share

        fileprivate init(_ pace: ProviderPace, _ share: SharedPace.Share) {
            self.pace = pace
            self.share = share
        }

        deinit { pace.shared.withLock { $0.leave(share) } }

        func allowance(_ now: MonotonicInstant) -> Int { pace.allowance(share, now) }
        func took(_ count: Int) { pace.shared.withLock { $0.took(share, count) } }
        func giveBack(_ count: Int) { pace.shared.withLock { $0.giveBack(share, count) } }
        func idle() { pace.shared.withLock { $0.idle(share) } }
        func nextAt(_ now: MonotonicInstant) -> MonotonicInstant { pace.shared.withLock { $0.nextAt(share, now) } }
    }
}
