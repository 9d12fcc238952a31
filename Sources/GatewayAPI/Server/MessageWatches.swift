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

    /// What a follower is shown.
    struct Sight: Sendable {
        /// nil: nothing new since the follower took its seat.
        var event: ProgressEvent?
        /// Nothing follows it: the message is over, or there is none any more.
        var isLast = false
        /// Why, where the message is not over.
        var problem: Problem?
    }

    enum Refusal: Error, Equatable, Sendable {
        case full
        case shareUsedUp
    }

    private struct Watch {
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
        private let subject: Subject
        private let number: Int
        private let watches: MessageWatches

        fileprivate init(_ subject: Subject, _ number: Int, _ sights: AsyncStream<Sight>, _ watches: MessageWatches) {
            self.subject = subject
            self.number = number
            self.sights = sights
            self.watches = watches
        }

        deinit { watches.leave(subject, number) }
    }

    /// - Parameter first: what the follower has seen of it: only what differs is news.
    func follow(_ subject: Subject, after first: MessageProgress) throws(Refusal) -> Seat {
        let (sights, continuation) = AsyncStream.makeStream(of: Sight.self, bufferingPolicy: .bufferingNewest(1))
        let reply: Result<Int, Refusal> = book.withLock { book in
            guard book.taken.values.reduce(0, +) < limits.streamsMax else { return .failure(.full) }
            guard book.taken[subject.app, default: 0] < limits.streamsPerAppMax else { return .failure(.shareUsedUp) }
            book.taken[subject.app, default: 0] += 1
            book.issued += 1
            book.watches[subject, default: Watch(looking: Task { await self.look(at: subject, after: first) })]
                .followers[book.issued] = continuation
            return .success(book.issued)
        }
        return Seat(subject, try reply.get(), sights, self)
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

    private func show(_ sight: Sight, of subject: Subject) {
        let followers = book.withLock { Array($0.watches[subject]?.followers.values ?? [:].values) }
        for follower in followers { follower.yield(sight) }
    }

    /// Whoever comes now is looked after anew.
    private func end(_ sight: Sight, of subject: Subject) {
        let watch = book.withLock { $0.watches.removeValue(forKey: subject) }
        for follower in watch?.followers.values ?? [:].values {
            follower.yield(sight)
            follower.finish()
        }
    }

    /// Until nobody follows it, or it is over.
    private func look(at subject: Subject, after first: MessageProgress) async {
        var last = first
        var sight = Sight()
        var quiet: Duration = .zero
        let clock = ContinuousClock()
        var least = min(Self.firstPause, limits.eventPause)
        var pause = least
        while (try? await Task.sleep(for: pause)) != nil {
            quiet += pause
            let asked = clock.now
            // Of the look itself: who waits for a turn costs nobody anything.
            var spent: Duration = .zero
            let seen: Result<MessageProgress?, StoreFault>
            do throws(StoreFault) {
                let look = try await reads.readPatiently(of: subject.app) {
                    () async throws(StoreFault) -> (progress: MessageProgress?, time: Duration) in
                    let start = clock.now
                    let progress = try await desk.progress(subject.message, app: subject.app)
                    return (progress, clock.now - start)
                }
                spent = look.time
                seen = .success(look.progress)
            } catch { seen = .failure(error) }
            // A look that takes long is taken seldom, and still often enough for what is said while nothing happens.
            quiet += clock.now - asked
            least = min(least * 2, limits.eventPause)
            pause = min(max(least, spent * Self.rest), max(least, limits.eventBeat))
            switch seen {
            // The database is waited for; followers hear that somebody is there.
            case .failure: pause = least
            case .success(nil):
                return end(Sight(event: sight.event, isLast: true, problem: .unknownMessage), of: subject)
            case .success(let progress?) where progress.tellsTheSame(as: last): break
            case .success(let progress?):
                last = progress
                quiet = .zero
                sight = Sight(event: ProgressEvent(progress, after: sight.event), isLast: progress.isOver)
                if sight.isLast { return end(sight, of: subject) }
                show(sight, of: subject)
            }
            if quiet >= limits.eventBeat {
                quiet = .zero
                show(sight, of: subject)
            }
        }
    }

    /// A push to one device is over by then; each pause is twice as long as the one before, up to a second.
    private static let firstPause: Duration = .milliseconds(100)
    /// As many times what a look takes is rested after it.
    private static let rest = 20
}

/// One event of a stream, as it is written.
struct ProgressEvent: Sendable {
    /// Rises within a message, on all processes: when it was looked at, in microseconds, by the database's clock.
    let id: Int64
    let bytes: [UInt8]

    init(_ progress: MessageProgress, after last: ProgressEvent? = nil) {
        id = max(progress.at.microseconds, (last?.id ?? .min + 1) + 1)
        let name = progress.isOver ? "finished" : "progress"
        bytes = Array("id: \(id)\nevent: \(name)\ndata: ".utf8) + MessageAnswer.body(progress) + Array("\n\n".utf8)
    }
}
