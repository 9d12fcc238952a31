import Logging
import Model
import QueueRules
import Reactor
import Store

/// Delivery as a whole: planners, engine, upkeep. The server starts one per process.
package struct DeliveryService: Sendable {
    package let engine: DeliveryEngine
    private let planner: Planner
    private let stopper: Stopper
    private let scheduler: Scheduler
    private let stores: Stores
    private let settings: DeliverySettings
    private let lanes: LanePool
    private let log: Logger

    package init(
        stores: Stores, lanes: LanePool, settings: DeliverySettings, process: ProcessID,
        steps: (any StepListener)?, log: Logger
    ) {
        (self.stores, self.settings, self.lanes, self.log) = (stores, settings, lanes, log)
        let engine = DeliveryEngine(
            stores: stores, lanes: lanes, settings: settings, process: process, steps: steps, log: log)
        self.engine = engine
        planner = Planner(
            store: stores.messages, settings: settings, steps: steps, database: stores.database, log: log,
            parcelsWait: { await engine.planned($0) })
        let planner = planner
        scheduler = Scheduler(store: stores.messages, database: stores.database, fellDue: { planner.notify() })
        stopper = Stopper(
            stops: stores.stops, database: stores.database, log: log, parcelsWait: { await engine.hint() })
    }

    package func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await planner.run() }
            group.addTask { await scheduler.run() }
            group.addTask { await stopper.run() }
            group.addTask { await notifyRegularly() }
            group.addTask { await maintain() }
            await engine.run()
            planner.stop()
            scheduler.signal.remove()
            stopper.signal.remove()
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

    package func messageScheduled() { scheduler.signal.notify() }

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
        stopper.signal.notify()
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
        planner.stop()
        scheduler.signal.remove()
        stopper.signal.remove()
        await engine.drain()
    }

    /// Notifies at every poll interval, in case a signal was lost.
    private func notifyRegularly() async {
        while !Task.isCancelled {
            planner.notify()
            stopper.signal.notify()
            try? await Task.sleep(for: settings.dispatcher.pollEvery)
        }
    }

    /// This many rounds take some seconds, so that suspicions are judged in between.
    private static let sweepsMax = 20

    /// Confirms suspicions and sweeps rows that have outlived their retention.
    private func maintain() async {
        var hasMore = false
        var refusedRoutes = SuspectRoutes()
        while !Task.isCancelled {
            if !hasMore { try? await Task.sleep(for: settings.upkeepEvery) }
            hasMore = false
            await lanes.closeUnused()
            do {
                while !Task.isCancelled {
                    let report = try await stores.parcels.confirmSuspicions(settings.suspicion)
                    if report.retired > 0 {
                        log.info("Suspected tokens retired", metadata: ["count": "\(report.retired)"])
                    }
                    if report.judged < ParcelStore.judgedMax { break }
                }
                try await reportRefusedRoutes(&refusedRoutes)
                hasMore = try await stores.sweeper.sweep(settings.retention, rounds: Self.sweepsMax)
            } catch { stores.database.failed("upkeep delayed", error) }
        }
    }

    /// Tells operators, once a window, of routes whose pushes are refused as if their tokens were wrong. Those tokens are
    /// kept, so nothing else would tell.
    private func reportRefusedRoutes(_ reported: inout SuspectRoutes) async throws(StoreFault) {
        let rule = settings.suspicion
        for refused in try await stores.parcels.refusedRoutes(rule, within: rule.window) {
            guard reported.isDue(refused.route, now: Clocks.monotonicNow(), every: rule.window) else { continue }
            log.error(
                "Most pushes of a route are refused as if their tokens were wrong: none is retired",
                metadata: [
                    "app": "\(refused.app)", "provider": "\(refused.provider)",
                    "environment": "\(refused.environment)", "topic": "\(refused.topic)",
                    "refused": "\(refused.sample.suspected)", "answered": "\(refused.sample.answered)",
                    "remedy": "compare project, bundle id and environment of the app's build with the credential's",
                ])
        }
    }
}
