import APNs
import DeliveryRules
import PushModel
import Store
import Transport

extension DeliveryEngine {
    /// Encodes off this actor, so that other lanes' answers are not kept waiting.
    func submit(_ name: LeaseName, _ lane: LaneKey, _ positions: [Int32], _ until: MonotonicInstant) {
        guard let out = parcelsOut[name] else { return }
        parcelsOut[name]?.answersOutstanding = positions.count
        guard let notification = out.message.notification else { return refuse(name, positions) }
        Task {
            guard let topic = await lanes.topic(for: out.parcel.route, on: lane) else {
                return handBack(name, positions)
            }
            let encoder = ParcelEncoder(parcel: out.parcel, notification: notification, topic: topic)
            let batch = await Self.encode(encoder, positions, until)
            send(batch, name, lane)
        }
    }

    nonisolated private static func encode(
        _ encoder: ParcelEncoder, _ positions: [Int32], _ until: MonotonicInstant
    ) async -> PushBatch {
        await encoder.batch(of: positions, noStreamAfter: until)
    }

    /// Taken back while it was encoded, it never reaches the lane: the lane could not have found it to withdraw.
    private func send(_ batch: PushBatch, _ name: LeaseName, _ lane: LaneKey) {
        guard let out = parcelsOut[name] else { return }
        guard !out.isWithdrawn else { return handBack(name, batch.requests.map(\.tag)) }
        lanes.submit(batch, name, on: lane, sink: ParcelSink(name: name, inbox: answerInbox))
        steps?.reached(.batchSubmitted)
    }

    private func handBack(_ name: LeaseName, _ positions: [Int32]) {
        let others = positions.map { PositionedOutcome(position: $0, outcome: .unsent(.withdrawn)) }
        take(.answers(name, accepted: [], others: others))
    }

    /// What can't be encoded ends here; the door checks messages, so that is our fault, and alarms.
    private func refuse(_ name: LeaseName, _ positions: [Int32]) {
        let rejection = Rejection(fault: .ours, reason: "content_unreadable")
        take(
            .answers(
                name, accepted: [],
                others: positions.map { PositionedOutcome(position: $0, outcome: .rejected(rejection)) }))
    }

    func takeAnswers(_ delivery: ParcelAnswers) {
        guard var out = parcelsOut[delivery.name] else { return }
        if !out.sawAnswer {
            out.sawAnswer = true
            steps?.reached(.firstAnswer)
        }
        out.answersOutstanding -= delivery.batch.answers.count
        parcelsOut[delivery.name] = out
        if out.answersOutstanding <= 0 { steps?.reached(.lastAnswer) }
        var reading = AnswerReading()
        reading.read(delivery.batch, &reasonWords)
        for consequence in reading.consequences { lanes.heed(consequence, on: out.lane, out.parcel.route) }
        take(.answers(delivery.name, accepted: reading.accepted, others: reading.others))
    }
}

/// Hands a lane's answers to the engine's inbox. Called on the lane's thread.
final class ParcelSink: AnswerSink, Sendable {
    private let name: LeaseName
    private let inbox: AsyncStream<ParcelAnswers>.Continuation

    init(name: LeaseName, inbox: AsyncStream<ParcelAnswers>.Continuation) {
        self.name = name
        self.inbox = inbox
    }

    func deliver(_ answers: AnswerBatch) {
        inbox.yield(ParcelAnswers(name: name, batch: answers))
    }
}
