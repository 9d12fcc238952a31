import Basis
import LaneRules
import Lanes
import Logging
import Model
import ProviderInterface
import QueueRules
import Reactor
import Store
import Synchronization

/// What a lane is opened with: decided by who keeps the credentials, in the roof's wiring.
package struct LaneCredential: Sendable {
    package let id: CredentialID
    package let settings: LaneSettings
    package let reach: CredentialReach
    /// Its slug, for the log.
    package let app: String

    package init(id: CredentialID, app: String, settings: LaneSettings, reach: CredentialReach) {
        self.id = id
        self.app = app
        self.settings = settings
        self.reach = reach
    }
}

/// Whether a route's pushes can be sent, as far as credentials go.
package enum CredentialStatus: Sendable {
    case ready(LaneCredential)
    /// There is one, and it is being opened, or its access token fetched. The routes are resolved again after that.
    case pending
    /// No active credential covers the route, or the provider refused it and the pause after that is not over.
    case missing
}

/// Where lanes get their credentials from; floor 4's rooms meet only in the roof, which implements this.
package protocol LaneCredentials: Sendable {
    /// Asked once a poll and route: answers from memory.
    func credential(for route: ReadyRoute) async -> CredentialStatus
    /// The credential was refused: shared with the other processes, so that none knocks again before `pause` is over.
    func block(_ credential: CredentialID, reason: String, for pause: Duration) async
    /// The provider token of that generation, which this credential signed, was refused as too old.
    func providerTokenExpired(_ credential: CredentialID, generation: UInt64) async
    /// Connections that were opened before now are of no use to this credential.
    func needsNewConnections(_ credential: CredentialID) async
    /// What people call the app, for the log.
    func slug(of app: AppID) async -> String
    /// Those that were retired or deleted: their lanes close.
    func inactive(among credentials: [CredentialID]) async -> [CredentialID]
    /// All lanes of this process that can't reach their provider or rest, for whoever asks what pushes wait for. False
    /// where it could not be told.
    func report(outages: [LaneOutage]) async -> Bool
}

