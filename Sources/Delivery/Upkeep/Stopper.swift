import Logging
import Store

/// Holds, releases and ends the parcels of messages that were paused, resumed or cancelled.
///
/// Beside the engine, which has other things to do than to count a million cancelled pushes.
struct Stopper: Sendable {
    private let stops: StopStore
    /// Rung where something may have been said, and regularly: a pause may end by its message's expiry.
    let signal = CoalescingSignal()
    private let log: Logger
    /// Told after each round that let parcels go: they are ready.
    private let parcelsWait: @Sendable () async -> Void

    init(stops: StopStore, log: Logger, parcelsWait: @escaping @Sendable () async -> Void) {
        self.stops = stops
        self.log = log
        self.parcelsWait = parcelsWait
    }

    /// Until the bell is removed.
    func run() async {
        for await _ in signal.signals {
            do { if try await stops.carryOut() == 0 { continue } } catch .damaged(let place) {
                log.error("A message can't be ended, and waits for its mending", metadata: ["place": "\(place)"])
            } catch {
                log.warning("Pauses and cancels wait for the database", metadata: ["fault": "\(error)"])
            }
            // Also of what failed: some of it may have been done before.
            await parcelsWait()
        }
    }
}
