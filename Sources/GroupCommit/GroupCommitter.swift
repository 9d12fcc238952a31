import Model
import Synchronization

/// The bounds of a group commit.
package struct GroupCommitSettings: Equatable, Sendable {
    /// Operations of one transaction. More would hold its row locks for longer than a neighbour should wait.
    package var batchMax: Int
    /// Operations that wait, over all apps; beyond them the database is the bottleneck, and the caller is told.
    package var waitingMax: Int
    /// Operations of one app that wait. Its share, so that one whose rows are locked, or that sends more than its
    /// transactions carry, leaves room for the others (P7).
    package var appWaitingMax: Int
    /// Transactions of one app that are on their way at a time. While one waits for the disk, or for its next statement,
    /// another one is worked on; more would only be smaller.
    package var appCommitsMax: Int

    package init(
        batchMax: Int = 1_000, waitingMax: Int = 20_000, appWaitingMax: Int = 5_000, appCommitsMax: Int = 2
    ) {
        precondition(batchMax > 0 && appWaitingMax >= batchMax && waitingMax >= appWaitingMax && appCommitsMax > 0)
        self.batchMax = batchMax
        self.waitingMax = waitingMax
        self.appWaitingMax = appWaitingMax
        self.appCommitsMax = appCommitsMax
    }
}

/// What an operation of a group is about, by hashes. Two operations of one transaction share neither key.
package struct OperationSubject: Sendable {
    package let firstKey: Int
    package let secondKey: Int
    /// It is decided against the times of rows: none of its call that is left passes it, and it passes none.
    package let isTimed: Bool

    package init(firstKey: Int, secondKey: Int, isTimed: Bool) {
        self.firstKey = firstKey
        self.secondKey = secondKey
        self.isTimed = isTimed
    }
}

/// Gathers the operations of one process into few transactions: what lifts 5,000 registrations a second to many times that.
///
/// The committer knows no SQL: what a transaction does is handed in.
///
/// A transaction of an app takes what has come while those before it are on their way: an idle registry answers at once, a
/// busy one in batches. Apps never wait for each other.
///
/// A lock, not an actor: through an actor every operation would pass twice, in and out, while batches are put together
/// in it.
package final class GroupCommitter<Operation: Sendable, Answer: Sendable>: Sendable {
    private let settings: GroupCommitSettings
    private let refusal: Answer
    private let subject: @Sendable (Operation) -> OperationSubject
    private let transaction: @Sendable ([Operation], AppID) async -> [Answer]
    private let state = Mutex(State())

    private struct State {
        var queues: [AppID: AppQueue<Operation, Answer>] = [:]
        var waiting = 0

        mutating func startsCommit(of app: AppID, besideAtMost commitsMax: Int) -> Bool {
            queues[app]?.startsCommit(besideAtMost: commitsMax) == true
        }
    }

    /// - Parameters:
    ///   - refusal: the answer where too many operations wait already.
    ///   - subject: what an operation is about.
    ///   - transaction: carries out a batch of an app, and answers in its order.
    package init(
        settings: GroupCommitSettings = GroupCommitSettings(), refusal: Answer,
        subject: @escaping @Sendable (Operation) -> OperationSubject,
        transaction: @escaping @Sendable ([Operation], AppID) async -> [Answer]
    ) {
        self.settings = settings
        self.refusal = refusal
        self.subject = subject
        self.transaction = transaction
    }

    /// Operations of this app that wait, or are on their way.
    package func waitingOf(_ app: AppID) -> Int { state.withLock { $0.queues[app]?.waiting ?? 0 } }

    /// The refusal where too many wait already, over all or of this app: nothing is written, later.
    package func commit(_ operation: Operation, app: AppID) async -> Answer {
        await commit([operation], app: app)[0]
    }

    /// Commits many in their order, twins included; answers in their order.
    package func commit(_ operations: [Operation], app: AppID) async -> [Answer] {
        if operations.isEmpty { return [] }
        return await withCheckedContinuation { continuation in
            commit(operations, app: app) { continuation.resume(returning: $0) }
        }
    }

    /// The same for callers that no task waits for.
    ///
    /// - Parameters:
    ///   - operations: one or more.
    ///   - answered: called once, from any thread, with the answers in their order; others of the batch wait for its end.
    package func commit(
        _ operations: [Operation], app: AppID, answered: @escaping @Sendable ([Answer]) -> Void
    ) {
        precondition(!operations.isEmpty)
        // Before the lock, which all apps share.
        let subjects = operations.map(subject)
        /// nil: there are too many.
        let starts: Bool? = state.withLock { state in
            let ofApp = (state.queues[app]?.waiting ?? 0) + operations.count
            guard state.waiting + operations.count <= settings.waitingMax, ofApp <= settings.appWaitingMax else {
                return nil
            }
            state.waiting += operations.count
            let caller = Caller(count: operations.count, unanswered: refusal, answered)
            // Where it lies: taken out and put back, all that waits would be copied for each that comes.
            state.queues[app, default: AppQueue()].add(operations, subjects, of: caller)
            return state.startsCommit(of: app, besideAtMost: settings.appCommitsMax)
        }
        guard let starts else { return answered(operations.map { _ in refusal }) }
        if starts { Task { await commit(app) } }
    }

    /// One batch after the other, until nothing waits that others don't have in hand.
    private func commit(_ app: AppID) async {
        while let (batch, starts) = takeBatch(app) {
            if starts { Task { await commit(app) } }
            let answers = await transaction(batch.operations, app)
            let answered = state.withLock { state in
                state.waiting -= answers.count
                return state.queues[app]?.finish(batch.number, answers) ?? []
            }
            for each in answered { each.complete(each.answers) }
        }
    }

    /// And whether the rest is for another task. nil: nothing is left for this one, which is counted out.
    private func takeBatch(_ app: AppID) -> (batch: OperationsUnderWay<Operation>, startsAnother: Bool)? {
        state.withLock { state in
            if let batch = state.queues[app]?.takeBatch(atMost: settings.batchMax) {
                return (batch, state.startsCommit(of: app, besideAtMost: settings.appCommitsMax))
            }
            state.queues[app]?.commits -= 1
            if state.queues[app]?.commits == 0 { state.queues[app] = nil }
            return nil
        }
    }
}