/// Opens lanes on demand and keeps them. The engine submits through it; lanes tell it when they can't send.
package actor LanePool {
    private let credentials: any LaneCredentials
    private let loops: [ReactorLoop]
    private let log: Logger
    private let credentialBlock: Duration
    private var targets: [ServiceRoute: PushTarget] = [:]
    /// Routes that nothing can be sent for at present, so that it is said once.
    private var waitingRoutes: Set<ServiceRoute> = []
    private static let waitingRoutesMax = 16_384
    private let pauses = RoutePauses()
    /// Lanes whose provider can't be reached, or asks for less: each is logged once, and told as long as it lasts.
    /// Words about rests come from the engine's thread in their order, which a wait for this actor would lose.
    private let outages = Mutex(LaneOutages())
    private var isReporting = false
    /// Looked up from any thread; changed on this actor only.
    private let open = Mutex<[LaneKey: OpenLane]>([:])
    /// Lanes that run to their last answers, by a number of their own.
    private var closing: [Int: Task<Void, Never>] = [:]
    private var closedCount = 0
    private var laneChanged: (@Sendable (LaneKey, Bool) async -> Void)?
    private var routesChanged: (@Sendable () async -> Void)?

    package init(
        credentials: any LaneCredentials, loops: [ReactorLoop], credentialBlock: Duration, log: Logger
    ) {
        precondition(!loops.isEmpty)
        self.credentials = credentials
        self.loops = loops
        self.credentialBlock = credentialBlock
        self.log = log
    }

    struct OpenLane: Sendable {
        let lane: Lane
        let relay: LaneEventRelay
        let app: String
    }

    /// Whom to tell that a lane can, or can't, send; and that routes may lead elsewhere now.
    func report(
        laneChanged: @escaping @Sendable (LaneKey, Bool) async -> Void,
        routesChanged: @escaping @Sendable () async -> Void
    ) {
        self.laneChanged = laneChanged
        self.routesChanged = routesChanged
    }

    /// Lanes of credentials that nobody may use any more open no stream from now on: what has none comes back, what has
    /// one runs to its answer.
    package func closeUnused() async {
        defer { reportOutages() }
        let known = open.withLock { $0.keys.sorted() }
        // Words of a lane may come when it is closed, and nobody says then that it is over.
        outages.withLock { $0.endAll(but: known) }
        guard !known.isEmpty else { return }
        for credential in await credentials.inactive(among: known.map(\.credential)) {
            let key = LaneKey(credential)
            guard let lane = open.withLock({ $0.removeValue(forKey: key) }) else { continue }
            // A rest is the provider's word, and holds where the credential is used again.
            outages.withLock { $0.end(of: key) }
            close(lane.lane)
            // Until its routes are resolved anew, nothing is leased for it in vain.
            await laneChanged?(key, false)
        }
    }

    /// Takes as long as the slowest answer, so nobody waits for it but the drain.
    private func close(_ lane: Lane) {
        closedCount += 1
        let number = closedCount
        closing[number] = Task {
            await lane.drain()
            closing[number] = nil
        }
    }

    package func lane(for route: ReadyRoute) async -> LaneKey? {
        let credential: LaneCredential
        switch await credentials.credential(for: route) {
        case .ready(let found): credential = found
        case .pending: return nil
        case .missing:
            await noteWaiting(route)
            return nil
        }
        waitingRoutes.remove(route.serviceRoute)
        let key = LaneKey(credential.id)
        guard !isPaused(route.serviceRoute, on: key) else { return nil }
        guard let target = credential.reach.target(topic: route.topic) else {
            if pauses.begin(route.serviceRoute, with: key, for: credentialBlock) {
                logPaused(
                    route.serviceRoute, key, of: credential.app,
                    "the registrations name no topic, and the credential has several")
            }
            return nil
        }
        targets[route.serviceRoute] = target
        if let lane = opened(key) {
            if lane.relay.reopen() { lane.lane.retry() }
        } else {
            openLane(key, credential)
        }
        return key
    }

    /// Where a route's pushes go, as it was last resolved; nil: never yet, or nothing is sent there by this lane for a
    /// while.
    package func target(of serviceRoute: ServiceRoute, on key: LaneKey) -> PushTarget? {
        isPaused(serviceRoute, on: key) ? nil : targets[serviceRoute]
    }

    /// Whether the provider refuses the line's topic to this lane's credential, for now.
    package nonisolated func isPaused(_ serviceRoute: ServiceRoute, on key: LaneKey) -> Bool {
        pauses.holds(serviceRoute, with: key)
    }

    nonisolated func submit(_ batch: PushBatch, _ name: LeaseName, on key: LaneKey, sink: any AnswerSink) {
        guard let lane = opened(key)?.lane else {
            // Closed since: nothing was sent.
            let answers = batch.requests.map { Answer(tag: $0.tag, kind: .unsent(.withdrawn)) }
            sink.deliver(AnswerBatch(ticket: name.ticket, answers: answers, bytes: []))
            return
        }
        lane.submit(batch, ticket: name.ticket, sink: sink)
    }

    nonisolated func extend(_ name: LeaseName, on key: LaneKey, until: MonotonicInstant) {
        opened(key)?.lane.extend(name.ticket, noStreamAfter: until)
    }

    nonisolated func withdraw(_ name: LeaseName, on key: LaneKey) {
        opened(key)?.lane.withdraw(name.ticket)
    }

    package nonisolated func apply(_ consequence: LaneConsequence, on key: LaneKey, _ serviceRoute: ServiceRoute) {
        // Not later: the settle that follows makes a parcel of what was refused, which could be leased and sent before.
        if case .topicRefused = consequence, !pauses.begin(serviceRoute, with: key, for: credentialBlock) { return }
        Task { await act(on: consequence, key, serviceRoute) }
    }

    package func drain() async {
        outages.withLock { $0.endAll() }
        reportOutages()
        let keys = open.withLock { $0.keys.sorted() }
        for key in keys { await opened(key)?.lane.drain() }
        for lane in closing.values { await lane.value }
    }

    private nonisolated func opened(_ key: LaneKey) -> OpenLane? { open.withLock { $0[key] } }

    private func openLane(_ key: LaneKey, _ credential: LaneCredential) {
        outages.withLock { $0.end(of: key) }
        let relay = LaneEventRelay(key: key, pool: self)
        let loop = loops[Int(UInt64(bitPattern: key.credential.value) % UInt64(loops.count))]
        let lane = Lane(credential.settings, on: loop, observer: relay)
        open.withLock { $0[key] = OpenLane(lane: lane, relay: relay, app: credential.app) }
        lane.warmUp()
    }

    private func act(on consequence: LaneConsequence, _ key: LaneKey, _ serviceRoute: ServiceRoute) async {
        switch consequence {
        case .providerTokenExpired(let generation):
            await credentials.providerTokenExpired(key.credential, generation: generation)
            opened(key)?.lane.replaceConnections()
        case .accessTokenRefused(let generation):
            // The next one goes over the same connections.
            await credentials.providerTokenExpired(key.credential, generation: generation)
        case .connectionEnds(let connection):
            opened(key)?.lane.retire(connection)
        case .connectionsUnfit:
            await credentials.needsNewConnections(key.credential)
            opened(key)?.lane.replaceConnections()
        case .credentialRefused(let reason, let connection):
            // The lane knows whether that is news, hands back what it has not sent, and says so like of a GOAWAY.
            opened(key)?.lane.refuseCredential(reason: reason, receivedOn: connection)
        case .topicRefused:
            logPaused(serviceRoute, key, "the provider refuses its topic with this credential")
            await routesChanged?()
        case .alarm(let alarm):
            log.error(
                "The provider's answers need attention",
                metadata: metadata(of: key, ["about": "\(alarm.text)"]))
        }
    }

    /// How the lane stands now, whatever words of it are still on their way.
    nonisolated func canSend(_ key: LaneKey) -> Bool? { opened(key)?.lane.canSend }

    /// With whose lane it is; of one that is closed the app isn't known any more.
    private nonisolated func metadata(of key: LaneKey, app: String? = nil, _ more: Logger.Metadata) -> Logger.Metadata {
        var all = more
        all["credential"] = "\(key.credential.value)"
        if let app = app ?? opened(key)?.app { all["app"] = "\(app)" }
        return all
    }

    func slug(of app: AppID) async -> String { await credentials.slug(of: app) }

    private func noteWaiting(_ route: ReadyRoute) async {
        if waitingRoutes.count >= Self.waitingRoutesMax { waitingRoutes = [] }
        guard waitingRoutes.insert(route.serviceRoute).inserted else { return }
        let app = await credentials.slug(of: route.app)
        log.warning(
            "Pushes wait: no usable credential covers their route",
            metadata: [
                "app": "\(app)", "provider": "\(route.provider)",
                "environment": "\(route.environment)", "topic": "\(route.topic)", "service": "\(route.service)",
            ])
    }

    private func logPaused(_ serviceRoute: ServiceRoute, _ key: LaneKey, of app: String? = nil, _ reason: String) {
        log.error(
            "A route's pushes wait",
            metadata: metadata(
                of: key, app: app,
                ["route": "\(serviceRoute.route.value)", "service": "\(serviceRoute.service)", "reason": "\(reason)"]))
    }

    /// The lane's provider asks for less.
    package nonisolated func noteOpenBreaker(_ key: LaneKey, _ breaker: OpenBreaker) {
        if outages.withLock({ $0.noteOpen(key, breaker) }) {
            let seconds = RetryPolicy.wholeSeconds(breaker.until - breaker.since).components.seconds
            log.warning(
                "A lane rests: its provider answers most pushes that it wants less",
                metadata: metadata(of: key, ["seconds": "\(seconds)"]))
        }
        Task { await reportOutages() }
    }

    package nonisolated func noteClosedBreaker(_ key: LaneKey) {
        outages.withLock { $0.noteClosed(of: key) }
        Task { await reportOutages() }
    }

    /// One refusal shuts the lane for everybody; after the pause the route resolves again, and one dial tries.
    private func markUnavailable(_ key: LaneKey, _ reason: String) async {
        guard let lane = opened(key), lane.relay.markUnavailable() else { return }
        log.error(
            "The provider refuses a credential: its pushes wait",
            metadata: metadata(of: key, ["reason": "\(reason)"]))
        await credentials.block(key.credential, reason: reason, for: credentialBlock)
        await routesChanged?()
    }

    package func note(_ key: LaneKey, canSend: Bool, _ event: LaneEvent) async {
        if canSend {
            outages.withLock { $0.end(of: key) }
            write(.notice, LaneEvent.recovered.sentence, key, event)
        } else if !event.isOutage {
            write(.info, "A lane can't send: its credential is refused", key, event)
        } else if self.canSend(key) != true, beginsOutage(of: key, event) {
            write(.warning, "A lane can't send: its provider can't be reached", key, event)
        }
        // Words may overtake each other on their way here; the lane knows.
        await laneChanged?(key, self.canSend(key) ?? canSend)
        reportOutages()
    }

    private func beginsOutage(of key: LaneKey, _ event: LaneEvent) -> Bool {
        outages.withLock { $0.begin(of: key, event.outageReason, now: Clocks.monotonicNow()) }
    }

    /// Nobody waits for it: what could not be told is told at the next upkeep.
    private func reportOutages() {
        guard !isReporting, areOutagesChanged else { return }
        isReporting = true
        Task {
            // What changes meanwhile is told behind it.
            while areOutagesChanged {
                let metadata = outages.withLock { $0.take(now: Clocks.monotonicNow()) }
                guard await credentials.report(outages: metadata) else {
                    outages.withLock { $0.reportFailed() }
                    break
                }
            }
            isReporting = false
        }
    }

    private var areOutagesChanged: Bool { outages.withLock { $0.areChanged(now: Clocks.monotonicNow()) } }

    func note(_ key: LaneKey, _ event: LaneEvent) async {
        if case .credentialRefused(let reason) = event {
            await markUnavailable(key, reason)
            return
        }
        write(.notice, event.sentence, key, event)
    }

    private func write(_ level: Logger.Level, _ sentence: String, _ key: LaneKey, _ event: LaneEvent) {
        let text = event.text
        log.log(
            level: level, "\(sentence)", metadata: metadata(of: key, text.isEmpty ? [:] : ["event": "\(text)"]))
    }
}

/// Stands between a lane's thread and the keeper.
final class LaneEventRelay: LaneObserver, Sendable {
    private let key: LaneKey
    private unowned let pool: LanePool
    private let unavailableFlag = Mutex(false)

    init(key: LaneKey, pool: LanePool) {
        self.key = key
        self.pool = pool
    }

    /// True for the first to shut it.
    func markUnavailable() -> Bool {
        unavailableFlag.withLock { isShut in
            defer { isShut = true }
            return !isShut
        }
    }

    /// True where it was shut.
    func reopen() -> Bool {
        unavailableFlag.withLock { isShut in
            defer { isShut = false }
            return isShut
        }
    }

    func laneChanged(canSend: Bool, because event: LaneEvent) {
        Task { [key, pool] in await pool.note(key, canSend: canSend, event) }
    }

    func laneNoted(_ event: LaneEvent) {
        Task { [key, pool] in await pool.note(key, event) }
    }
}

extension LeaseName {
    /// Unique among the unanswered batches of a lane: a parcel's epoch rises with each lease.
    var ticket: BatchTicket { BatchTicket(UInt64(bitPattern: parcel.value) << 20 ^ UInt64(UInt32(bitPattern: epoch))) }
}
