import Basis
import CommandLine
import Foundation
import Lanes
import ProviderInterface
import Reactor
import Synchronization
import TLS

/// A lane towards a sink, and pushes that are made beforehand.
struct WireSender: Sendable {
    struct Run: Sendable {
        let time: Duration
        /// This program's processor time. Only its lane works meanwhile.
        let processor: Duration
        let sink: Duration
    }

    private let lane: Lane
    private let standIns: OwnStandIns
    private let batch: PushBatch
    /// The size of a parcel.
    private static let batchPushes = 5_000
    /// Batches that the lane holds at once, so that it never waits for the next one.
    private static let batchesInFlight = 4
    private static let batchTime: Duration = .seconds(3_600)

    static func within<Answer>(
        _ standIns: OwnStandIns, _ body: (WireSender) async throws -> Answer
    ) async throws -> Answer {
        guard let url = URL(string: standIns.production), let host = url.host,
            let port = url.port.flatMap({ UInt16(exactly: $0) })
        else { throw CommandFault(.failed, "\(standIns.production) is not an address") }
        let loop = try ReactorLoop(name: "lane")
        let trust = try TLSTrust.only(pem: Array(try text(ofFile: standIns.authorityFile).utf8))
        // One connection, as the reference has.
        var settings = LaneSettings(
            host: host, port: port, tls: try TLSContext.client(trust: trust), authorization: Bearer(),
            connectionsMax: 1, requestDeadline: .seconds(20))
        settings.streamsAtStart = 1_000
        let lane = Lane(settings, on: loop, observer: Silence())
        let sender = WireSender(
            lane: lane, standIns: standIns, batch: Self.batch(until: Clocks.monotonicNow() + Self.batchTime))
        let outcome: Result<Answer, any Error>
        do { outcome = .success(try await body(sender)) } catch { outcome = .failure(error) }
        await lane.drain()
        loop.stop()
        return try outcome.get()
    }

    func run(_ pushes: Int) async throws -> Run {
        let before = try used()
        let clock = ContinuousClock()
        let start = clock.now
        let batches = (pushes + Self.batchPushes - 1) / Self.batchPushes
        let (lane, batch) = (lane, batch)
        let count = WireCount(batches: batches, of: Self.batchPushes) { ticket, count in
            lane.submit(batch, ticket: ticket, sink: count)
        }
        let accepted = await count.run(inFlight: Self.batchesInFlight)
        guard accepted == batches * Self.batchPushes else {
            throw CommandFault(.failed, "the sink accepted \(accepted) of \(batches * Self.batchPushes) pushes")
        }
        let took = clock.now - start
        let after = try used()
        let share = Double(pushes) / Double(accepted)
        return Run(
            time: took * share, processor: (after.own - before.own) * share, sink: (after.sink - before.sink) * share)
    }

    private func used() throws(CommandFault) -> (own: Duration, sink: Duration) {
        guard let own = ProcessUsage(of: ProcessInfo.processInfo.processIdentifier),
            let sink = ProcessUsage(of: standIns.process)
        else { throw CommandFault(.failed, "the stand-ins have ended") }
        return (own.processor, sink.processor)
    }

    private static func batch(until deadline: MonotonicInstant) -> PushBatch {
        var bytes: [UInt8] = []
        var requests: [PushBatch.Request] = []
        func append(_ text: String) -> ByteRange {
            let start = bytes.count
            bytes += Array(text.utf8)
            return ByteRange(start: start, count: bytes.count - start)
        }
        for number in 1...batchPushes {
            requests.append(
                PushBatch.Request(
                    tag: Int32(number), path: append("/3/device/" + BenchDevice(number: number).token),
                    id: append("01920000-0000-8000-8000-" + String(format: "%012x", number)),
                    body: append(String(number % 100))))
        }
        let fields = [
            ("apns-topic", OwnStandIns.topic), ("apns-push-type", "alert"), ("apns-priority", "10"),
            ("apns-expiration", "1893456000"), ("apns-collapse-id", "0192000000008000"),
        ]
        return PushBatch(
            idHeader: Array("apns-id".utf8),
            sharedFields: fields.map {
                PushBatch.SharedField($0.0, $0.1.utf8)
            },
            bytes: bytes,
            frames: [
                PushBatch.BodyFrame(
                    prefix: Array(ReferenceSender.payloadBeforeBadge.utf8),
                    suffix: Array(ReferenceSender.payloadBehindBadge.utf8))
            ], requests: requests, noStreamAfter: deadline)
    }
}

/// A fixed authorization. The sink doesn't check it.
private struct Bearer: AuthorizationSource {
    let current: Authorization? = Authorization(
        value: Array(ReferenceSender.authorization.utf8), generation: 1)
}

/// Ignores the lane's events: failures show in the answers.
private final class Silence: LaneObserver {
    func laneChanged(canSend: Bool, because: LaneEvent) {}
    func laneNoted(_ event: LaneEvent) {}
}

/// Submits batches of the same size one after the other, and counts the accepted pushes.
private final class WireCount: AnswerSink {
    private struct State {
        var submitted = 0
        var answered = 0
        var accepted = 0
        var waiter: CheckedContinuation<Int, Never>?
    }

    private let batches: Int
    private let pushesOfBatch: Int
    private let submit: @Sendable (BatchTicket, WireCount) -> Void
    private let state = Mutex(State())
    /// Unique over all runs.
    private static let tickets = Atomic<UInt64>(0)

    init(batches: Int, of pushes: Int, _ submit: @escaping @Sendable (BatchTicket, WireCount) -> Void) {
        self.batches = batches
        pushesOfBatch = pushes
        self.submit = submit
    }

    /// - Returns: the number of accepted pushes, once all have their answers.
    func run(inFlight: Int) async -> Int {
        await withCheckedContinuation { continuation in
            state.withLock { $0.waiter = continuation }
            for _ in 0..<inFlight { submitNext() }
        }
    }

    private func submitNext() {
        let isLeft = state.withLock { state in
            guard state.submitted < batches else { return false }
            state.submitted += 1
            return true
        }
        guard isLeft else { return }
        submit(BatchTicket(Self.tickets.add(1, ordering: .relaxed).newValue), self)
    }

    func deliver(_ answers: AnswerBatch) {
        let accepted = answers.answers.reduce(0) { count, answer in
            if case .response(status: 200, _, _) = answer.kind { count + 1 } else { count }
        }
        let (wanted, accepts, waiter) = state.withLock { state in
            let before = state.answered / pushesOfBatch
            state.answered += answers.answers.count
            state.accepted += accepted
            let isDone = state.answered == batches * pushesOfBatch
            defer { if isDone { state.waiter = nil } }
            return (state.answered / pushesOfBatch - before, state.accepted, isDone ? state.waiter : nil)
        }
        for _ in 0..<wanted { submitNext() }
        waiter?.resume(returning: accepts)
    }
}
