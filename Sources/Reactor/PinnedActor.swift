/// An actor that lives on a loop: its code runs on the loop's thread only, beside its sockets and timers.
///
/// Callbacks of the loop enter it with `assumeIsolated`, without a hop.
package protocol PinnedActor: Actor {
    nonisolated var loop: ReactorLoop { get }
}

extension PinnedActor {
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }
}
