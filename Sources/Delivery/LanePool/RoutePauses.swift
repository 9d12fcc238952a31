import Basis
import Model
import QueueRules
import Reactor
import Synchronization

/// Routes whose topic the provider refused, or that need one and name none: with this credential, nothing is leased or
/// sent for them for a while. Asked and told from any thread: a refusal holds from the moment that it was read, before
/// what it left over can be leased again.
final class RoutePauses: Sendable {
    private let pauses = Mutex<[ServiceRoute: Pause]>([:])

    private struct Pause {
        let key: LaneKey
        let until: MonotonicInstant
    }

    /// False where it holds already.
    func begin(_ serviceRoute: ServiceRoute, with key: LaneKey, for length: Duration) -> Bool {
        let now = Clocks.monotonicNow()
        return pauses.withLock { pauses in
            if let pause = pauses[serviceRoute], pause.key == key, pause.until > now { return false }
            pauses[serviceRoute] = Pause(key: key, until: now + length)
            return true
        }
    }

    /// Another credential is not held by it.
    func holds(_ serviceRoute: ServiceRoute, with key: LaneKey) -> Bool {
        let now = Clocks.monotonicNow()
        return pauses.withLock { pauses in
            guard let pause = pauses[serviceRoute] else { return false }
            if pause.until <= now { pauses[serviceRoute] = nil }
            return pause.key == key && pause.until > now
        }
    }
}
