import Basis
import Reactor

/// A wait on the loop's clock.
final class Pause: TimerHandler {
    private var waiter: CheckedContinuation<Void, Never>?

    private init(_ waiter: CheckedContinuation<Void, Never>) { self.waiter = waiter }

    // A stopped loop drops its timers without firing them.
    deinit { waiter?.resume() }

    func timerFired(tag: UInt64) {
        waiter?.resume()
        waiter = nil
    }

    /// Waits. Called on the loop, by an actor that is pinned to it.
    static func wait(_ duration: Duration, on loop: ReactorLoop, isolation: isolated (any Actor)? = #isolation) async {
        await withCheckedContinuation { waiter in _ = loop.schedule(at: loop.now + duration, tag: 0, Pause(waiter)) }
    }
}

enum Chance {
    /// Returns a random number from 0 up to, but not including, 1.
    static func fraction() -> Double { Double(Entropy.uint64() >> 11) / Double(1 << 53 as UInt64) }
}