/// A batch of one app that has left its queue.
private struct OperationsUnderWay<Operation: Sendable>: Sendable {
    let number: UInt64
    let operations: [Operation]
}

/// What one app's operations wait in.
private struct AppQueue<Operation: Sendable, Answer: Sendable> {
    private var entries: [Entry<Operation, Answer>] = []
    private var batches: [UInt64: [Entry<Operation, Answer>]] = [:]
    private var batchNumber: UInt64 = 0
    /// Entries, and those that are on their way.
    private(set) var waiting = 0
    /// Tasks that take batches; each has at most one on its way.
    var commits = 0
    private var inFlight = Subjects()
    private var inFlightCount = 0

    mutating func add(_ operations: [Operation], _ subjects: [OperationSubject], of caller: Caller<Answer>) {
        waiting += operations.count
        for (place, operation) in operations.enumerated() {
            entries.append(Entry(operation, subjects[place], caller: caller, place: place))
        }
    }

    /// Whether another task is to take what waits, which the caller has to see to. Beside others only where it is as
    /// much as they carry each: what a transaction costs, whatever is in it, would outweigh what it gains.
    mutating func startsCommit(besideAtMost commitsMax: Int) -> Bool {
        guard !entries.isEmpty, commits < commitsMax, entries.count * commits >= inFlightCount else {
            return false
        }
        commits += 1
        return true
    }

