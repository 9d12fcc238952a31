import Delivery
import PushModel
import Store
import Synchronization

/// Who follows which message on this process: one look at the database a second for each message, however many follow it;
/// the first ones come sooner.
///
/// Every follower has a seat, of which there are so many, and so many for each app. Whoever reads slowly misses what was
/// true in between: only the latest is held, once for all (P8).
final class MessageWatches: Sendable {
    /// Of one message, by the app that it has to belong to.
    struct Subject: Hashable, Sendable {
        let app: AppID
        let message: MessageID
    }

    /// What a follower is shown after each look: whether it is news, and whether to say that somebody is there, is the
    /// follower's to know, who may have seen more than the look that was begun before it came.
    struct Sight: Sendable {
        /// Which look, counted from 1.
        let look: Int
        /// As it was last seen; nil: the database is waited for.
        let event: ProgressEvent?
        /// By which look: by an earlier one where this one failed.
        let seenBy: Int
        /// Nothing follows it: the message is over, or there is none any more.
        let isLast: Bool
        /// Why, where the message is not over.
        let problem: Problem?
    }

    enum Refusal: Error, Equatable, Sendable {
        case full
        case shareUsedUp
    }

    private struct Watch {
        let number: Int
        /// Looks that were begun.
        var looks = 0
        var followers: [Int: AsyncStream<Sight>.Continuation] = [:]
        let looking: Task<Void, Never>
    }

    private struct Book {
        var watches: [Subject: Watch] = [:]
        /// Seats that are taken. Only of apps that have some.
        var taken: [AppID: Int] = [:]
        var issued = 0
    }

    private let desk: MessageDesk
    private let limits: GatewayLimits
    private let reads: CostlyReads
    private let book = Mutex(Book())

    init(desk: MessageDesk, limits: GatewayLimits, reads: CostlyReads) {
        self.desk = desk
        self.limits = limits
        self.reads = reads
    }

    /// A place at a message, given back when nobody holds it any more.
    final class Seat: Sendable {
        let sights: AsyncStream<Sight>
        /// The last look that was begun before the seat was taken: what it saw may be older than what the follower has seen.
        let lookBefore: Int
        private let subject: Subject
        private let number: Int
        private let watches: MessageWatches

        fileprivate init(
            _ subject: Subject, _ number: Int, lookBefore: Int, _ sights: AsyncStream<Sight>, _ watches: MessageWatches
        ) {
            self.subject = subject
            self.lookBefore = lookBefore
            self.number = number
            self.sights = sights
            self.watches = watches
        }

        deinit { watches.leave(subject, number) }
    }

    func follow(_ subject: Subject) throws(Refusal) -> Seat {
        let (sights, continuation) = AsyncStream.makeStream(of: Sight.self, bufferingPolicy: .bufferingNewest(1))
        let reply: Result<(number: Int, lookBefore: Int), Refusal> = book.withLock { book in
            guard book.taken.values.reduce(0, +) < limits.streamsMax else { return .failure(.full) }
            guard book.taken[subject.app, default: 0] < limits.streamsPerAppMax else { return .failure(.shareUsedUp) }
            book.taken[subject.app, default: 0] += 1
            book.issued += 1
            let number = book.issued
            var watch =
                book.watches[subject]
                ?? Watch(number: number, looking: Task { await self.look(at: subject, for: number) })
            watch.followers[number] = continuation
            book.watches[subject] = watch
            return .success((number, watch.looks))
        }
        let (number, lookBefore) = try reply.get()
        return Seat(subject, number, lookBefore: lookBefore, sights, self)
    }

    /// Messages that are looked at.
    var count: Int { book.withLock { $0.watches.count } }

    private func leave(_ subject: Subject, _ number: Int) {
        let over = book.withLock { book -> Task<Void, Never>? in
            let left = book.taken[subject.app, default: 0] - 1
            precondition(left >= 0, "who leaves had a seat")
            book.taken[subject.app] = left == 0 ? nil : left
            book.watches[subject]?.followers[number] = nil
            guard book.watches[subject]?.followers.isEmpty == true else { return nil }
            return book.watches.removeValue(forKey: subject)?.looking
        }
        over?.cancel()
    }

    /// The number of the look; nil: nobody follows the message, or another watch has begun since.
    private func begin(of subject: Subject, for watch: Int) -> Int? {
        book.withLock { book in
            guard book.watches[subject]?.number == watch else { return nil }
            book.watches[subject]?.looks += 1
            return book.watches[subject]?.looks
        }
    }

    /// Behind the last one, whoever comes is looked after anew.
    private func show(_ sight: Sight, of subject: Subject, for watch: Int) {
        let followers = book.withLock { book -> [AsyncStream<Sight>.Continuation] in
            guard let shown = book.watches[subject], shown.number == watch else { return [] }
            if sight.isLast { book.watches[subject] = nil }
            return Array(shown.followers.values)
        }
        for follower in followers {
            follower.yield(sight)
            if sight.isLast { follower.finish() }
        }
    }

    /// Until nobody follows it, or it is over.
    private func look(at subject: Subject, for watch: Int) async {
        var last: ProgressEvent?
        var seenBy = 0
        let clock = ContinuousClock()
        var least = min(Self.firstPause, limits.eventPause)
        var pause = least
        while (try? await Task.sleep(for: pause)) != nil, let look = begin(of: subject, for: watch) {
            // Of the look itself: who waits for a turn costs nobody anything.
            var spent: Duration = .zero
            var problem: Problem?
            do throws(StoreFault) {
                let seen = try await reads.readPatiently(of: subject.app) {
                    () async throws(StoreFault) -> (progress: MessageProgress?, time: Duration) in
                    let start = clock.now
                    let progress = try await desk.progress(subject.message, app: subject.app)
                    return (progress, clock.now - start)
                }
                spent = seen.time
                if let progress = seen.progress {
                    seenBy = look
                    // As long as it tells the same it is written once for all.
                    if last.map({ !progress.tellsTheSame(as: $0.progress) }) ?? true { last = ProgressEvent(progress) }
                } else {
                    problem = .unknownMessage
                }
            } catch {
                // Followers hear that somebody is there.
            }
            // A look that takes long is taken seldom, and still often enough for what is said while nothing happens.
            least = min(least * 2, limits.eventPause)
            pause = min(max(least, spent * Self.rest), max(least, limits.eventBeat))
            let isLast = problem != nil || last?.progress.isOver == true
            show(
                Sight(look: look, event: last, seenBy: seenBy, isLast: isLast, problem: problem), of: subject,
                for: watch)
            if isLast { return }
        }
    }

    /// A push to one device is over by then; each pause is twice as long as the one before, up to a second.
    private static let firstPause: Duration = .milliseconds(100)
    /// As many times what a look takes is rested after it.
    private static let rest = 20
}

/// One event of a stream, as it is written but for its id.
struct ProgressEvent: Sendable {
    let progress: MessageProgress
    private let rest: [UInt8]

    init(_ progress: MessageProgress) {
        self.progress = progress
        let name = progress.isOver ? "finished" : "progress"
        rest = Array("\nevent: \(name)\ndata: ".utf8) + MessageAnswer.body(progress) + Array("\n\n".utf8)
    }

    /// - Parameter last: the id of the stream's event before. An id rises within a message, on all processes: when it was
    ///   looked at, in microseconds, by the database's clock; where that stood still or went back, the next number.
    func bytes(after last: inout Int64?) -> [UInt8] {
        let id = max(progress.at.microseconds, last.map { $0 + 1 } ?? .min)
        last = id
        return Array("id: \(id)".utf8) + rest
    }
}
