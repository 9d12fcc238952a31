import Model
import Synchronization

package struct GroupCommitSettings: Equatable, Sendable {
    /// The most operations in one transaction. More would hold its row locks for longer than a neighbour should wait.
    package var batchMax: Int
    /// The most waiting operations of all apps. Beyond it the database is the bottleneck, and more are refused.
    package var waitingMax: Int
    /// The most waiting operations of one app. An app with locked rows, or with more operations than its transactions
    /// carry, leaves room for the others (P7).
    package var appWaitingMax: Int
    /// Transactions of one app in flight at once. While one waits for the disk or its next statement, another does
    /// work. More transactions would only be smaller.
    package var appCommitsMax: Int

    package init(batchMax: Int = 1_000, waitingMax: Int = 20_000, appWaitingMax: Int = 5_000, appCommitsMax: Int = 2) {
        precondition(batchMax > 0 && appWaitingMax >= batchMax && waitingMax >= appWaitingMax && appCommitsMax > 0)
        (self.batchMax, self.waitingMax) = (batchMax, waitingMax)
        (self.appWaitingMax, self.appCommitsMax) = (appWaitingMax, appCommitsMax)
    }
}

/// The keys that an operation touches, as hashes. Two operations of one transaction share neither key.
package struct OperationSubject: Sendable {
    package let firstKey: Int
    package let secondKey: Int
    /// The operation is compared with the times of rows, so within its call it passes none and none passes it.
    package let isTimed: Bool

    package init(firstKey: Int, secondKey: Int, isTimed: Bool) {
        (self.firstKey, self.secondKey, self.isTimed) = (firstKey, secondKey, isTimed)
    }
}

/// Gathers the operations of one process into few transactions, for many times 5,000 registrations a second.
///
/// A transaction of an app takes the operations that arrived while earlier ones were in flight. So an idle registry
/// answers at once, a busy one in batches. Apps never wait for each other.
///
/// A lock, not an actor: every operation would hop into and out of an actor that is busy with batches.
package final class GroupCommitter<Operation: Sendable, Answer: Sendable>: Sendable {
    private let settings: GroupCommitSettings
    private let refusal: Answer
    private let subject: @Sendable (Operation) -> OperationSubject
    private let transaction: @Sendable ([Operation], AppID) async -> [Answer]
    private let state = Mutex(CommitState())

    /// - Parameters:
    ///   - refusal: the answer if too many operations wait already.
    ///   - transaction: carries out a batch of an app, and answers in its order.
    package init(
        settings: GroupCommitSettings = GroupCommitSettings(), refusal: Answer,
        subject: @escaping @Sendable (Operation) -> OperationSubject,
        transaction: @escaping @Sendable ([Operation], AppID) async -> [Answer]
    ) { (self.settings, self.refusal, self.subject, self.transaction) = (settings, refusal, subject, transaction) }

    /// Returns the refusal if too many wait already, over all or of this app: the operation is then never written.
    package func commit(_ operation: Operation, app: AppID) async -> Answer { await commit([operation], app: app)[0] }

    /// Commits operations in their order, duplicates included; answers in their order.
    package func commit(_ operations: [Operation], app: AppID) async -> [Answer] {
        if operations.isEmpty { return [] }
        return await withCheckedContinuation { continuation in
            commit(operations, app: app) { continuation.resume(returning: $0) }
        }
    }

    /// Commits one or more operations without a waiting task.
    ///
    /// - Parameter answered: called once, from any thread, with the answers in their order. Other callers of the batch
    ///   wait until it returns.
    package func commit(_ operations: [Operation], app: AppID, answered: @escaping @Sendable ([Answer]) -> Void) {
        precondition(!operations.isEmpty)
        // Computed before taking the lock, which all apps share.
        let subjects = operations.map(subject)
        /// nil: too many operations wait.
        let starts: Bool? = state.withLock { state in
            let ofApp = (state.queues[app]?.waiting ?? 0) + operations.count
            guard state.waiting + operations.count <= settings.waitingMax, ofApp <= settings.appWaitingMax else {
                return nil
            }
            state.waiting += operations.count
            let call = Call(operations, unanswered: refusal, answered)
            // Changed in place: taking the queue out would copy all waiting entries for each new operation.
            state.queues[app, default: AppQueue()].add(subjects, of: call)
            return state.startsCommit(of: app, besideAtMost: settings.appCommitsMax)
        }
        guard let starts else { return answered(operations.map { _ in refusal }) }
        if starts { Task { await commit(app) } }
    }

    /// Commits one batch after the other, until no entry is left that this task may take.
    private func commit(_ app: AppID) async {
        while let (batch, starts) = takeBatch(app) {
            if starts { Task { await commit(app) } }
            let answers = await transaction(batch.operations, app)
            let answered = state.withLock { state in
                state.waiting -= answers.count
                let entries = state.queues[app]?.finish(batch.number) ?? []
                return zip(entries, answers).compactMap { call(of: $0).answer($1, at: $0.place) }
            }
            for complete in answered { complete() }
        }
    }

    /// Takes a batch; `startsAnother`: one more task must start. nil: no entry is left for this task, which ends.
    private func takeBatch(_ app: AppID) -> (batch: (number: UInt64, operations: [Operation]), startsAnother: Bool)? {
        state.withLock { state in
            if let batch = state.queues[app]?.takeBatch(atMost: settings.batchMax) {
                let operations = batch.entries.map { call(of: $0).operations[$0.place] }
                return ((batch.number, operations), state.startsCommit(of: app, besideAtMost: settings.appCommitsMax))
            }
            state.queues[app]?.commits -= 1
            if state.queues[app]?.commits == 0 { state.queues[app] = nil }
            return nil
        }
    }

    private func call(of entry: Entry) -> Call<Operation, Answer> {
        guard let call = entry.call as? Call<Operation, Answer> else {
            preconditionFailure("a committer's queues have only its own calls")
        }
        return call
    }
}

