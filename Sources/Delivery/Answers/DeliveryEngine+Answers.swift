import Basis
import Lanes
import Model
import ProviderInterface
import Providers
import QueueRules
import Reactor

extension DeliveryEngine {
    func submit(_ out: OutgoingParcel) {
        let queueKey = EncodingQueueKey(out)
        encodingQueues[queueKey, default: BatchQueue(batchesMax: 1, entriesMax: 1)].add(out)
        Task { await makePushes(of: queueKey) }
    }

    /// Encodes parcels one after the other, and hands each to its lane before the next is encoded. So the pushes due
    /// longest leave first, and of two pushes to one device the one with the newer badge comes last.
    private func makePushes(of queueKey: EncodingQueueKey) async {
        while let next = encodingQueues[queueKey]?.take() {
            await makePushes(of: next[0])
            encodingQueues[queueKey]?.end()
        }
        if encodingQueues[queueKey]?.isIdle == true { encodingQueues[queueKey] = nil }
    }

    /// Encodes off this actor, so that other lanes' answers are not kept waiting.
    private func makePushes(of out: OutgoingParcel) async {
        let (name, target) = (out.name, out.exit.target)
        guard dispatcher.maySubmit(name) else { return handBack(name, out.positions) }
        guard let message = out.message else { return refuse(name, out.positions, Self.unreadable) }
        guard !dispatcher.refusesTopic(of: out.serviceRoute, on: out.exit.lane) else {
            return handBack(name, out.positions)
        }
        guard let encoder = ParcelEncoder(out.parcel, message, out.values, target) else {
            return refuse(name, out.positions, message.rejection(by: target.provider))
        }
        let pushes = await Self.encode(encoder, withValues(out), out.until)
        if !pushes.tooLarge.isEmpty { refuse(name, pushes.tooLarge, Self.tooLarge) }
        if !pushes.nothingToShow.isEmpty {
            end(pushes.nothingToShow, of: name, .withheld(reason: TerminalReason.nothingToShow))
        }
        let batch = pushes.batch
        guard !batch.requests.isEmpty else { return }
        let isValidated = PushProviders.offered(target.provider)?.offersValidation ?? false
        if message.isDryRun, !isValidated { return rehearse(name, batch.members) }
        send(batch, out)
    }

    /// Returns the positions whose values fitted into the read. The others are handed back and leased again in a parcel
    /// of their own.
    private func withValues(_ out: OutgoingParcel) -> [Int32] {
        guard let values = out.values, values.readCount < out.parcel.members.count else { return out.positions }
        let unread = out.positions.filter { $0 >= values.readCount }
        if !unread.isEmpty { handBack(out.name, unread) }
        return out.positions.filter { $0 < values.readCount }
    }

    /// The provider would answer the same.
    private static let tooLarge = Rejection(fault: .message, reason: "payload_too_large")

    nonisolated private static func encode(
        _ encoder: ParcelEncoder, _ positions: [Int32], _ until: MonotonicInstant
    ) async -> EncodedPushes { await encoder.batch(of: positions, now: Clocks.wallNow(), noStreamAfter: until) }

    /// Submits a batch to its lane. One that was withdrawn while it was encoded stays here: the lane could not have
    /// found it.
    private func send(_ batch: PushBatch, _ out: OutgoingParcel) {
        guard dispatcher.maySubmit(out.name) else { return handBack(out.name, batch.members) }
        lanes.open.submit(batch, out)
        steps?.reached(.batchSubmitted)
    }

    /// Ends a dry run's pushes to a provider without validation. They were built and checked, but are not sent.
    private func rehearse(_ name: LeaseName, _ positions: [Int32]) {
        end(positions, of: name, .withheld(reason: TerminalReason.dryRun))
    }

    private func handBack(_ name: LeaseName, _ positions: [Int32]) { end(positions, of: name, .unsent(.withdrawn)) }

    private func end(_ positions: [Int32], of name: LeaseName, _ outcome: Outcome) {
        let others = positions.map { PositionedOutcome(position: $0, outcome: outcome) }
        take(.answered([AnsweredLease(name, accepted: [], others: others, isFromProvider: false)]))
    }

    /// Validation checks every message, so unreadable content is our fault, and raises an alarm.
    private static let unreadable = Rejection(fault: .ours, reason: "content_unreadable")

    /// Ends pushes that can't be encoded.
    private func refuse(_ name: LeaseName, _ positions: [Int32], _ rejection: Rejection) {
        end(positions, of: name, .rejected(rejection))
    }

