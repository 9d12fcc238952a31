/// An actor whose code runs only on the thread of one loop, where its sockets and timers also live.
///
/// Callbacks of the loop enter it with `assumeIsolated`, without a hop.
package protocol PinnedActor: Actor {
    nonisolated var loop: ReactorLoop { get }
}

extension PinnedActor {
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }
}
