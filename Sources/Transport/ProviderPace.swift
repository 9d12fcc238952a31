import DeliveryRules
import PushModel
import Synchronization

/// What one project may send in a minute, for all lanes that speak for it, whatever their threads.
///
/// A lane asks once a round of requests, never once a request.
package final class ProviderPace: Sendable {
    private let shared: Mutex<SharedPace>

    package init(perMinute: Int) { shared = Mutex(SharedPace(perMinute: perMinute)) }

    /// A lane's part in it, as long as the lane lives.
    func join() -> LanePace { LanePace(self, shared.withLock { $0.join() }) }

    /// One lane's side of `SharedPace`, which says what the words mean.
    final class LanePace: Sendable {
        private let pace: ProviderPace
        private let share: SharedPace.Share

        fileprivate init(_ pace: ProviderPace, _ share: SharedPace.Share) {
            self.pace = pace
            self.share = share
        }

        deinit { pace.shared.withLock { $0.leave(share) } }

        func allowance(_ now: MonotonicInstant) -> Int { pace.shared.withLock { $0.allowance(share, now) } }
        func took(_ count: Int) { pace.shared.withLock { $0.took(share, count) } }
        func giveBack(_ count: Int) { pace.shared.withLock { $0.giveBack(share, count) } }
        func rest() { pace.shared.withLock { $0.rest(share) } }
        func nextAt(_ now: MonotonicInstant) -> MonotonicInstant { pace.shared.withLock { $0.nextAt(share, now) } }
    }
}
