import LaneRules
import Lanes
import Logging
import Model
import ProviderInterface
import QueueRules
import Reactor
import Synchronization

/// The lanes that are open. The engine submits through them, and takes their reports from the inbox.
///
/// Any thread may use a lane. Only `LanePool` opens and removes lanes.
package final class OpenLanes: Sendable {
    struct OpenLane: Sendable {
        let lane: Lane
        let number: Int
        let credential: LaneCredential
        var quotes = ProviderQuotes()
    }

    /// Answers and reports, from the lanes' threads.
    let inbox = LaneInbox()
    let log: Logger
    /// How long a refused credential or topic is not tried again.
    let credentialBlock: Duration
    private let loops: [ReactorLoop]
    private let lanes = Mutex<[LaneKey: OpenLane]>([:])
    private let openedCount = Atomic<Int>(0)

    package init(loops: [ReactorLoop], credentialBlock: Duration, log: Logger) {
        precondition(!loops.isEmpty)
        (self.loops, self.credentialBlock, self.log) = (loops, credentialBlock, log)
    }

    func opened(_ key: LaneKey) -> OpenLane? { lanes.withLock { $0[key] } }

    var keys: [LaneKey] { lanes.withLock { $0.keys.sorted() } }

    /// Returns the destination of a route's pushes, and opens the credential's lane if it is not open. nil: neither the
    /// route nor the credential names a topic.
    package func target(of route: ReadyRoute, with credential: LaneCredential) -> LaneTarget? {
        guard let target = credential.reach.target(topic: route.topic) else { return nil }
        let key = LaneKey(credential.id)
        if opened(key) == nil { open(key, credential) }
        return LaneTarget(key, target)
    }

    private func open(_ key: LaneKey, _ credential: LaneCredential) {
        let number = openedCount.add(1, ordering: .relaxed).newValue
        let relay = LaneEventRelay(key: key, number: number, inbox: inbox)
        let loop = loops[Int(UInt64(bitPattern: key.credential.value) % UInt64(loops.count))]
        let lane = Lane(credential.settings, on: loop, observer: relay)
        lanes.withLock { $0[key] = OpenLane(lane: lane, number: number, credential: credential) }
        lane.warmUp()
    }

    /// Removes a lane, which is then to be drained. nil: it is not open.
    func remove(_ key: LaneKey) -> OpenLane? {
        guard let lane = lanes.withLock({ $0.removeValue(forKey: key) }) else { return nil }
        inbox.put(LaneReport(key: key, lane: lane.number, kind: .closed))
        return lane
    }

    package func drain() async {
        let open = lanes.withLock { $0.sorted { $0.key < $1.key }.map(\.value.lane) }
        for lane in open { await lane.drain() }
    }

    /// Whether the pace of the lane's project lets pushes to so many members leave now.
    func hasRoom(for members: Int, on key: LaneKey) -> Bool {
        opened(key)?.credential.settings.pace.map { $0.room(Clocks.monotonicNow()) >= members } ?? true
    }

    func submit(_ batch: PushBatch, _ out: OutgoingParcel) {
        let (ticket, sink) = (out.name.ticket, ParcelSink(out, inbox: inbox))
        guard let lane = opened(out.exit.lane)?.lane else {
            // The lane was closed meanwhile, and nothing was sent.
            let answers = batch.requests.map { Answer(tag: $0.tag, weight: $0.weight, kind: .unsent(.withdrawn)) }
            sink.deliver(AnswerBatch(ticket: ticket, answers: answers, members: batch.members, bytes: []))
            return
        }
        lane.submit(batch, ticket: ticket, sink: sink)
    }

    func withdraw(_ name: LeaseName, on key: LaneKey) { opened(key)?.lane.withdraw(name.ticket) }

    func retry(_ key: LaneKey) { opened(key)?.lane.retry() }

    /// Records an answer that asks the lane to slow down, for the log.
    package func note(throttling quote: AnswerQuote, on key: LaneKey) {
        lanes.withLock { $0[key]?.quotes.throttling = quote }
    }

    /// Does what answers ask of their lane.
    /// - Parameter quote: the first of these answers.
    /// - Returns: what they say about the lane's health; nil: nothing yet. The lane decides whether a refused credential
    ///   is news, and reports it.
    package func apply(
        _ consequence: LaneConsequence, quoting quote: AnswerQuote, on key: LaneKey, _ serviceRoute: ServiceRoute
    ) -> LaneHealth.Event? {
        lanes.withLock { $0[key]?.quotes.note(quote) }
        let own = opened(key)
        let (lane, credential) = (own?.lane, own?.credential)
        switch consequence {
        case .providerTokenExpired(let generation, let connection):
            Task {
                if await credential?.noteTokenExpired(generation, quoting: quote) ?? false {
                    lane?.suspectCredential(reason: quote.reason, receivedOn: connection)
                } else {
                    lane?.replaceConnections()
                }
            }
        case .accessTokenRefused(let generation):
            // The next access token goes over the same connections.
            Task { _ = await credential?.noteTokenExpired(generation, quoting: quote) }
        case .connectionEnds(let connection): lane?.retire(connection)
        case .connectionsUnfit:
            credential?.needsNewConnections()
            lane?.replaceConnections()
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
