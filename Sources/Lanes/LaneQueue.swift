import Basis
import LaneRules
import Model
import ProviderInterface

/// The batches of a lane while any of their requests is unanswered, and the order in which requests leave.
///
/// Batches alternate, a quantum each, urgent ones first, so that a single push does not wait behind a broadcast. Every
/// request is answered exactly once: by its response, by a fault, or by being handed back.
///
/// Bounded by what the caller submits. It keeps nothing of a batch whose requests are all answered.
package struct LaneQueue {
    /// A request that the peer did not take, and that waits for another stream.
    private struct Again {
        let request: Int32
        let refusals: Int32
    }

    private struct Run {
        var batch: PushBatch
        /// A number that is never used again, unlike the place.
        var serial: UInt64
        var ticket: BatchTicket
        /// nil: the place is free.
        var sink: (any AnswerSink)?
        var submittedAt: MonotonicInstant
        let noStreamAfter: MonotonicInstant
        /// The first request that was never on a stream.
        var next: Int32 = 0
        var again: [Again] = []
        var unanswered: Int
        var isQueued = false
        var isChanged = false
        /// None of the batch's requests waits; set only if the batch reports it.
        var isSent = false
        var answers: [Answer] = []
        var bytes: [UInt8] = []

        var waiting: Int { batch.requests.count - Int(next) + again.count }
    }

    /// The number of refused streams on live connections after which a request is handed back, to be tried later.
    ///
    /// GOAWAY is not counted: it ends its connection, and the lane's breaker watches those.
    package static let refusalsMax: Int32 = 4
    /// Requests of one batch in a row, before the next batch's quantum.
    package static let quantum = 64
    /// Urgent requests in a row, before one quantum of the others that wait. Urgent messages have few receivers each,
    /// so this is seldom reached. But a lane with more of them than its provider takes must not starve the others.
    package static let urgentInARowMax = 16 * quantum

    private var runs: [Run] = []
    private var freeRuns: [Int32] = []
    /// Batches with waiting requests, in the order of their quanta: the urgent ones, and the others.
    private var urgentQueue: [Int32] = []
    private var queue: [Int32] = []
    /// The urgent requests sent in a row while others waited.
    private var urgentInARow = 0
    /// Batches with something to deliver, each once.
    private var changes: [Int32] = []
    private var serials: UInt64 = 0
    package private(set) var waiting = 0
    package private(set) var unanswered = 0

    package init() {}

    package mutating func submit(
        _ batch: PushBatch, _ ticket: BatchTicket, _ sink: any AnswerSink, _ now: MonotonicInstant
    ) {
        if batch.requests.isEmpty { return }
        serials += 1
        let run = Run(
            batch: batch, serial: serials, ticket: ticket, sink: sink, submittedAt: now,
            noStreamAfter: batch.noStreamAfter, unanswered: batch.requests.count)
        let place: Int32
        if let free = freeRuns.popLast() {
            place = free
            runs[Int(place)] = run
        } else {
            place = Int32(runs.count)
            runs.append(run)
        }
        waiting += batch.requests.count
        unanswered += batch.requests.count
        enqueue(place)
    }

    package mutating func withdraw(_ ticket: BatchTicket) { handBack(.withdrawn) { $0.ticket == ticket } }

    package mutating func handBackAll(_ fault: TransportFault) { handBack(fault) { _ in true } }

    private mutating func handBack(_ fault: TransportFault, where isMeant: (Run) -> Bool) {
        for place in urgentQueue where isMeant(runs[Int(place)]) { handBack(place, fault) }
        for place in queue where isMeant(runs[Int(place)]) { handBack(place, fault) }
        urgentQueue.removeAll { !runs[Int($0)].isQueued }
        queue.removeAll { !runs[Int($0)].isQueued }
    }

    private mutating func handBack(_ place: Int32, _ fault: TransportFault) {
        while let flight = pop(place) { answer(flight, .unsent(fault), from: nil) }
        noteSent(place)
        runs[Int(place)].isQueued = false
    }
}

extension LaneQueue {
    package var front: Int32? {
        if urgentInARow >= LaneQueue.urgentInARowMax, let other = queue.first { return other }
        return urgentQueue.first ?? queue.first
    }

