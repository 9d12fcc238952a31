import Basis
import Lanes
import ProviderInterface
import Reactor
import Testing

private final class NoSink: AnswerSink {
    func deliver(_ answers: AnswerBatch) {}
}

private func at(_ milliseconds: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: milliseconds * 1_000_000) }

private func batch(
    _ tags: Range<Int32>, noStreamAfter: MonotonicInstant = at(1_000_000), isUrgent: Bool = false
) -> PushBatch {
    Bench.batch(tags, noStreamAfter: noStreamAfter, isUrgent: isUrgent)
}

@Suite("A lane's queue")
struct LaneQueueTests {
    private func tags(_ queue: inout LaneQueue) -> [Int32] {
        queue.takeChanges().flatMap { $0.answers.answers.map(\.tag) }
    }

    @Test("hands out each request once, alternating between batches")
    func alternates() throws {
        var queue = LaneQueue()
        queue.submit(batch(0..<3), BatchTicket(1), NoSink(), at(0))
        queue.submit(batch(10..<12), BatchTicket(2), NoSink(), at(0))
        var seen: [Int32] = []
        while let run = queue.front {
            if let flight = queue.take(run) {
                seen.append(queue.batch(run).0.requests[Int(flight.request)].tag)
                queue.rotate(after: run, sent: 1)
            }
        }
        #expect(seen == [0, 10, 1, 11, 2])
        #expect(queue.waiting == 0)
        #expect(queue.unanswered == 5)
    }

    @Test("hands out urgent batches first, alternating between them")
    func urgent() throws {
        var queue = LaneQueue()
        queue.submit(batch(0..<3), BatchTicket(1), NoSink(), at(0))
        var seen = [try next(of: &queue)]
        queue.submit(batch(10..<12, isUrgent: true), BatchTicket(2), NoSink(), at(1))
        queue.submit(batch(20..<21, isUrgent: true), BatchTicket(3), NoSink(), at(1))
        while queue.waiting > 0 { seen.append(try next(of: &queue)) }
        #expect(seen == [0, 10, 20, 11, 1, 2])
    }

    @Test("hands out a returned urgent request before ordinary requests that wait")
    func urgentAgain() throws {
        var queue = LaneQueue()
        queue.submit(batch(0..<1, isUrgent: true), BatchTicket(1), NoSink(), at(0))
        queue.submit(batch(10..<12), BatchTicket(2), NoSink(), at(0))
        let run = try #require(queue.front)
        let taken = queue.take(run)
        let flight = try #require(taken)
        queue.rotate(after: run, sent: 1)
        var seen = [try next(of: &queue)]
        queue.refuse(flight, from: nil)
        while queue.waiting > 0 { seen.append(try next(of: &queue)) }
        #expect(seen == [10, 0, 11])
    }

    @Test("hands out one ordinary request after many urgent ones in a row")
    func urgentForLong() throws {
        var queue = LaneQueue()
        let inARow = Int32(LaneQueue.urgentInARowMax)
        queue.submit(batch(0..<2), BatchTicket(1), NoSink(), at(0))
        queue.submit(batch(10..<(10 + 3 * inARow), isUrgent: true), BatchTicket(2), NoSink(), at(0))
        var places: [Int] = []
        for place in 0..<(3 * LaneQueue.urgentInARowMax) where try next(of: &queue) < 10 { places.append(place) }
        #expect(places == [LaneQueue.urgentInARowMax, 2 * LaneQueue.urgentInARowMax + 1])
    }

    /// Takes the next request and returns its tag.
    private func next(of queue: inout LaneQueue) throws -> Int32 {
        while true {
            let run = try #require(queue.front)
            guard let flight = queue.take(run) else { continue }
            queue.rotate(after: run, sent: 1)
            return queue.batch(run).0.requests[Int(flight.request)].tag
        }
    }

    @Test("moves to the next batch when one is used up within its turn")
    func usedUp() throws {
        var queue = LaneQueue()
        for ticket in 1...3 as ClosedRange<Int32> {
            queue.submit(batch(ticket * 10..<ticket * 10 + 1), BatchTicket(UInt64(ticket)), NoSink(), at(0))
        }
        let run = try #require(queue.front)
        while queue.take(run) != nil {}
        queue.rotate(after: run, sent: 1)
        let next = try #require(queue.front)
        #expect(queue.batch(next).0.requests.first?.tag == 20)
    }