    /// The first ones that don't meet each other, nor what is on its way: at most one for each key. Whoever has a twin before it, taken or left, waits for the next batch, so that twins keep their order.
    ///
    /// What has a time is decided against the times of rows that others of its call may change, a token's holder among
    /// them: it passes none of its call that is left, and none passes it. Those without a time may pass each other. Of a
    /// call that is on its way nothing is taken.
    ///
    /// - Returns: nil where there is none.
    mutating func takeBatch(atMost limit: Int) -> OperationsUnderWay<Operation>? {
        var taken: [Entry<Operation, Answer>] = []
        var left: [Entry<Operation, Answer>] = []
        var leftBehind = Subjects()
        /// The calls of those left, and whether one of these has a time.
        var leftOfCalls: [ObjectIdentifier: Bool] = [:]
        var place = 0
        // To its end: whoever meets nobody is not held up by a crowd of twins before it.
        while place < entries.count, taken.count < limit {
            let entry = entries[place]
            let isTimed = entry.subject.isTimed
            let mayPass = leftOfCalls[entry.call].map { othersAre in !othersAre && !isTimed } ?? true
            if mayPass, entry.caller.inFlight == 0, !leftBehind.meet(entry.subject), inFlight.addFirst(entry.subject) {
                taken.append(entry)
            } else {
                left.append(entry)
                leftBehind.add(entry.subject)
                leftOfCalls[entry.call] = isTimed || leftOfCalls[entry.call] ?? false
            }
            place += 1
        }
        entries.replaceSubrange(0..<place, with: left)
        for entry in taken { entry.caller.inFlight += 1 }
        if taken.isEmpty { return nil }
        inFlightCount += taken.count
        batchNumber += 1
        batches[batchNumber] = taken
        return OperationsUnderWay(number: batchNumber, operations: taken.map(\.operation))
    }

    /// - Parameters:
    ///   - number: of a batch that was taken.
    ///   - answers: to its operations.
    /// - Returns: the calls that have all their answers now.
    mutating func finish(_ number: UInt64, _ answers: [Answer]) -> [AnsweredCall<Answer>] {
        let batch = batches.removeValue(forKey: number) ?? []
        waiting -= batch.count
        inFlightCount -= batch.count
        for entry in batch {
            inFlight.remove(entry.subject)
            entry.caller.inFlight -= 1
        }
        return zip(batch, answers).compactMap { $0.caller.answer($1, at: $0.place) }
    }
}

/// What some entries are about. Two that hash alike are taken for twins, and the second one waits for a batch that it might
/// have joined.
private struct Subjects {
    private var firstKeys: Set<Int> = []
    private var secondKeys: Set<Int> = []

    func meet(_ subject: OperationSubject) -> Bool {
        guard !firstKeys.isEmpty else { return false }
        return firstKeys.contains(subject.firstKey) || secondKeys.contains(subject.secondKey)
    }

    mutating func add(_ subject: OperationSubject) {
        firstKeys.insert(subject.firstKey)
        secondKeys.insert(subject.secondKey)
    }

    /// False, and nothing is changed: another one has one of its keys.
    mutating func addFirst(_ subject: OperationSubject) -> Bool {
        guard firstKeys.insert(subject.firstKey).inserted else { return false }
        guard secondKeys.insert(subject.secondKey).inserted else {
            firstKeys.remove(subject.firstKey)
            return false
        }
        return true
    }

    mutating func remove(_ subject: OperationSubject) {
        firstKeys.remove(subject.firstKey)
        secondKeys.remove(subject.secondKey)
    }
}

/// An object: it is handed on from list to list, and a copy of an operation touches each of its strings.
private final class Entry<Operation: Sendable, Answer: Sendable> {
    let operation: Operation
    let subject: OperationSubject
    let caller: Caller<Answer>
    let place: Int

    init(_ operation: Operation, _ subject: OperationSubject, caller: Caller<Answer>, place: Int) {
        self.operation = operation
        self.subject = subject
        self.caller = caller
        self.place = place
    }

    var call: ObjectIdentifier { ObjectIdentifier(caller) }
}

/// Who waits for one or many answers. Touched under the committer's lock alone.
private final class Caller<Answer: Sendable> {
    private var answers: [Answer]
    private var missing: Int
    /// How many of its operations are.
    var inFlight = 0
    private let complete: AnsweredCall<Answer>.Completion

    init(count: Int, unanswered: Answer, _ complete: @escaping AnsweredCall<Answer>.Completion) {
        answers = Array(repeating: unanswered, count: count)
        missing = count
        self.complete = complete
    }

    /// Set with the last answer.
    func answer(_ answer: Answer, at place: Int) -> AnsweredCall<Answer>? {
        answers[place] = answer
        missing -= 1
        return missing == 0 ? AnsweredCall(complete: complete, answers: answers) : nil
    }
}

/// A caller that can be told.
private struct AnsweredCall<Answer: Sendable>: Sendable {
    typealias Completion = @Sendable ([Answer]) -> Void
    let complete: Completion
    let answers: [Answer]
}