    package func batch(_ place: Int32) -> (PushBatch, serial: UInt64) {
        (runs[Int(place)].batch, runs[Int(place)].serial)
    }

    /// - Parameter flight: a request that is not answered yet.
    package func request(of flight: Flight) -> PushBatch.Request {
        runs[Int(flight.run)].batch.requests[Int(flight.request)]
    }

    /// Returns the batch's next request; nil: none of it waits.
    package mutating func take(_ place: Int32) -> Flight? {
        if let flight = pop(place) { return flight }
        dequeue(place)
        return nil
    }

    /// Puts back a request that could not leave, or whose connection went away without taking it. It is the first of
    /// its batch again.
    package mutating func giveBack(_ flight: Flight) {
        runs[Int(flight.run)].again.append(Again(request: flight.request, refusals: flight.refusals))
        waiting += 1
        enqueue(flight.run)
    }

    /// Ends the batch's quantum, so that the next batch follows. If none of the batch waits, the next one is at the
    /// front already.
    package mutating func rotate(after place: Int32, sent: Int) {
        if runs[Int(place)].batch.isUrgent {
            urgentInARow = queue.isEmpty ? 0 : urgentInARow + sent
            if urgentQueue.count > 1 && urgentQueue.first == place { urgentQueue.append(urgentQueue.removeFirst()) }
        } else {
            urgentInARow = 0
            if queue.count > 1 && queue.first == place { queue.append(queue.removeFirst()) }
        }
    }

    /// Notes that requests of the batch left or were handed back, possibly the last ones. This is reported once: a
    /// request that the peer refuses later waits again for a moment.
    package mutating func noteSent(_ place: Int32) {
        let index = Int(place)
        guard runs[index].batch.reportsWhenSent, !runs[index].isSent, runs[index].waiting == 0 else { return }
        runs[index].isSent = true
        noteChanged(place)
    }

    private mutating func noteChanged(_ place: Int32) {
        if runs[Int(place)].isChanged { return }
        runs[Int(place)].isChanged = true
        changes.append(place)
    }

    private mutating func pop(_ place: Int32) -> Flight? {
        let index = Int(place)
        if let again = runs[index].again.popLast() {
            waiting -= 1
            return Flight(run: place, request: again.request, refusals: again.refusals)
        }
        guard Int(runs[index].next) < runs[index].batch.requests.count else { return nil }
        runs[index].next += 1
        waiting -= 1
        return Flight(run: place, request: runs[index].next - 1, refusals: 0)
    }

    private mutating func enqueue(_ place: Int32) {
        if runs[Int(place)].isQueued { return }
        runs[Int(place)].isQueued = true
        if runs[Int(place)].batch.isUrgent { urgentQueue.append(place) } else { queue.append(place) }
    }

    private mutating func dequeue(_ place: Int32) {
        runs[Int(place)].isQueued = false
        if runs[Int(place)].batch.isUrgent {
            urgentQueue.removeAll { $0 == place }
        } else {
            queue.removeAll { $0 == place }
        }
    }
}

extension LaneQueue {
    /// Takes a request whose stream a live connection refused. It gets another stream, or, after too many refusals, its
    /// answer.
    package mutating func refuse(_ flight: Flight, from connection: ConnectionID?) {
        var flight = flight
        flight.refusals += 1
        guard flight.refusals >= LaneQueue.refusalsMax else { return giveBack(flight) }
        answer(flight, .unsent(.refusedStream), from: connection)
    }

    /// - Parameter connection: the connection that carried the request; nil: none.
    package mutating func answer(_ flight: Flight, _ kind: Answer.Kind, from connection: ConnectionID?) {
        let place = Int(flight.run)
        precondition(runs[place].unanswered > 0, "each request is answered once")
        runs[place].unanswered -= 1
        unanswered -= 1
        noteChanged(flight.run)
        let request = self.request(of: flight)
        let origin = connection.map { AnswerOrigin(connection: $0, authorization: flight.authorization) }
        runs[place].answers.append(Answer(tag: request.tag, weight: request.weight, kind: kind, origin: origin))
    }

