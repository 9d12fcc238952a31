import Logging
import QueueRules
import Reactor
import Store
import Workers

/// Confirms suspicions and sweeps rows that have outlived their retention.
actor Upkeep {
    /// This many rounds take some seconds, so that suspicions are judged in between.
    private static let sweepsMax = 20

    private let stores: Stores
    private let settings: DeliverySettings
    private let lanes: LanePool
    private var refusedRoutes = SuspectRoutes()

    private init(_ stores: Stores, _ settings: DeliverySettings, _ lanes: LanePool) {
        (self.stores, self.settings, self.lanes) = (stores, settings, lanes)
    }

    static func loop(_ stores: Stores, _ settings: DeliverySettings, _ lanes: LanePool) -> WorkLoop {
        let upkeep = Upkeep(stores, settings, lanes)
        return WorkLoop(
            "upkeep delayed", pollEvery: settings.upkeepEvery, waitsAtStart: true,
            pauseAfterFault: settings.upkeepEvery, stores.context
        ) { _ throws(StoreFault) in try await upkeep.run() }
    }

    private func run() async throws(StoreFault) -> WorkLoop.Round {
        await lanes.closeUnused()
        while !Task.isCancelled {
            let report = try await stores.parcels.confirmSuspicions(settings.suspicion)
            if report.retired > 0 {
                stores.context.log.info("Suspected tokens retired", metadata: ["count": "\(report.retired)"])
            }
            if report.judged < ParcelStore.judgedMax { break }
        }
        try await reportRefusedRoutes()
        return try await stores.sweeper.sweep(settings.retention, rounds: Self.sweepsMax) ? .more : .idle
    }

    /// Tells operators, once a window, of routes whose pushes are refused as if their tokens were wrong. Those tokens are
    /// kept, so nothing else would tell.
    private func reportRefusedRoutes() async throws(StoreFault) {
        let rule = settings.suspicion
        for refused in try await stores.parcels.refusedRoutes(rule, within: rule.window) {
            guard refusedRoutes.isDue(refused.route, now: Clocks.monotonicNow(), every: rule.window) else { continue }
            stores.context.log.error(
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
