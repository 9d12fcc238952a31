import Logging
import Store
import Workers

extension WorkLoop {
    /// Holds, releases and ends the parcels of messages that were paused, resumed or cancelled. It is notified when a
    /// message may have changed, and polls, because a pause may end by its message's expiry.
    ///
    /// It runs beside the engine, which must not wait while a million cancelled pushes are counted.
    ///
    /// - Parameter parcelsWait: called after each round that may have released parcels.
    static func stopper(
        _ stops: StopStore, _ context: ServiceContext, pollEvery: Duration,
        parcelsWait: @escaping @Sendable () async -> Void
    ) -> WorkLoop {
        WorkLoop("pauses and cancels delayed", pollEvery: pollEvery, context) { _ throws(StoreFault) in
            var fault: StoreFault?
            do throws(StoreFault) { if try await stops.carryOut() == 0 { return .idle } } catch { fault = error }
            // After a failure too: some parcels may have been released before.
            await parcelsWait()
            switch fault {
            case .damaged(let place):
                context.log.error(
                    "Message can't be paused or ended: stored data is damaged", metadata: ["place": "\(place)"])
            case let fault?: throw fault
            case nil: break
            }
            return .idle
        }
    }
}
