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

/// The credential and settings that a lane is opened with.
package struct LaneCredential: Sendable {
    package let id: CredentialID
    package let settings: LaneSettings
    package let reach: CredentialReach
    /// The app's slug, for the log.
    package let app: String

    package init(id: CredentialID, app: String, settings: LaneSettings, reach: CredentialReach) {
        (self.id, self.app, self.settings, self.reach) = (id, app, settings, reach)
    }
}

/// Whether a route's pushes can be sent, as far as credentials go.
package enum CredentialStatus: Sendable {
    case ready(LaneCredential)
    /// The credential is being opened, or its access token fetched. The routes are resolved again after that.
    case pending
    /// No active credential covers the route, or the provider refused it and the pause after that is not over.
    case missing
}

/// The source of the lanes' credentials (`LaneCredentialCache`).
package protocol LaneCredentials: Sendable {
    /// Returns the route's credential. Called once per poll and route, so it answers from memory.
    func credential(for route: ReadyRoute) async -> CredentialStatus
    /// Announces a refused credential to the other processes, so that none tries it again before `pause` is over.
    func block(_ credential: CredentialID, reason: String, for pause: Duration) async
    /// Records that the provider refused that generation of the credential's provider token as too old.
    func providerTokenExpired(_ credential: CredentialID, generation: UInt64) async
    /// Records that connections opened before now are useless to this credential.
    func needsNewConnections(_ credential: CredentialID) async
    /// Returns the app's slug, for the log.
    func slug(of app: AppID) async -> String
    /// Returns the credentials that were retired or deleted. Their lanes close.
    func inactive(among credentials: [CredentialID]) async -> [CredentialID]
    /// Reports all lanes of this process that can't reach their provider or whose breaker is open, for the messages'
    /// progress. Returns false if that failed.
    func report(outages: [LaneOutage]) async -> Bool
}

