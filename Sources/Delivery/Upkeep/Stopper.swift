import Basis
import Logging
import Store

/// Holds, releases and ends the parcels of messages that were paused, resumed or cancelled.
///
/// It runs beside the engine, which must not wait while a million cancelled pushes are counted.
struct Stopper: Sendable {
    private let stops: StopStore
    /// Notified when a message may have changed, and regularly, because a pause may end by its message's expiry.
    let signal = CoalescingSignal()
    private let database: DatabaseWatch
    private let log: Logger
    /// Called after each round that may have released parcels.
    private let parcelsWait: @Sendable () async -> Void

    init(
        stops: StopStore, database: DatabaseWatch, log: Logger, parcelsWait: @escaping @Sendable () async -> Void
    ) {
        (self.stops, self.database, self.log, self.parcelsWait) = (stops, database, log, parcelsWait)
    }

    func run() async {
        for await _ in signal.signals {
            do { if try await stops.carryOut() == 0 { continue } } catch .damaged(let place) {
                log.error("Message can't be paused or ended: stored data is damaged", metadata: ["place": "\(place)"])
            } catch { database.failed("pauses and cancels delayed", error) }
            // After a failure too: some parcels may have been released before.
            await parcelsWait()
        }
    }
}
