import Basis
import Model
import QueueRules
import Reactor
import Synchronization

/// Routes paused with a credential, because the provider refused their topic, or because they need one and name none.
/// Nothing is leased or sent for them for a while.
///
/// Used from any thread: a refusal holds as soon as it is read, before its remainder can be leased again.
final class RoutePauses: Sendable {
    private let pauses = Mutex<[ServiceRoute: Pause]>([:])

    private struct Pause {
        let key: LaneKey
        let until: MonotonicInstant
    }

    /// Begins a pause. Returns false if one is running already.
    func begin(_ serviceRoute: ServiceRoute, with key: LaneKey, for length: Duration) -> Bool {
        let now = Clocks.monotonicNow()
        return pauses.withLock { pauses in
            if let pause = pauses[serviceRoute], pause.key == key, pause.until > now { return false }
            pauses[serviceRoute] = Pause(key: key, until: now + length)
            return true
        }
    }

    /// Whether the route is paused with this credential. Another credential is not affected.
    func holds(_ serviceRoute: ServiceRoute, with key: LaneKey) -> Bool {
        let now = Clocks.monotonicNow()
        return pauses.withLock { pauses in
            guard let pause = pauses[serviceRoute] else { return false }
            if pause.until <= now { pauses[serviceRoute] = nil }
            return pause.key == key && pause.until > now
        }
    }
}