    /// Handles all deliveries as one event, so that the fixed cost of an event is paid once.
    func takeAnswers(_ deliveries: [ParcelAnswers]) {
        let answered = deliveries.compactMap(read)
        if !answered.isEmpty { take(.answered(answered)) }
    }

    private func read(_ delivery: ParcelAnswers) -> AnsweredLease? {
        let (out, batch) = (delivery.out, delivery.batch)
        let (name, lane) = (out.name, out.exit.lane)
        guard !batch.answers.isEmpty else { return AnsweredLease(name, accepted: [], others: [], isSent: batch.isSent) }
        let count = batch.answers.reduce(0) { $0 + Int($1.weight) }
        guard let arrived = noteArrived(count, of: name) else { return nil }
        if arrived == count { steps?.reached(.firstAnswer) }
        if arrived == batch.members.count { steps?.reached(.lastAnswer) }
        guard let provider = PushProviders.offered(out.exit.target.provider), let message = out.message
        else { preconditionFailure("only pushes that a provider encoded are answered") }
        let reading = AnswerReading(
            batch, of: provider, pushType: message.pushType,
            laneIsProven: dispatcher.isProven(lane, now: Clocks.monotonicNow()), wereTried: out.parcel.attempt > 0,
            tokens: MemberTokens(of: out.parcel), now: Clocks.wallNow(), &reasonNames)
        noteProof(lane, accepted: reading.accepted.count, refused: reading.refusedCount)
        if let complaint = reading.complaint, complaints.isNew(out.parcel.message) { report(complaint, out) }
        if let undocumentedBody = reading.undocumentedBody { report(undocumentedBody, out) }
        // A refused topic counts at once: the settle that follows puts the pushes into a parcel that could be leased.
        if let throttling = reading.throttling { lanes.open.note(throttling: throttling, on: lane) }
        for (consequence, quote) in zip(reading.consequences, reading.quotes) {
            let event = lanes.open.apply(consequence, quoting: quote, on: lane, out.serviceRoute)
            if let event { take(.lane(lane, event)) }
        }
        return AnsweredLease(
            name, accepted: reading.accepted, others: reading.others, isSent: batch.isSent,
            complaint: reading.complaint)
    }
}

extension DeliveryEngine {
    private static let undocumentedBodiesEvery: Duration = .seconds(60)

    private func report(_ undocumentedBody: String, _ out: OutgoingParcel) {
        let now = Clocks.monotonicNow()
        guard undocumentedRoutes.isDue(out.serviceRoute.route, now: now, every: Self.undocumentedBodiesEvery) else {
            return
        }
        Task {
            let app = await lanes.slug(of: out.parcel.app)
            log.warning(
                "Provider accepted pushes with an unexpected answer",
                metadata: [
                    "app": "\(app)", "provider": "\(out.exit.target.provider.name)",
                    "credential": "\(out.exit.lane.credential.value)", "reason": "\(undocumentedBody)",
                ])
        }
    }

    private func report(_ complaint: MessageComplaint, _ out: OutgoingParcel) {
        Task {
            let app = await lanes.slug(of: out.parcel.app)
            log.error(
                "Provider refuses a message: its content has to be changed",
                metadata: [
                    "app": "\(app)", "message_id": "\(out.parcel.message.value.text)",
                    "credential": "\(out.exit.lane.credential.value)", "provider": "\(out.exit.target.provider.name)",
                    "reason": "\(complaint.reason)", "field": "\(complaint.text)",
                ])
        }
    }
}

/// The messages about which a complaint was logged, each once.
struct ReportedComplaints: Sendable {
    private var messages: Set<MessageID> = []  // lookup only
    /// Above this number all are forgotten, and reported again.
    private static let messagesMax = 10_000

    mutating func isNew(_ message: MessageID) -> Bool {
        if messages.count >= Self.messagesMax { messages = [] }
        return messages.insert(message).inserted
    }
}

/// Hands a lane's answers to the engine's inbox. Called on the lane's thread.
final class ParcelSink: AnswerSink, Sendable {
    private let out: OutgoingParcel
    private let inbox: LaneInbox

    init(_ out: OutgoingParcel, inbox: LaneInbox) { (self.out, self.inbox) = (out, inbox) }

    func deliver(_ answers: AnswerBatch) { inbox.put(ParcelAnswers(out: out, batch: answers)) }
}
