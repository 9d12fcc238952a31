import PushModel

/// The bounds of a group commit.
package struct GroupCommitSettings: Equatable, Sendable {
    /// Registrations of one transaction. More would hold its row locks for longer than a neighbour should wait.
    package var batchMax: Int
    /// Registrations that wait, over all apps; beyond them the database is the bottleneck, and the caller is told.
    package var waitingMax: Int
    /// Registrations of one app that wait. Its share, so that one whose rows are locked, or that sends more than its one
    /// transaction at a time carries, leaves room for the others (P7).
    package var appWaitingMax: Int

    package init(batchMax: Int = 1_000, waitingMax: Int = 20_000, appWaitingMax: Int = 5_000) {
        precondition(batchMax > 0 && appWaitingMax >= batchMax && waitingMax >= appWaitingMax)
        self.batchMax = batchMax
        self.waitingMax = waitingMax
        self.appWaitingMax = appWaitingMax
    }
}

/// Gathers the registrations of one process into few transactions: what lifts 5,000 a second to many times that.
///
/// One transaction of an app is on its way at a time, and gathers what comes meanwhile into the next: an idle registry
/// answers at once, a busy one in batches. Apps never wait for each other.
package actor GroupCommitter {
    private let registry: RegistryStore
    private let settings: GroupCommitSettings
    private var queues: [AppID: AppQueue] = [:]
    private var waiting = 0

    package init(registry: RegistryStore, settings: GroupCommitSettings = GroupCommitSettings()) {
        self.registry = registry
        self.settings = settings
    }

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
        let ofApp = (queues[app]?.waiting ?? 0) + registrations.count
        guard waiting + registrations.count <= settings.waitingMax, ofApp <= settings.appWaitingMax else {
            return registrations.map { _ in .failure(.unavailable) }
        }
        waiting += registrations.count
        return await withCheckedContinuation { continuation in
            let caller = Caller(count: registrations.count, continuation)
            // Where it lies: taken out and put back, all that waits would be copied for each that comes.
            let isFirst = queues[app, default: AppQueue()].add(registrations, of: caller)
            if isFirst { Task { await commit(app) } }
        }
    }

    /// One batch after the other, until nothing waits.
    private func commit(_ app: AppID) async {
        while let batch = queues[app]?.takeBatch(atMost: settings.batchMax), !batch.isEmpty {
            let answers = await registry.register(batch.map(\.registration), app: app)
            waiting -= batch.count
            queues[app]?.waiting -= batch.count
            for (entry, answer) in zip(batch, answers) { entry.caller.answer(answer, at: entry.place) }
        }
        queues[app] = nil
    }
}

/// What one app's registrations wait in.
private struct AppQueue {
    var entries: [Entry] = []
    /// Entries, and those that are on their way.
    var waiting = 0
    var isCommitting = false

    /// True where nobody commits yet: the caller has to see to it.
    mutating func add(_ registrations: [DeviceRegistration], of caller: Caller) -> Bool {
        waiting += registrations.count
        for (place, registration) in registrations.enumerated() {
            entries.append(Entry(registration: registration, caller: caller, place: place))
        }
        defer { isCommitting = true }
        return !isCommitting
    }

    /// The first ones that don't meet each other: at most one an installation and kind, and one a token. Whoever has a
    /// twin before it, taken or left, waits for the next batch, so that twins keep their order.
    ///
    /// What has a time is decided against the times of rows that others of its call may change, a token's holder among
    /// them: it passes none of its call that is left, and none passes it. Those without a time may pass each other.
    mutating func takeBatch(atMost limit: Int) -> [Entry] {
        var taken: [Entry] = []
        var left: [Entry] = []
        var installations: Set<InstallationKey> = []
        var tokens: Set<TokenKey> = []
        /// The calls of those left, and whether one of these has a time.
        var leftOfCalls: [ObjectIdentifier: Bool] = [:]
        var place = 0
        // A queue of nothing but twins is not searched to its end for each.
        while place < entries.count, taken.count < limit, left.count < limit {
            let said = entries[place].registration
            let isNewInstallation = installations.insert(InstallationKey(said.installation, said.kind)).inserted
            let isNewToken = tokens.insert(TokenKey(said.provider, said.token)).inserted
            let call = ObjectIdentifier(entries[place].caller)
            let mayPass = leftOfCalls[call].map { isTimed in !isTimed && said.asOf == nil } ?? true
            if isNewInstallation && isNewToken && mayPass {
                taken.append(entries[place])
            } else {
                left.append(entries[place])
                leftOfCalls[call] = said.asOf != nil || leftOfCalls[call] ?? false
            }
            place += 1
        }
        entries.replaceSubrange(0..<place, with: left)
        return taken
    }
}

private struct Entry {
    let registration: DeviceRegistration
    let caller: Caller
    let place: Int
}

/// Who waits for one or many answers. Touched by the committer alone.
private final class Caller {
    private var answers: [Result<RegisteredDevice, StoreFault>]
    private var missing: Int
    private let continuation: CheckedContinuation<[Result<RegisteredDevice, StoreFault>], Never>

    init(count: Int, _ continuation: CheckedContinuation<[Result<RegisteredDevice, StoreFault>], Never>) {
        answers = Array(repeating: .failure(.unavailable), count: count)
        missing = count
        self.continuation = continuation
    }

    func answer(_ answer: Result<RegisteredDevice, StoreFault>, at place: Int) {
        answers[place] = answer
        missing -= 1
        if missing == 0 { continuation.resume(returning: answers) }
    }
}
