import PushModel
import Synchronization

/// The bounds of a group commit.
package struct GroupCommitSettings: Equatable, Sendable {
    /// Registrations of one transaction. More would hold its row locks for longer than a neighbour should wait.
    package var batchMax: Int
    /// Registrations that wait, over all apps; beyond them the database is the bottleneck, and the caller is told.
    package var waitingMax: Int
    /// Registrations of one app that wait. Its share, so that one whose rows are locked, or that sends more than its
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

/// Gathers the registrations of one process into few transactions: what lifts 5,000 a second to many times that.
///
/// A transaction of an app takes what has come while those before it are on their way: an idle registry answers at once, a
/// busy one in batches. Apps never wait for each other.
///
/// A lock, not an actor: through an actor every registration would pass twice, in and out, while batches are put together
/// in it.
package final class GroupCommitter: Sendable {
    private let registry: RegistryStore
    private let settings: GroupCommitSettings
    private let state = Mutex(State())

    private struct State {
        var queues: [AppID: AppQueue] = [:]
        var waiting = 0

        mutating func startsCommit(of app: AppID, besideAtMost commitsMax: Int) -> Bool {
            queues[app]?.startsCommit(besideAtMost: commitsMax) == true
        }
    }

    package init(registry: RegistryStore, settings: GroupCommitSettings = GroupCommitSettings()) {
        self.registry = registry
        self.settings = settings
    }

    /// Registrations of this app that wait, or are on their way.
    package func waitingOf(_ app: AppID) -> Int { state.withLock { $0.queues[app]?.waiting ?? 0 } }

    /// `.unavailable` where too many wait already, over all or of this app: nothing is written, later.
    package func register(
        _ registration: DeviceRegistration, app: AppID
    ) async -> Result<RegisteredDevice, StoreFault> {
        await register([registration], app: app)[0]
    }

    /// Registers many in their order, twins included; answers in their order.
    package func register(
        _ registrations: [DeviceRegistration], app: AppID
    ) async -> [Result<RegisteredDevice, StoreFault>] {
        if registrations.isEmpty { return [] }
        return await withCheckedContinuation { continuation in
            register(registrations, app: app) { continuation.resume(returning: $0) }
        }
    }

    /// The same for callers that no task waits for.
    ///
    /// - Parameters:
    ///   - registrations: one or more.
    ///   - answered: called once, from any thread, with the answers in their order; others of the batch wait for its end.
    package func register(
        _ registrations: [DeviceRegistration], app: AppID,
        answered: @escaping @Sendable ([Result<RegisteredDevice, StoreFault>]) -> Void
    ) {
        precondition(!registrations.isEmpty)
        // Before the lock, which all apps share.
        let subjects = registrations.map(Subject.init)
        /// nil: there are too many.
        let starts: Bool? = state.withLock { state in
            let ofApp = (state.queues[app]?.waiting ?? 0) + registrations.count
            guard state.waiting + registrations.count <= settings.waitingMax, ofApp <= settings.appWaitingMax else {
                return nil
            }
            state.waiting += registrations.count
            let caller = Caller(count: registrations.count, answered)
            // Where it lies: taken out and put back, all that waits would be copied for each that comes.
            state.queues[app, default: AppQueue()].add(registrations, subjects, of: caller)
            return state.startsCommit(of: app, besideAtMost: settings.appCommitsMax)
        }
        guard let starts else { return answered(registrations.map { _ in .failure(.unavailable) }) }
        if starts { Task { await commit(app) } }
    }

    /// One batch after the other, until nothing waits that others don't have in hand.
    private func commit(_ app: AppID) async {
        while let (batch, starts) = takeBatch(app) {
            if starts { Task { await commit(app) } }
            let answers = await registry.register(batch.registrations, app: app)
            let answered = state.withLock { state in
                state.waiting -= answers.count
                return state.queues[app]?.finish(batch.number, answers) ?? []
            }
            for each in answered { each.tell(each.answers) }
        }
    }

    /// And whether the rest is for another task. nil: nothing is left for this one, which is counted out.
    private func takeBatch(_ app: AppID) -> (batch: RegistrationsUnderWay, startsAnother: Bool)? {
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
private struct RegistrationsUnderWay: Sendable {
    let number: UInt64
    let registrations: [DeviceRegistration]
}

/// What one app's registrations wait in.
private struct AppQueue {
    private var entries: [Entry] = []
    private var batches: [UInt64: [Entry]] = [:]
    private var batchNumber: UInt64 = 0
    /// Entries, and those that are on their way.
    private(set) var waiting = 0
    /// Tasks that take batches; each has at most one on its way.
    var commits = 0
    private var underWay = Subjects()
    private var underWayCount = 0

    mutating func add(_ registrations: [DeviceRegistration], _ subjects: [Subject], of caller: Caller) {
        waiting += registrations.count
        for (place, registration) in registrations.enumerated() {
            entries.append(Entry(registration, subjects[place], caller: caller, place: place))
        }
    }

    /// Whether another task is to take what waits, which the caller has to see to. Beside others only where it is as
    /// much as they carry each: what a transaction costs, whatever is in it, would outweigh what it gains.
    mutating func startsCommit(besideAtMost commitsMax: Int) -> Bool {
        guard !entries.isEmpty, commits < commitsMax, entries.count * commits >= underWayCount else {
            return false
        }
        commits += 1
        return true
    }

    /// The first ones that don't meet each other, nor what is on its way: at most one an installation and kind, and one a
    /// token. Whoever has a twin before it, taken or left, waits for the next batch, so that twins keep their order.
    ///
    /// What has a time is decided against the times of rows that others of its call may change, a token's holder among
    /// them: it passes none of its call that is left, and none passes it. Those without a time may pass each other. Of a
    /// call that is on its way nothing is taken.
    ///
    /// - Returns: nil where there is none.
    mutating func takeBatch(atMost limit: Int) -> RegistrationsUnderWay? {
        var taken: [Entry] = []
        var left: [Entry] = []
        var leftBehind = Subjects()
        /// The calls of those left, and whether one of these has a time.
        var leftOfCalls: [ObjectIdentifier: Bool] = [:]
        var place = 0
        // To its end: whoever meets nobody is not held up by a crowd of twins before it.
        while place < entries.count, taken.count < limit {
            let entry = entries[place]
            let isTimed = entry.registration.asOf != nil
            let mayPass = leftOfCalls[entry.call].map { othersAre in !othersAre && !isTimed } ?? true
            if mayPass, entry.caller.underWay == 0, !leftBehind.meet(entry), underWay.addFirst(entry) {
                taken.append(entry)
            } else {
                left.append(entry)
                leftBehind.add(entry)
                leftOfCalls[entry.call] = isTimed || leftOfCalls[entry.call] ?? false
            }
            place += 1
        }
        entries.replaceSubrange(0..<place, with: left)
        for entry in taken { entry.caller.underWay += 1 }
        if taken.isEmpty { return nil }
        underWayCount += taken.count
        batchNumber += 1
        batches[batchNumber] = taken
        return RegistrationsUnderWay(number: batchNumber, registrations: taken.map(\.registration))
    }

    /// - Parameters:
    ///   - number: of a batch that was taken.
    ///   - answers: to its registrations.
    /// - Returns: the calls that have all their answers now.
    mutating func finish(_ number: UInt64, _ answers: [Result<RegisteredDevice, StoreFault>]) -> [AnsweredCall] {
        let batch = batches.removeValue(forKey: number) ?? []
        waiting -= batch.count
        underWayCount -= batch.count
        for entry in batch {
            underWay.remove(entry)
            entry.caller.underWay -= 1
        }
        return zip(batch, answers).compactMap { $0.caller.answer($1, at: $0.place) }
    }
}

/// What one registration is about, by hashes.
private struct Subject {
    let installation: Int
    let token: Int

    init(_ registration: DeviceRegistration) {
        installation = InstallationKey(registration.installation, registration.kind).hashValue
        token = TokenKey(registration.provider, registration.token).hashValue
    }
}

/// What some entries are about. Two that hash alike are taken for twins, and the second one waits for a batch that it might
/// have joined.
private struct Subjects {
    private var installations: Set<Int> = []
    private var tokens: Set<Int> = []

    func meet(_ entry: Entry) -> Bool {
        guard !installations.isEmpty else { return false }
        return installations.contains(entry.subject.installation) || tokens.contains(entry.subject.token)
    }

    mutating func add(_ entry: Entry) {
        installations.insert(entry.subject.installation)
        tokens.insert(entry.subject.token)
    }

    /// False, and nothing is changed: another one is about its installation, or its token.
    mutating func addFirst(_ entry: Entry) -> Bool {
        guard installations.insert(entry.subject.installation).inserted else { return false }
        guard tokens.insert(entry.subject.token).inserted else {
            installations.remove(entry.subject.installation)
            return false
        }
        return true
    }

    mutating func remove(_ entry: Entry) {
        installations.remove(entry.subject.installation)
        tokens.remove(entry.subject.token)
    }
}

/// An object: it is handed on from list to list, and a copy of a registration touches each of its strings.
private final class Entry {
    let registration: DeviceRegistration
    let subject: Subject
    let caller: Caller
    let place: Int

    init(_ registration: DeviceRegistration, _ subject: Subject, caller: Caller, place: Int) {
        self.registration = registration
        self.subject = subject
        self.caller = caller
        self.place = place
    }

    var call: ObjectIdentifier { ObjectIdentifier(caller) }
}

/// Who waits for one or many answers. Touched under the committer's lock alone.
private final class Caller {
    private var answers: [Result<RegisteredDevice, StoreFault>]
    private var missing: Int
    /// How many of its registrations are.
    var underWay = 0
    private let tell: AnsweredCall.Tell

    init(count: Int, _ tell: @escaping AnsweredCall.Tell) {
        answers = Array(repeating: .failure(.unavailable), count: count)
        missing = count
        self.tell = tell
    }

    /// Set with the last answer.
    func answer(_ answer: Result<RegisteredDevice, StoreFault>, at place: Int) -> AnsweredCall? {
        answers[place] = answer
        missing -= 1
        return missing == 0 ? AnsweredCall(tell: tell, answers: answers) : nil
    }
}

/// A caller that can be told.
private struct AnsweredCall: Sendable {
    typealias Tell = @Sendable ([Result<RegisteredDevice, StoreFault>]) -> Void
    let tell: Tell
    let answers: [Result<RegisteredDevice, StoreFault>]
}