/// Opens lanes on demand and keeps them. The engine submits through it; lanes report to it when they can't send.
package actor LanePool {
    private let credentials: any LaneCredentials
    private let loops: [ReactorLoop]
    private let log: Logger
    private let credentialBlock: Duration
    private var targets: [ServiceRoute: PushTarget] = [:]
    /// Routes whose pushes can't be sent at present, so that each is logged once.
    private var waitingRoutes: Set<ServiceRoute> = []
    private static let waitingRoutesMax = 16_384
    private let pauses = RoutePauses()
    /// Lanes whose provider can't be reached or is throttling. Each is logged once, and reported as long as it lasts.
    /// The engine notes open breakers here directly: a wait for this actor would lose their order.
    private let outages = Mutex(LaneOutages())
    private var isReporting = false
    /// Looked up from any thread; changed on this actor only.
    private let open = Mutex<[LaneKey: OpenLane]>([:])
    /// Closed lanes that wait for their last answers, by a number of their own.
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
        let pace: ProviderPace?
    }

    /// Sets the functions to call when a lane can or can't send, and when routes may resolve to another lane.
    func report(
        laneChanged: @escaping @Sendable (LaneKey, Bool) async -> Void,
        routesChanged: @escaping @Sendable () async -> Void
    ) {
        self.laneChanged = laneChanged
        self.routesChanged = routesChanged
    }

    /// Closes the lanes of credentials that are no longer active. They open no more streams; pushes without one come
    /// back, the others run to their answers.
    package func closeUnused() async {
        defer { reportOutages() }
        let known = open.withLock { $0.keys.sorted() }
        // An event may arrive after its lane was closed, and no later event would end that outage.
        outages.withLock { $0.endAll(but: known) }
        guard !known.isEmpty else { return }
        for credential in await credentials.inactive(among: known.map(\.credential)) {
            let key = LaneKey(credential)
            guard let lane = open.withLock({ $0.removeValue(forKey: key) }) else { continue }
            // An open breaker stays noted: the provider's throttling holds if the credential is used again.
            outages.withLock { $0.end(of: key) }
            close(lane.lane)
            // Nothing is leased in vain until the lane's routes are resolved again.
            await laneChanged?(key, false)
        }
    }

    /// Drains a lane. That takes as long as the slowest answer, so only the pool's own drain waits for it.
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

    /// Returns the route's destination as last resolved; nil: never resolved, or paused on this lane.
    package func target(of serviceRoute: ServiceRoute, on key: LaneKey) -> PushTarget? {
        isPaused(serviceRoute, on: key) ? nil : targets[serviceRoute]
    }

    /// Whether the provider currently refuses the route's topic to this lane's credential.
    package nonisolated func isPaused(_ serviceRoute: ServiceRoute, on key: LaneKey) -> Bool {
        pauses.holds(serviceRoute, with: key)
    }

    /// Whether the pace of the lane's project lets so many requests leave now.
    nonisolated func hasRoom(for members: Int, on key: LaneKey) -> Bool {
        opened(key)?.pace.map { $0.room(Clocks.monotonicNow()) >= members } ?? true
    }

    nonisolated func submit(_ batch: PushBatch, _ name: LeaseName, on key: LaneKey, sink: any AnswerSink) {
        guard let lane = opened(key)?.lane else {
            // The lane was closed meanwhile, and nothing was sent.
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
        // The pause begins at once: the settle that follows puts the refused pushes into a parcel that could be leased
        // and sent.
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
        open.withLock {
            $0[key] = OpenLane(lane: lane, relay: relay, app: credential.app, pace: credential.settings.pace)
        }
        lane.warmUp()
    }

    private func act(on consequence: LaneConsequence, _ key: LaneKey, _ serviceRoute: ServiceRoute) async {
        switch consequence {
        case .providerTokenExpired(let generation):
            await credentials.providerTokenExpired(key.credential, generation: generation)
            opened(key)?.lane.replaceConnections()
        case .accessTokenRefused(let generation):
            // The next access token goes over the same connections.
            await credentials.providerTokenExpired(key.credential, generation: generation)
        case .connectionEnds(let connection):
            opened(key)?.lane.retire(connection)
        case .connectionsUnfit:
            await credentials.needsNewConnections(key.credential)
            opened(key)?.lane.replaceConnections()
        case .credentialRefused(let reason, let connection):
            // The lane decides whether this is news, hands back what it has not sent, and logs it like a GOAWAY.
            opened(key)?.lane.refuseCredential(reason: reason, receivedOn: connection)
        case .topicRefused:
            logPaused(serviceRoute, key, "the provider rejects this topic for this credential")
            await routesChanged?()
        case .alarm(let alarm):
            log.error(
                "Provider rejects requests: action needed",
                metadata: metadata(of: key, ["about": "\(alarm.text)"]))
        }
    }

    /// Whether the lane can send now, whatever events of it are still on their way.
    nonisolated func canSend(_ key: LaneKey) -> Bool? { opened(key)?.lane.canSend }

    /// Adds the lane's credential and app. A closed lane's app isn't known any more.
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
            "Route paused: its pushes wait",
            metadata: metadata(
                of: key, app: app,
                ["route": "\(serviceRoute.route.value)", "service": "\(serviceRoute.service)", "reason": "\(reason)"]))
    }

    /// Notes and logs that the lane's provider is throttling.
    package nonisolated func noteOpenBreaker(_ key: LaneKey, _ breaker: OpenBreaker) {
        if outages.withLock({ $0.noteOpen(key, breaker) }) {
            let seconds = RetryPolicy.wholeSeconds(breaker.until - breaker.since).components.seconds
            log.warning(
                "Circuit breaker opened: provider is throttling",
                metadata: metadata(of: key, ["retry_in": "\(seconds)s"]))
        }
        Task { await reportOutages() }
    }

    package nonisolated func noteClosedBreaker(_ key: LaneKey) {
        outages.withLock { $0.noteClosed(of: key) }
        Task { await reportOutages() }
    }

    /// Blocks the lane for all processes after one refusal. After the pause the route resolves again, and one dial
    /// tries.
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
        // Events may overtake each other on their way here; the lane's own state is right.
        await laneChanged?(key, self.canSend(key) ?? canSend)
        reportOutages()
    }

    private func beginsOutage(of key: LaneKey, _ event: LaneEvent) -> Bool {
        outages.withLock { $0.begin(of: key, event.outageReason, now: Clocks.monotonicNow()) }
    }

    /// Reports changed outages without being awaited. Upkeep repeats a report that failed.
    private func reportOutages() {
        guard !isReporting, areOutagesChanged else { return }
        isReporting = true
        Task {
            // Changes made meanwhile go into another report.
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

/// Passes events from a lane's thread to the pool.
final class LaneEventRelay: LaneObserver, Sendable {
    private let key: LaneKey
    private unowned let pool: LanePool
    private let unavailableFlag = Mutex(false)

    init(key: LaneKey, pool: LanePool) {
        self.key = key
        self.pool = pool
    }

    /// Returns true to the first caller.
    func markUnavailable() -> Bool {
        unavailableFlag.withLock { isShut in
            defer { isShut = true }
            return !isShut
        }
    }

    /// Returns true if it was unavailable.
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
    /// A number unique among a lane's unanswered batches: a parcel's epoch rises with each lease.
    var ticket: BatchTicket { BatchTicket(UInt64(bitPattern: parcel.value) << 20 ^ UInt64(UInt32(bitPattern: epoch))) }
}
