import Basis
import Delivery
import Model
import Store
import Synchronization

/// Who follows which message on this process: one look at the database a second for each message, however many follow it;
/// the first ones come sooner.
///
/// Every follower has a seat, of which there are so many, and so many for each app. Whoever reads slowly misses what was
/// true in between: only the latest is held, once for all (P8).
final class MessageFollowers: Sendable {
    /// Of one message, by the app that it has to belong to.
    struct Subject: Hashable, Sendable {
        let app: AppID
        let message: MessageID
    }

    /// What a follower is shown after each look: whether it is news, and whether to say that somebody is there, is the
    /// follower's to know, who may have seen more than the look that was begun before it came.
    struct Snapshot: Sendable {
        /// Which look, counted from 1.
        let query: Int
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

    private struct FollowedMessage {
        let number: Int
        /// Looks that were begun.
        var queries = 0
        var followers: [Int: AsyncStream<Snapshot>.Continuation] = [:]
        let task: Task<Void, Never>
    }

    private struct State {
        var followers: [Subject: FollowedMessage] = [:]
        /// Seats that are taken. Only of apps that have some.
        var taken: [AppID: Int] = [:]
        var issued = 0
    }

    private let intake: MessageIntake
    private let limits: GatewayLimits
    private let reads: ReadAdmission
    private let state = Mutex(State())

    init(intake: MessageIntake, limits: GatewayLimits, reads: ReadAdmission) {
        self.intake = intake
        self.limits = limits
        self.reads = reads
    }

    /// A place at a message, given back when nobody holds it any more.
    final class FollowerSlot: Sendable {
        let snapshots: AsyncStream<Snapshot>
        /// The last look that was begun before the seat was taken: what it saw may be older than what the follower has seen.
        let queryBefore: Int
        private let subject: Subject
        private let number: Int
        private let followers: MessageFollowers

        fileprivate init(
            _ subject: Subject, _ number: Int, queryBefore: Int, _ snapshots: AsyncStream<Snapshot>,
            _ followers: MessageFollowers
        ) {
            self.subject = subject
            self.queryBefore = queryBefore
            self.number = number
            self.snapshots = snapshots
            self.followers = followers
        }

        deinit { followers.leave(subject, number) }
    }

    func follow(_ subject: Subject) throws(Refusal) -> FollowerSlot {
        let (snapshots, continuation) = AsyncStream.makeStream(of: Snapshot.self, bufferingPolicy: .bufferingNewest(1))
        let reply: Result<(number: Int, queryBefore: Int), Refusal> = state.withLock { state in
            guard state.taken.values.reduce(0, +) < limits.streamsMax else { return .failure(.full) }
            guard state.taken[subject.app, default: 0] < limits.streamsPerAppMax else { return .failure(.shareUsedUp) }
            state.taken[subject.app, default: 0] += 1
            state.issued += 1
            let number = state.issued
            var followed =
                state.followers[subject]
                ?? FollowedMessage(number: number, task: Task { await self.query(at: subject, for: number) })
            followed.followers[number] = continuation
            state.followers[subject] = followed
            return .success((number, followed.queries))
        }
        let (number, queryBefore) = try reply.get()
        return FollowerSlot(subject, number, queryBefore: queryBefore, snapshots, self)
    }

    /// Messages that are looked at.
    var count: Int { state.withLock { $0.followers.count } }

    private func leave(_ subject: Subject, _ number: Int) {
        let over = state.withLock { state -> Task<Void, Never>? in
            let left = state.taken[subject.app, default: 0] - 1
            precondition(left >= 0, "who leaves had a seat")
            state.taken[subject.app] = left == 0 ? nil : left
            state.followers[subject]?.followers[number] = nil
            guard state.followers[subject]?.followers.isEmpty == true else { return nil }
            return state.followers.removeValue(forKey: subject)?.task
        }
        over?.cancel()
    }

    /// The number of the look; nil: nobody follows the message, or another watch has begun since.
    private func begin(of subject: Subject, for followed: Int) -> Int? {
        state.withLock { state in
            guard state.followers[subject]?.number == followed else { return nil }
            state.followers[subject]?.queries += 1
            return state.followers[subject]?.queries
        }
    }

    /// Behind the last one, whoever comes is looked after anew.
    private func show(_ snapshot: Snapshot, of subject: Subject, for followed: Int) {
        let followers = state.withLock { state -> [AsyncStream<Snapshot>.Continuation] in
            guard let shown = state.followers[subject], shown.number == followed else { return [] }
            if snapshot.isLast { state.followers[subject] = nil }
            return Array(shown.followers.values)
        }
        for follower in followers {
            follower.yield(snapshot)
            if snapshot.isLast { follower.finish() }
        }
    }

    /// Until nobody follows it, or it is over.
    private func query(at subject: Subject, for followed: Int) async {
        var last: ProgressEvent?
        var seenBy = 0
        let clock = ContinuousClock()
        var least = min(Self.firstPause, limits.eventPause)
        var pause = least
        while (try? await Task.sleep(for: pause)) != nil, let query = begin(of: subject, for: followed) {
            // Of the look itself: who waits for a turn costs nobody anything.
            var spent: Duration = .zero
            var problem: Problem?
            do throws(StoreFault) {
                let seen = try await reads.readWithoutTimeout(of: subject.app) {
                    () async throws(StoreFault) -> (progress: MessageProgress?, time: Duration) in
                    let start = clock.now
                    let progress = try await intake.progress(subject.message, app: subject.app)
                    return (progress, clock.now - start)
                }
                spent = seen.time
                if let progress = seen.progress {
                    seenBy = query
                    // As long as it tells the same it is written once for all.
                    if last.map({ !progress.isSame(as: $0.progress) }) ?? true { last = ProgressEvent(progress) }
                } else {
                    problem = .unknownMessage
                }
            } catch {
                // Followers hear that somebody is there.
            }
            // A look that takes long is taken seldom, and still often enough for what is said while nothing happens.
            least = min(least * 2, limits.eventPause)
            pause = min(max(least, spent * Self.remaining), max(least, limits.heartbeatEvery))
            let isLast = problem != nil || last?.progress.isOver == true
            show(
                Snapshot(query: query, event: last, seenBy: seenBy, isLast: isLast, problem: problem), of: subject,
                for: followed)
            if isLast { return }
        }
    }

    /// A push to one device is over by then; each pause is twice as long as the one before, up to a second.
    private static let firstPause: Duration = .milliseconds(100)
    /// As many times what a look takes is rested after it.
    private static let remaining = 20
}

/// One event of a stream, as it is written but for its id.
struct ProgressEvent: Sendable {
    let progress: MessageProgress
    private let remaining: [UInt8]

    init(_ progress: MessageProgress) {
        self.progress = progress
        let name = progress.isOver ? "finished" : "progress"
        remaining = Array("\nevent: \(name)\ndata: ".utf8) + MessageAnswer.body(progress) + Array("\n\n".utf8)
    }

    /// - Parameter last: the id of the stream's event before. An id rises within a message, on all processes: when it was
    ///   looked at, in microseconds, by the database's clock; where that stood still or went back, the next number.
    func bytes(after last: inout Int64?) -> [UInt8] {
        let id = max(progress.at.microseconds, last.map { $0 + 1 } ?? .min)
        last = id
        return Array("id: \(id)".utf8) + remaining
    }
}
