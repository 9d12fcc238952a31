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
    /// The credential can't be used now, for a reason in the provider's words if it gave one. If it is being opened,
    /// the routes are resolved again after that.
    case waits(CredentialID, LaneCause, reason: String)
    /// No active credential covers the route.
    case missing
    /// The database could not be asked. The next poll asks again.
    case unread
}

/// The source of the lanes' credentials (`LaneCredentialCache`).
package protocol LaneCredentials: Sendable {
    /// Returns the route's credential. Called once per poll and route, so it answers from memory.
    func credential(for route: ReadyRoute) async -> CredentialStatus
    /// Announces a refused credential to the other processes, so that none tries it again before `pause` is over.
    func block(_ credential: CredentialID, reason: String, for pause: Duration) async
    /// Records that the provider refused that generation of the credential's provider token as too old, or of its access
    /// token. Returns true if the token stays in use, because no other may be signed yet.
    func providerTokenExpired(
        _ credential: CredentialID, generation: UInt64, quoting quote: AnswerQuote
    ) async -> Bool
    /// Records that connections opened before now are useless to this credential.
    func needsNewConnections(_ credential: CredentialID) async
    func slug(of app: AppID) async -> String
    func inactive(among credentials: [CredentialID]) async -> [CredentialID]
    /// Reports all lanes of this process that can't reach their provider or whose breaker is open, for the messages'
    /// progress. Returns false if that failed.
    func report(outages: [LaneOutage]) async -> Bool
}

/// Opens lanes on demand and keeps them. The engine submits through it, and takes the lanes' reports from its inbox.
package actor LanePool {
    /// Answers and reports, from the lanes' threads.
    package nonisolated let inbox = LaneInbox()
    let credentials: any LaneCredentials
    private let loops: [ReactorLoop]
    let log: Logger
    nonisolated let credentialBlock: Duration
    /// Routes whose pushes can't be sent at present, and why, so that each cause is logged once.
    var waitingRoutes: [ServiceRoute: LaneCause] = [:]
    static let waitingRoutesMax = 16_384
    /// The lanes that wait. The engine sets them at once: a wait for this actor would lose their order.
    private let outages = Mutex(LaneOutages())
    private var isReporting = false
    /// Looked up from any thread; changed on this actor only.
    private let open = Mutex<[LaneKey: OpenLane]>([:])
    /// Closed lanes that wait for their last answers, by their numbers.
    private var closing: [Int: Task<Void, Never>] = [:]
    private var openedCount = 0

    package init(credentials: any LaneCredentials, loops: [ReactorLoop], credentialBlock: Duration, log: Logger) {
        precondition(!loops.isEmpty)
        (self.credentials, self.loops, self.credentialBlock, self.log) = (credentials, loops, credentialBlock, log)
    }

    struct OpenLane: Sendable {
        let lane: Lane
        let number: Int
        let app: String
        let pace: ProviderPace?
        var quotes = ProviderQuotes()
    }

    /// Closes the lanes of credentials that are no longer active. They open no more streams; pushes without one come
    /// back, the others run to their answers.
    package func closeUnused() async {
        defer { reportOutages() }
        let known = open.withLock { $0.keys.sorted() }
        guard !known.isEmpty else { return }
        for credential in await credentials.inactive(among: known.map(\.credential)) {
            let key = LaneKey(credential)
            guard let lane = open.withLock({ $0.removeValue(forKey: key) }) else { continue }
            close(lane)
            inbox.put(LaneReport(key: key, lane: lane.number, kind: .closed))
        }
    }

    /// Drains a lane. That takes as long as the slowest answer, so only the pool's own drain waits for it.
    private func close(_ lane: OpenLane) {
        closing[lane.number] = Task {
            await lane.lane.drain()
            closing[lane.number] = nil
        }
    }

    package func resolve(_ route: ReadyRoute) async -> RouteResolution {
        switch await credentials.credential(for: route) {
        case .missing:
            await noteWaiting(route, .credentialUnknown)
            return .uncovered
        case .unread: return .uncovered
        case .waits(let credential, let cause, let reason):
            if cause != .credentialPending { await noteWaiting(route, cause, credential, reason) }
            return .waits(LaneKey(credential), cause, reason: reason)
        case .ready(let credential):
            let key = LaneKey(credential.id)
            guard let target = credential.reach.target(topic: route.topic) else {
                if isNews(.topicMissing, of: route) {
                    logPaused(route.serviceRoute, key, because: Self.topicMissing, of: credential.app)
                }
                return .waits(key, .topicMissing)
            }
            waitingRoutes[route.serviceRoute] = nil
            if opened(key) == nil { openLane(key, credential) }
            return .leaves(LaneTarget(key, target))
        }
    }

    /// Whether the pace of the lane's project lets so many requests leave now.
    nonisolated func hasRoom(for members: Int, on key: LaneKey) -> Bool {
        opened(key)?.pace.map { $0.room(Clocks.monotonicNow()) >= members } ?? true
    }

    nonisolated func submit(_ batch: PushBatch, _ out: OutgoingParcel) {
        let (ticket, sink) = (out.name.ticket, ParcelSink(out, inbox: inbox))
        guard let lane = opened(out.exit.lane)?.lane else {
            // The lane was closed meanwhile, and nothing was sent.
            let answers = batch.requests.map { Answer(tag: $0.tag, weight: $0.weight, kind: .unsent(.withdrawn)) }
            sink.deliver(AnswerBatch(ticket: ticket, answers: answers, members: batch.members, bytes: []))
            return
        }
        lane.submit(batch, ticket: ticket, sink: sink)
    }

    nonisolated func withdraw(_ name: LeaseName, on key: LaneKey) { opened(key)?.lane.withdraw(name.ticket) }

    nonisolated func retry(_ key: LaneKey) { opened(key)?.lane.retry() }

    /// Does what answers ask of their lane.
    /// - Parameter quote: the first of these answers.
    /// - Returns: what they say about the lane's health; nil: nothing yet. The lane decides whether a refused credential
    ///   is news, and reports it.
    package nonisolated func apply(
        _ consequence: LaneConsequence, quoting quote: AnswerQuote, on key: LaneKey, _ serviceRoute: ServiceRoute
    ) -> LaneHealth.Event? {
        open.withLock { $0[key]?.quotes.note(quote) }
        let lane = opened(key)?.lane
        switch consequence {
        case .providerTokenExpired(let generation, let connection):
            Task {
                if await credentials.providerTokenExpired(key.credential, generation: generation, quoting: quote) {
                    lane?.suspectCredential(reason: quote.reason, receivedOn: connection)
                } else {
                    lane?.replaceConnections()
                }
            }
        case .accessTokenRefused(let generation):
            // The next access token goes over the same connections.
            Task {
                _ = await credentials.providerTokenExpired(key.credential, generation: generation, quoting: quote)
            }
        case .connectionEnds(let connection): lane?.retire(connection)
        case .connectionsUnfit:
            Task {
                await credentials.needsNewConnections(key.credential)
                lane?.replaceConnections()
            }
        // Called at once: the lane hands back what it has not sent before it takes the next batch.
        case .credentialRefused(let reason, let connection):
            lane?.refuseCredential(reason: reason, receivedOn: connection)
        case .topicRefused(let reason): return .topicRefused(serviceRoute, for: credentialBlock, reason: reason)
        case .alarm(let alarm):
            log.error(
                "Provider rejects requests: action needed",
                metadata: metadata(of: key, quoting: quote.reason, ["about": "\(alarm.text)"]))
        }
        return nil
    }

    package func drain() async {
        report(waits: [])
        let lanes = open.withLock { $0.sorted { $0.key < $1.key }.map(\.value.lane) }
        for lane in lanes { await lane.drain() }
        for lane in closing.values { await lane.value }
    }

    nonisolated func opened(_ key: LaneKey) -> OpenLane? { open.withLock { $0[key] } }

    /// Records an answer that asks the lane to slow down, for the log.
    package nonisolated func note(throttling quote: AnswerQuote, on key: LaneKey) {
        open.withLock { $0[key]?.quotes.throttling = quote }
    }

    private func openLane(_ key: LaneKey, _ credential: LaneCredential) {
        openedCount += 1
        let relay = LaneEventRelay(key: key, number: openedCount, inbox: inbox)
        let loop = loops[Int(UInt64(bitPattern: key.credential.value) % UInt64(loops.count))]
        let lane = OpenLane(
            lane: Lane(credential.settings, on: loop, observer: relay), number: openedCount, app: credential.app,
            pace: credential.settings.pace)
        open.withLock { $0[key] = lane }
        lane.lane.warmUp()
    }

    func slug(of app: AppID) async -> String { await credentials.slug(of: app) }
}