    /// Answers with a common response, which has no bytes to keep.
    package mutating func respond(_ flight: Flight, from connection: ConnectionID?, status: UInt16) {
        answer(flight, .response(status: status, retryAfter: .empty, body: .empty), from: connection)
    }

    package mutating func respond(
        _ flight: Flight, from connection: ConnectionID?, status: UInt16, retryAfter: Span<UInt8>, body: Span<UInt8>
    ) {
        let place = Int(flight.run)
        let retryAfter = append(retryAfter, place)
        let body = append(body, place)
        answer(flight, .response(status: status, retryAfter: retryAfter, body: body), from: connection)
    }

    private mutating func append(_ span: Span<UInt8>, _ place: Int) -> ByteRange {
        let start = runs[place].bytes.count
        for index in span.indices { runs[place].bytes.append(span[index]) }
        return ByteRange(start: start, count: span.count)
    }

    /// Returns this tick's answers, and forgets batches that are answered completely.
    package mutating func takeChanges() -> [(sink: any AnswerSink, answers: AnswerBatch)] {
        if changes.isEmpty { return [] }
        var deliveries: [(sink: any AnswerSink, answers: AnswerBatch)] = []
        deliveries.reserveCapacity(changes.count)
        for place in changes.map({ Int($0) }) {
            guard let sink = runs[place].sink else { continue }
            let batch = AnswerBatch(
                ticket: runs[place].ticket, answers: runs[place].answers, members: runs[place].batch.members,
                bytes: runs[place].bytes, isSent: runs[place].isSent)
            deliveries.append((sink, batch))
            runs[place].answers = []
            runs[place].bytes = []
            runs[place].isChanged = false
            if runs[place].unanswered == 0 { free(place) }
        }
        changes.removeAll(keepingCapacity: true)
        return deliveries
    }

    private mutating func free(_ place: Int) {
        if runs[place].isQueued { dequeue(Int32(place)) }
        runs[place].sink = nil
        runs[place].batch = LaneQueue.nothing
        runs[place].again = []
        freeRuns.append(Int32(place))
    }

    private static let nothing = PushBatch(
        idHeader: [], sharedFields: [], bytes: [], requests: [], noStreamAfter: MonotonicInstant(nanoseconds: 0))
}

extension LaneQueue {
    /// The submission time of the oldest waiting request.
    package var waitingSince: MonotonicInstant? { Self.earlier(waitingSince(in: urgentQueue), waitingSince(in: queue)) }

    private func waitingSince(in queue: [Int32]) -> MonotonicInstant? {
        queue.lazy.filter { runs[Int($0)].waiting > 0 }.map { runs[Int($0)].submittedAt }.min()
    }

    private static func earlier(_ one: MonotonicInstant?, _ other: MonotonicInstant?) -> MonotonicInstant? {
        guard let one, let other else { return one ?? other }
        return min(one, other)
    }

    /// Hands back requests that must not get a stream any more, or that no connection could take for too long.
    /// - Parameter unusableSince: the time since which no connection takes requests; nil: one does.
    package mutating func expire(_ now: MonotonicInstant, unusableSince: MonotonicInstant?, unreachableAfter: Duration)
    {
        handBack(.withdrawn) { now > $0.noStreamAfter }
        guard let unusableSince else { return }
        handBack(.unreachable) { now >= max($0.submittedAt, unusableSince) + unreachableAfter }
    }

    package func expiry(unusableSince: MonotonicInstant?, unreachableAfter: Duration) -> MonotonicInstant? {
        Self.earlier(
            expiry(in: urgentQueue, unusableSince, unreachableAfter), expiry(in: queue, unusableSince, unreachableAfter)
        )
    }

    private func expiry(
        in queue: [Int32], _ unusableSince: MonotonicInstant?, _ unreachableAfter: Duration
    ) -> MonotonicInstant? {
        var earliest: MonotonicInstant?
        for place in queue where runs[Int(place)].waiting > 0 {
            let run = runs[Int(place)]
            var at = run.noStreamAfter + .nanoseconds(1)
            if let unusableSince { at = min(at, max(run.submittedAt, unusableSince) + unreachableAfter) }
            earliest = Self.earlier(earliest, at)
        }
        return earliest
    }
}
