import LaneRules
import Logging
import Model
import QueueRules
import Reactor

/// Opens the lanes of the credentials that routes have, and closes those whose credentials are no longer active.
package actor LanePool {
    nonisolated let open: OpenLanes
    private let credentials: LaneCredentialCache
    private let outages: OutageReports
    private let log: Logger
    /// Routes whose pushes can't be sent at present, and why, so that each cause is logged once.
    private var waitingRoutes: [ServiceRoute: LaneCause] = [:]
    private static let waitingRoutesMax = 16_384
    /// Closed lanes that wait for their last answers, by their numbers.
    private var closing: [Int: Task<Void, Never>] = [:]

    package init(credentials: LaneCredentialCache, loops: [ReactorLoop], credentialBlock: Duration, log: Logger) {
        (self.credentials, self.log) = (credentials, log)
        open = OpenLanes(loops: loops, credentialBlock: credentialBlock, log: log)
        outages = OutageReports { await credentials.report(outages: $0) }
    }

    /// Closes the lanes of credentials that are no longer active. They open no more streams; pushes without one come
    /// back, the others run to their answers.
    func closeUnused() async {
        defer { outages.writeSoon() }
        let known = open.keys
        guard !known.isEmpty else { return }
        for credential in await credentials.inactive(among: known.map(\.credential)) {
            if let lane = open.remove(LaneKey(credential)) { close(lane) }
        }
    }

    /// Drains a lane. That takes as long as the slowest answer, so only the pool's own drain waits for it.
    private func close(_ lane: OpenLanes.OpenLane) {
        closing[lane.number] = Task {
            await lane.lane.drain()
            closing[lane.number] = nil
        }
    }

    func drain() async {
        report(waits: [])
        await open.drain()
        for lane in closing.values { await lane.value }
    }

    func resolve(_ route: ReadyRoute) async -> RouteResolution {
        switch await credentials.credential(for: route) {
        case .missing:
            await noteWaiting(route, .credentialUnknown)
            return .uncovered
        case .unread: return .uncovered
        case .waits(let credential, let cause, let reason):
            if cause != .credentialPending { await noteWaiting(route, cause, credential, reason) }
            return .waits(LaneKey(credential), cause, reason: reason)
        case .ready(let credential):
            guard let target = open.target(of: route, with: credential) else {
                if isNews(.topicMissing, of: route) { open.logMissingTopic(route.serviceRoute, credential) }
                return .waits(LaneKey(credential.id), .topicMissing)
            }
            waitingRoutes[route.serviceRoute] = nil
            return .leaves(target)
        }
    }

    private func noteWaiting(
        _ route: ReadyRoute, _ cause: LaneCause, _ credential: CredentialID? = nil, _ reason: String = ""
    ) async {
        guard isNews(cause, of: route) else { return }
        let app = await credentials.slug(of: route.app)
        var metadata: Logger.Metadata = [
            "app": "\(app)", "cause": "\(cause.rawValue)", "provider": "\(route.provider)",
            "environment": "\(route.environment)", "topic": "\(route.topic)", "service": "\(route.service)",
        ]
        if let credential {
            metadata.merge(open.metadata(of: LaneKey(credential), app: app, quoting: reason)) { own, _ in own }
        }
        log.warning("\(cause.waitSentence)", metadata: metadata)
    }

    /// Whether the route was not known to wait for this. It is from now on.
    private func isNews(_ cause: LaneCause, of route: ReadyRoute) -> Bool {
        if waitingRoutes.count >= Self.waitingRoutesMax { waitingRoutes = [:] }
        return waitingRoutes.updateValue(cause, forKey: route.serviceRoute) != cause
    }

    /// Has no process try the credential before the pause is over.
    func announceRefusal(_ key: LaneKey, _ reason: String) async {
        open.logRefusedCredential(key, reason: reason)
        await credentials.block(key.credential, reason: reason, for: open.credentialBlock)
    }

    /// Reports the lanes that wait, in place of those reported before.
    nonisolated func report(waits: [LaneWait]) {
        outages.set(waits.map { $0.quoting(open.opened($0.lane)?.quotes.throttling) })
    }

    func slug(of app: AppID) async -> String { await credentials.slug(of: app) }
}