    @Test("reports once that every request of a batch has a stream, if it is asked to")
    func sent() throws {
        for (reports, answers) in [(true, false), (true, true), (false, true)] {
            var queue = LaneQueue()
            let batch = Bench.batch(0..<3, noStreamAfter: at(100), reportsWhenSent: reports)
            queue.submit(batch, BatchTicket(1), NoSink(), at(0))
            let run = try #require(queue.front)
            var flights: [Flight] = []
            for _ in 1...3 {
                queue.noteSent(run)
                #expect(queue.takeChanges().isEmpty)
                let taken = queue.take(run)
                flights.append(try #require(taken))
            }
            if answers { queue.respond(flights[0], from: nil, status: 200) }
            queue.noteSent(run)
            queue.noteSent(run)
            let news = queue.takeChanges().map(\.answers)
            #expect(news.map(\.isSent) == [reports])
            #expect(news.map(\.answers.count) == [answers ? 1 : 0])
            // One request comes back and leaves again.
            queue.giveBack(flights[2])
            let taken = queue.take(run)
            let last = try #require(taken)
            queue.noteSent(run)
            #expect(queue.takeChanges().isEmpty)
            if !answers { queue.respond(flights[0], from: nil, status: 200) }
            for flight in [flights[1], last] { queue.respond(flight, from: nil, status: 200) }
            #expect(queue.takeChanges().map(\.answers.answers.count) == [answers ? 2 : 3])
            #expect(queue.unanswered == 0)
        }
    }

    @Test("reports that no request of a batch waits after the unsent ones were returned")
    func sentOrBack() throws {
        var queue = LaneQueue()
        queue.submit(Bench.batch(0..<3, noStreamAfter: at(100), reportsWhenSent: true), BatchTicket(1), NoSink(), at(0))
        let run = try #require(queue.front)
        _ = queue.take(run)
        queue.withdraw(BatchTicket(1))
        let news = queue.takeChanges().map(\.answers)
        #expect(news.map(\.isSent) == [true] && news.map(\.answers.count) == [2])
    }

    @Test("returns waiting requests when their time is over, and leaves those in flight alone")
    func expiry() throws {
        var queue = LaneQueue()
        queue.submit(batch(0..<5, noStreamAfter: at(100)), BatchTicket(1), NoSink(), at(0))
        let run = try #require(queue.front)
        let taken = queue.take(run)
        let flight = try #require(taken)
        #expect(queue.expiry(unusableSince: nil, unreachableAfter: .seconds(10)).map { $0 > at(100) } == true)
        queue.expire(at(100), unusableSince: nil, unreachableAfter: .seconds(10))
        #expect(queue.unanswered == 5)
        queue.expire(at(101), unusableSince: nil, unreachableAfter: .seconds(10))
        #expect(tags(&queue) == [1, 2, 3, 4])
        queue.giveBack(flight)
        queue.expire(at(102), unusableSince: nil, unreachableAfter: .seconds(10))
        #expect(tags(&queue) == [0])
        #expect(queue.unanswered == 0)
    }

    @Test("measures the wait for an unusable lane from the later of submission and loss")
    func timeout() {
        var queue = LaneQueue()
        queue.submit(batch(0..<1), BatchTicket(1), NoSink(), at(0))
        queue.submit(batch(1..<2), BatchTicket(2), NoSink(), at(5_000))
        queue.expire(at(9_999), unusableSince: at(0), unreachableAfter: .seconds(10))
        #expect(tags(&queue) == [])
        queue.expire(at(10_000), unusableSince: at(0), unreachableAfter: .seconds(10))
        #expect(tags(&queue) == [0])
        queue.expire(at(15_000), unusableSince: at(0), unreachableAfter: .seconds(10))
        #expect(tags(&queue) == [1])
    }

    @Test("keeps nothing of an empty batch")
    func empty() {
        var queue = LaneQueue()
        queue.submit(batch(0..<0), BatchTicket(1), NoSink(), at(0))
        #expect(queue.unanswered == 0 && queue.front == nil)
    }

    @Test("answers every request exactly once under random use", arguments: 0..<100 as Range<UInt64>)
    func model(seed: UInt64) {
        var chance = seed &* 0x9e37_79b9_7f4a_7c15 | 1
        func next(_ bound: Int) -> Int {
            chance ^= chance << 13
            chance ^= chance >> 7
            chance ^= chance << 17
            return Int(chance % UInt64(bound))
        }
        var queue = LaneQueue()
        var submitted: Int32 = 0
        var flights: [Flight] = []
        var answered: [Int32] = []
        var now: Int64 = 0
        for step in 0..<400 as Range<UInt64> {
            now += Int64(next(20))
            switch next(10) {
            case 0:
                let count = Int32(next(30))
                queue.submit(
                    batch(
                        submitted..<(submitted + count), noStreamAfter: at(now + Int64(next(500))),
                        isUrgent: next(3) == 0),
                    BatchTicket(step), NoSink(), at(now))
                submitted += count
            case 1: queue.withdraw(BatchTicket(UInt64(next(Int(step) + 1))))
            case 2, 3: queue.expire(at(now), unusableSince: next(3) == 0 ? at(0) : nil, unreachableAfter: .seconds(2))
            case 4: answered += tags(&queue)
            case 5, 6:
                for _ in 0..<next(20) {
                    guard let run = queue.front else { continue }
                    if let flight = queue.take(run) { flights.append(flight) }
                    if next(4) == 0 { queue.rotate(after: run, sent: 1) }
                }
            default:
                guard !flights.isEmpty else { continue }
                let flight = flights.remove(at: next(flights.count))
                switch next(4) {
                case 0: queue.giveBack(flight)
                case 1: queue.refuse(flight, from: nil)
                case 2: queue.respond(flight, from: nil, status: 400, retryAfter: [1].span, body: [2, 3].span)
                default: queue.respond(flight, from: nil, status: 200)
                }
            }
            #expect(queue.unanswered >= queue.waiting + flights.count)
        }
        for flight in flights { queue.answer(flight, .unknown(.connectionLost), from: nil) }
        queue.handBackAll(.withdrawn)
        answered += tags(&queue)
        #expect(answered.sorted() == Array(0..<submitted))
        #expect(queue.unanswered == 0 && queue.waiting == 0)
    }
}

@Suite("The requests in flight on a connection")
struct StreamSlotsTests {
    @Test("keep track of the oldest request, in whatever order they end", arguments: 0..<50 as Range<UInt64>)
    func model(seed: UInt64) {
        var chance = seed &* 0x9e37_79b9_7f4a_7c15 | 1
        func next(_ bound: Int) -> Int {
            chance ^= chance << 13
            chance ^= chance >> 7
            chance ^= chance << 17
            return Int(chance % UInt64(bound))
        }
        var slots = StreamSlots()
        var open: [(place: Int, request: Int32, at: MonotonicInstant)] = []
        var abandoned: [Int] = []
        for step in 0..<500 as Range<Int32> {
            switch next(5) {
            case 0, 1:
                let flight = Flight(run: 0, request: step, refusals: 0)
                open.append((slots.open(flight, at(Int64(step))), step, at(Int64(step))))
            case 2 where !open.isEmpty:
                let ended = open.remove(at: next(open.count))
                let flight = slots.close(ended.place)
                #expect(flight?.request == ended.request)
            case 3 where !open.isEmpty && next(4) == 0:
                let oldest = open.removeFirst()
                let late = slots.abandonOldest()
                #expect(late?.flight.request == oldest.request)
                abandoned.append(oldest.place)
            case 4 where !abandoned.isEmpty:
                let place = abandoned.remove(at: next(abandoned.count))
                #expect(slots.close(place) == nil, "a late answer is ignored")
            default: break
            }
            #expect(slots.count == open.count)
            #expect(slots.oldestOpening == open.first?.at)
        }
    }
}

@Suite("The order of dialling")
struct DialOrderTests {
    private func address(_ last: UInt8) -> SocketAddress? { SocketAddress(literal: "192.0.2.\(last)", port: 443) }
    private func address6(_ last: UInt8) -> SocketAddress? { SocketAddress(literal: "2001:db8::\(last)", port: 443) }

    @Test("alternates the address families, and starts each connection at another address")
    func alternates() {
        let found = [address6(1), address6(2), address(1), address(2)].compactMap { $0 }
        #expect(DialOrder.arrange(found, start: 0) == [address6(1), address(1), address6(2), address(2)])
        #expect(DialOrder.arrange(found, start: 1) == [address6(2), address(2), address6(1), address(1)])
        #expect(DialOrder.arrange([], start: 3) == [])
    }

    @Test("contains a limited number of addresses")
    func bounded() {
        let found = (0..<50 as Range<UInt8>).compactMap { address($0) }
        #expect(DialOrder.arrange(found, start: 7).count == DialOrder.addressesMax)
    }
}
