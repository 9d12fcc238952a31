import CompiledMessages
import Model
import QueueRules
import Store
import Workers

/// Delivery as a whole: planners, engine, upkeep. The server starts one per process.
package struct DeliveryService: Sendable {
    package let engine: DeliveryEngine
    private let planner: Planner
    private let scheduler: WorkLoop
    private let stopper: WorkLoop
    private let loops: [WorkLoop]
    private let lanes: LanePool

    package init(stores: Stores, lanes: LanePool, settings: DeliverySettings, process: ProcessID) {
        self.lanes = lanes
        let engine = DeliveryEngine(stores: stores, lanes: lanes, settings: settings, process: process)
        self.engine = engine
        let context = stores.context
        let planner = Planner(stores.messages, settings, context) { await engine.planned($0) }
        self.planner = planner
        scheduler = .scheduler(stores.messages, context) { planner.notify() }
        stopper = .stopper(stores.stops, context, pollEvery: settings.dispatcher.pollEvery) { await engine.hint() }
        loops = planner.loops + [scheduler, stopper, Upkeep.loop(stores, settings, lanes)]
    }

    package func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await loops.run() }
            await engine.run()
            loops.stop()
            group.cancelAll()
        }
        await lanes.drain()
    }

    /// - Parameter store: writes them, over the connections of requests.
    package func cut(_ messages: [DirectMessage], in store: MessageStore) async -> [Result<CutReply, StoreFault>] {
        await engine.cut(messages, in: store)
    }

    /// Handles messages that wait for a planner. Their compiled forms are not kept: until then, their content may change.
    package func messageAccepted() { planner.notify() }

    package func messageScheduled() { scheduler.notify() }

    /// Lets another service's transaction lease the parcels that it writes, and begins to send them.
    package func leasing<Reply: Sendable>(
        _ write: (CutLeasing) async throws(StoreFault) -> (reply: Reply, written: WrittenParcels)
    ) async throws(StoreFault) -> Reply { try await engine.leasing(write) }

    /// Keeps a message in its compiled form for a moment: this process may lease its parcel soon.
    package func keep(_ message: CompiledMessage, contentBytes: Int) {
        engine.accepted.store(message, contentBytes: contentBytes)
    }

    /// Handles parcels that this process cut, by the routes on which they may be leased now.
    package func ready(_ routes: [ReadyRoute]) async { await engine.ready(routes) }

    package func parcelsWait() async { await engine.hint() }

    /// Handles the pause, resume or cancellation of a message.
    package func messagesStopped() async {
        stopper.notify()
        await engine.hint()
    }

    package func credentialsChanged() async {
        await engine.credentialsChanged()
        // This queries the database, and other notifications queue behind this one.
        Task { await lanes.closeUnused() }
    }

    /// The pushes that were handed to lanes and have no answer yet.
    package func pushesInFlight() async -> Int { await engine.pushesInFlight }

    package func drain() async {
        loops.stop()
        await engine.drain()
    }
}