// The queues know no operation's type, because generic code is slow when another module uses it.

private struct CommitState {
    var queues: [AppID: AppQueue] = [:]
    var waiting = 0

    mutating func startsCommit(of app: AppID, besideAtMost commitsMax: Int) -> Bool {
        queues[app]?.startsCommit(besideAtMost: commitsMax) == true
    }
}

private struct AppQueue {
    private var entries: [Entry] = []
    private var batches: [UInt64: [Entry]] = [:]
    private var batchNumber: UInt64 = 0
    /// The number of entries, plus the operations in flight.
    private(set) var waiting = 0
    /// Tasks that take batches; each has at most one batch in flight.
    var commits = 0
    private var inFlight = Subjects()
    private var inFlightCount = 0

    mutating func add(_ subjects: [OperationSubject], of call: QueuedCall) {
        waiting += subjects.count
        for (place, subject) in subjects.enumerated() { entries.append(Entry(subject, call: call, place: place)) }
    }

    /// Whether another task must take waiting entries; the caller has to start it. A further task starts only for as
    /// many entries as the others carry on average. A smaller batch would not be worth a transaction's fixed cost.
    mutating func startsCommit(besideAtMost commitsMax: Int) -> Bool {
        guard !entries.isEmpty, commits < commitsMax, entries.count * commits >= inFlightCount else { return false }
        commits += 1
        return true
    }

    /// Takes the first entries that share no key with each other or with operations in flight. An entry with a conflict
    /// before it, taken or left, waits for the next batch, so conflicting operations keep their order.
    ///
    /// A timed operation keeps its order within its call, because an earlier one may change the row that it is compared
    /// with, such as the token holder's. Operations without a time may pass each other. A call with operations in
    /// flight is skipped.
    ///
    /// - Returns: nil if no entry can be taken.
    mutating func takeBatch(atMost limit: Int) -> (number: UInt64, entries: [Entry])? {
        var taken: [Entry] = []
        var left: [Entry] = []
        var leftBehind = Subjects()
        /// The calls of the entries left, and whether one of those is timed.
        var leftOfCalls: [ObjectIdentifier: Bool] = [:]
        var place = 0
        // The scan goes to the end: conflicts must not delay a later entry without one.
        while place < entries.count, taken.count < limit {
            let entry = entries[place]
            let isTimed = entry.subject.isTimed
            let mayPass = leftOfCalls[entry.callID].map { othersAre in !othersAre && !isTimed } ?? true
            if mayPass, entry.call.inFlight == 0, !leftBehind.meet(entry.subject), inFlight.addFirst(entry.subject) {
                taken.append(entry)
            } else {
                left.append(entry)
                leftBehind.add(entry.subject)
                leftOfCalls[entry.callID] = isTimed || leftOfCalls[entry.callID] ?? false
            }
            place += 1
        }
        entries.replaceSubrange(0..<place, with: left)
        for entry in taken { entry.call.inFlight += 1 }
        if taken.isEmpty { return nil }
        inFlightCount += taken.count
        batchNumber += 1
        batches[batchNumber] = taken
        return (batchNumber, taken)
    }

    /// Ends a batch, and returns its entries in the order in which they were taken.
    mutating func finish(_ number: UInt64) -> [Entry] {
        let batch = batches.removeValue(forKey: number) ?? []
        waiting -= batch.count
        inFlightCount -= batch.count
        for entry in batch {
            inFlight.remove(entry.subject)
            entry.call.inFlight -= 1
        }
        return batch
    }
}

/// A set of keys. Two keys with the same hash count as a conflict: the second entry waits for a later batch.
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

    /// Returns false, and changes nothing, if another entry has one of the keys.
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

/// An operation of a call. Touched only under the committer's lock.
private struct Entry {
    let subject: OperationSubject
    let call: QueuedCall
    let place: Int

    init(_ subject: OperationSubject, call: QueuedCall, place: Int) {
        (self.subject, self.call, self.place) = (subject, call, place)
    }

    var callID: ObjectIdentifier { ObjectIdentifier(call) }
}

/// A call that waits for its answers. Touched only under the committer's lock.
private class QueuedCall { var inFlight = 0 }

private final class Call<Operation: Sendable, Answer: Sendable>: QueuedCall {
    let operations: [Operation]
    private var answers: [Answer]
    private var missing: Int
    private let complete: @Sendable ([Answer]) -> Void

    init(_ operations: [Operation], unanswered: Answer, _ complete: @escaping @Sendable ([Answer]) -> Void) {
        self.operations = operations
        answers = Array(repeating: unanswered, count: operations.count)
        missing = operations.count
        self.complete = complete
    }

    /// Returns the call's completion with its last answer.
    func answer(_ answer: Answer, at place: Int) -> (@Sendable () -> Void)? {
        answers[place] = answer
        missing -= 1
        guard missing == 0 else { return nil }
        return { [complete, answers] in complete(answers) }
    }
}