extension LanePool {
    /// Reports the lanes that wait, in place of those reported before.
    package nonisolated func report(waits: [LaneWait]) {
        let quoted = waits.map { $0.quoting(opened($0.lane)?.quotes.throttling) }
        outages.withLock { $0.set(quoted, now: Clocks.monotonicNow()) }
        Task { await reportOutages() }
    }

    /// Reports without being awaited, one report at a time. Upkeep repeats a report that failed.
    private func reportOutages() {
        guard !isReporting else { return }
        isReporting = true
        Task {
            // Changes made meanwhile go into another report.
            while let due = outages.withLock({ $0.take(now: Clocks.monotonicNow()) }) {
                guard await credentials.report(outages: due) else {
                    outages.withLock { $0.reportFailed(now: Clocks.monotonicNow()) }
                    break
                }
            }
            isReporting = false
        }
    }
}

private final class LaneEventRelay: LaneObserver, Sendable {
    private let key: LaneKey
    private let number: Int
    private let inbox: LaneInbox

    init(key: LaneKey, number: Int, inbox: LaneInbox) { (self.key, self.number, self.inbox) = (key, number, inbox) }

    func laneChanged(canSend: Bool, because event: LaneEvent) {
        inbox.put(LaneReport(key: key, lane: number, kind: .changed(canSend: canSend, because: event)))
    }

    func laneNoted(_ event: LaneEvent) { inbox.put(LaneReport(key: key, lane: number, kind: .noted(event))) }
}

extension LeaseName {
    /// A number unique among a lane's unanswered batches: a parcel's epoch rises with each lease.
    var ticket: BatchTicket { BatchTicket(UInt64(bitPattern: parcel.value) << 20 ^ UInt64(UInt32(bitPattern: epoch))) }
}
