import Listener
import Model
import Requests
import Store
import Synchronization

final class MessageFollowers: Sendable {
    struct Subject: Hashable, Sendable {
        let app: AppID
        let message: MessageID
    }

    /// The result of a query, as each follower gets it. The follower decides whether it is news, and whether to write a
    /// heartbeat: the follower may have seen more than a query that began before it came.
    struct Snapshot: Sendable {
        let query: Int
        /// The progress that was last read; nil while no query has succeeded.
        let event: ProgressEvent?
        /// The query that read `event`: an earlier one if this query failed.
        let seenBy: Int
        /// Whether no snapshot follows: the message is over, or no longer exists.
        let isLast: Bool
        /// The reason for the end if the message is not over.
        let problem: Problem?
    }

    enum Refusal: Error, Equatable, Sendable {
        case full
        case shareUsedUp
    }

    private struct FollowedMessage {
        let number: Int
        var queries = 0
        var followers: [Int: AsyncStream<Snapshot>.Continuation] = [:]
        let task: Task<Void, Never>
    }

    private struct State {
        var followers: [Subject: FollowedMessage] = [:]
        var taken: [AppID: Int] = [:]
        var issued = 0
    }

    private let store: MessageStore
    private let limits: GatewayLimits
    private let reads: ReadAdmission
    private let state = Mutex(State())

    init(store: MessageStore, limits: GatewayLimits, reads: ReadAdmission) {
        (self.store, self.limits, self.reads) = (store, limits, reads)
    }

    /// A follower's slot at a message, given back when the last reference to it is released.
    final class FollowerSlot: Sendable {
        let snapshots: AsyncStream<Snapshot>
        /// The last query that began before the slot was taken: it may have read less than the follower has seen.
        let queryBefore: Int
        private let subject: Subject
        private let number: Int
        private let followers: MessageFollowers

        fileprivate init(
            _ subject: Subject, _ number: Int, queryBefore: Int, _ snapshots: AsyncStream<Snapshot>,
            _ followers: MessageFollowers
        ) {
            (self.subject, self.queryBefore, self.number) = (subject, queryBefore, number)
            (self.snapshots, self.followers) = (snapshots, followers)
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

    var count: Int { state.withLock { $0.followers.count } }

    private func leave(_ subject: Subject, _ number: Int) {
        let over = state.withLock { state -> Task<Void, Never>? in
            let left = state.taken[subject.app, default: 0] - 1
            precondition(left >= 0, "a follower that leaves was admitted")
            state.taken[subject.app] = left == 0 ? nil : left
            state.followers[subject]?.followers[number] = nil
            guard state.followers[subject]?.followers.isEmpty == true else { return nil }
            return state.followers.removeValue(forKey: subject)?.task
        }
        over?.cancel()
    }

    /// Begins a query and returns its number; nil if the message has no followers, or its following was begun anew.
    private func begin(of subject: Subject, for followed: Int) -> Int? {
        state.withLock { state in
            guard state.followers[subject]?.number == followed else { return nil }
            state.followers[subject]?.queries += 1
            return state.followers[subject]?.queries
        }
    }

    /// Sends a snapshot to all followers. After the last snapshot, a new follower begins the queries anew.
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

    /// Queries the message until it is over or has no followers.
    private func query(at subject: Subject, for followed: Int) async {
        var last: ProgressEvent?
        var seenBy = 0
        let clock = ContinuousClock()
        var least = min(Self.firstPause, limits.eventPause)
        var pause = least
        while (try? await Task.sleep(for: pause)) != nil, let query = begin(of: subject, for: followed) {
            // The time of the query itself: waiting for admission costs the database nothing.
            var spent: Duration = .zero
            var problem: Problem?
            do throws(StoreFault) {
                let seen = try await reads.readWithoutTimeout(of: subject.app) {
                    () async throws(StoreFault) -> (progress: MessageProgress?, time: Duration) in
                    let start = clock.now
                    let progress = try await store.progress(app: subject.app, id: subject.message)
                    return (progress, clock.now - start)
                }
                spent = seen.time
                if let progress = seen.progress {
                    seenBy = query
                    // An event with the same content is kept, so that it is encoded once for all followers.
                    if last.map({ !progress.isSame(as: $0.progress) }) ?? true { last = ProgressEvent(progress) }
                } else {
                    problem = .unknownMessage
                }
            } catch {
                // The followers still get a snapshot, and with it a heartbeat.
            }
            // A slow query is repeated seldom, and still often enough for heartbeats.
            least = min(least * 2, limits.eventPause)
            pause = min(max(least, spent * Self.remaining), max(least, limits.heartbeatEvery))
            let isLast = problem != nil || last?.progress.isOver == true
            show(
                Snapshot(query: query, event: last, seenBy: seenBy, isLast: isLast, problem: problem), of: subject,
                for: followed)
            if isLast { return }
        }
    }

    /// A push to one device is over by then. Each pause is twice as long as the one before, up to a second.
    private static let firstPause: Duration = .milliseconds(100)
    /// The pause after a query, as a multiple of the query's duration.
    private static let remaining = 20
}

struct ProgressEvent: Sendable {
    let progress: MessageProgress
    private let remaining: [UInt8]

    init(_ progress: MessageProgress) {
        self.progress = progress
        let name = progress.isOver ? "finished" : "progress"
        remaining = Array("\nevent: \(name)\ndata: ".utf8) + MessageAnswer.body(progress) + Array("\n\n".utf8)
    }

    /// - Parameter last: the id of the stream's previous event. Ids rise within a message, on all processes. An id is
    ///   the query's time in microseconds, by the database's clock; if that stood still or went back, the next number.
    func bytes(after last: inout Int64?) -> [UInt8] {
        let id = max(progress.at.microseconds, last.map { $0 + 1 } ?? .min)
        last = id
        return Array("id: \(id)".utf8) + remaining
    }
}
