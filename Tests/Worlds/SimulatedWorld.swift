import Basis
import Encodings
import Model

/// Gateways, a database, the providers and the devices of one seed: a run that is the same every time.
///
/// The Dispatchers and the rules are the real ones; everything around them is a value in here. After `faultsEnd`
/// nothing goes wrong any more, and the promises have to come true.
package struct SimulatedWorld {
    package let plan: WorldPlan
    var random: SeededRandom
    var now = SimulatedTime.zero
    var queue = EventQueue<WorldEvent>()
    package var store = SimulatedStore()
    var processes: [SimulatedProcess] = []
    package var providers = SimulatedProviders()
    package var devices: [SimulatedDevice] = []
    package var messages: [SimulatedMessage] = []
    package var weather = Weather()
    package var ledger = Ledger()
    var answerLedger = AnswerLedger()
    /// Messages that were cancelled. Never iterated.
    var cancelled: Set<MessageID> = []
    /// The earliest time at which pushes of a message may leave: its hour, less the error of the clock that read it.
    /// Never iterated.
    var hours: [MessageID: WallInstant] = [:]
    /// The ends of trouble that keeps the routes of a provider from sending, or processes from working. Never iterated.
    var troubledUntil: [Provider: SimulatedTime] = [:]
    var troubledUntilByProcesses = SimulatedTime.zero
    /// Pushes of transactional messages that have left once. Never iterated.
    var firstLeft: Set<PushPair> = []
    /// A false settlement that the engine writes, for tests of the checkers.
    package var lie: PlantedLie?
    package var cutLie: CutLie?
    /// How often clients sent each direct message to a running gateway. Never iterated.
    var cutAttempts: [Int: Int] = [:]
    var cutsBegun: UInt64 = 0
    /// The backend's writes of data.
    var writes: [SimulatedWrite] = []
    /// The writes whose answer the backend received. Never iterated.
    var written: Set<Int> = []
    package var wakeUps = WakeUpLedger()
    var lastWriteAt = SimulatedTime.zero
    /// The streams of the apps' producers: the lines of each app in the order of their times.
    var updates: [SimulatedUpdate] = []
    /// The last line of each app whose answer its producer received. Never iterated.
    var updatesReceived: [AppID: Int] = [:]
    package var items = ItemLedger()
    package var itemLie: ItemLie?
    /// Draws what subscribers and the backend do.
    var subscriber: SeededRandom
    /// The times since which no push of a message may be sent. Never iterated.
    var stoppedAt: [MessageID: SimulatedTime] = [:]
    /// The meters of messages that have a rate. Never iterated.
    var rateMeters: [MessageID: RateMeter] = [:]
    /// The times before which no process is killed in the middle of such a step. Never iterated.
    var sparedUntil: [StoreStep: SimulatedTime] = [:]
    /// Steps in whose middle a process ended, with the process. Never iterated.
    var leftHalfDone: [UpkeepStep: Addressee] = [:]
    /// The pushes that left, as Google counts them: one meter per project.
    var meters: [QuotaMeter] = []
    package var trail: Trail
    package var violation: Violation?
    /// The number of messages whose acceptance their senders received.
    var sent = 0
    /// The numbers of these messages. Never iterated.
    var acceptedReceived: Set<Int> = []
    /// The number of times that a gateway accepted each message. Never iterated.
    var acceptances: [Int: Int] = [:]
    /// Draws what happens to requests.
    var asker: SeededRandom
    var streams = 0
    var connections = 0
    /// The form of each message. Never iterated.
    package var forms: [MessageID: MessageForm] = [:]
    /// Registrations whose push ends any process that tries to send it.
    package var poisonous: Set<RegistrationID> = []
    package var events = 0
    package var incidents = WorldIncidents()

    /// A world that needs more is spinning, or wedged.
    package static let eventsMax = 4_000_000
    /// No world has reason to keep more events ahead of it.
    package static let queueMax = 20_000

    /// - Parameter trailLength: how many of the last events are kept for a report.
    package init(plan: WorldPlan, trailLength: Int = Trail.lengthDefault) {
        self.plan = plan
        trail = Trail(length: trailLength)
        random = SeededRandom(seed: plan.seed ^ 0x5eed)
        asker = SeededRandom(seed: plan.seed ^ 0xa5c)
        subscriber = SeededRandom(seed: plan.seed ^ 0x3a4e)
        populate()
        for index in 0..<plan.processes { processes.append(makeProcess(index)) }
        for index in processes.indices { start(index) }
        scheduleMessages()
        for mischief in Mischief.allCases { scheduleNext(mischief) }
        scheduleDeviceEvent()
        scheduleChangeOfHands()
        scheduleWakeUps()
        scheduleItems()
        queue.put(.faultsEnd, at: plan.faultsEnd)
        if plan.driftMax > 0 { incidents.note(.drift) }
    }

    /// The database's clock, on which all processes agree.
    package var wall: WallInstant { databaseWall(at: now) }

    func databaseWall(at time: SimulatedTime) -> WallInstant { SimulatedWorld.wall(at: time) + weather.clockOffset }

    package static func wall(at time: SimulatedTime) -> WallInstant {
        WallInstant(microseconds: 1_800_000_000_000_000 + time.nanoseconds / 1_000)
    }

    var isFaulty: Bool { now < plan.faultsEnd }

    package mutating func run() -> Violation? {
        while violation == nil, !isQuiet {
            events += 1
            guard events < Self.eventsMax, queue.count < Self.queueMax, let next = queue.takeFirst() else {
                fail("P1", "the world did not finish within \(events) events, \(queue.count) are left: \(unfinished)")
                break
            }
            now = next.at
            trail.note(now, next.event)
            handle(next.event)
        }
        if violation == nil { checkTheEnd() }
        return violation
    }

    mutating func fail(_ promise: String, _ sentence: String) {
        if violation == nil { violation = Violation(promise: promise, sentence: sentence) }
    }

    /// Whether all messages were sent and are over, and no process holds anything.
    var isQuiet: Bool {
        guard !isFaulty, sent == messages.count, written.count == writes.count, store.dueWatches.isEmpty else {
            return false
        }
        guard store.dueItems.isEmpty, store.heldPushes.isEmpty, areUpdatesReceived else { return false }
        return store.messages.allSatisfy(\.isAtItsEnd) && processes.allSatisfy(\.isIdle)
    }

    var unfinished: String {
        store.messages.filter { !$0.isAtItsEnd }
            .map { "\($0.state.name) with \(store.account($0.id)?.pending ?? 0) pending" }.joined(separator: ", ")
            + "; \(store.heldPushes.count) pushes of items are held"
    }

    private mutating func handle(_ event: WorldEvent) {
        if let to = event.addressee {
            guard processes[to.process].incarnation == to.incarnation, processes[to.process].isAlive else {
                return noteMissed(event)
            }
            if processes[to.process].isFrozen {
                processes[to.process].delayed.append(event)
                return
            }
            handle(event, in: to.process)
            return
        }
        switch event {
        case .callArrives(let call, let willBeAnswered): arrive(call, willBeAnswered)
        case .pushArrives(let push): arriveAtProvider(push)
        case .restart(let process): start(process)
        case .thaw(let process): thaw(process)
        case .mischief(let mischief): happen(mischief)
        case .deviceEvent: happenToADevice()
        case .changeOfHands: changeHands()
        case .subscriberEvent: happenToASubscriber()
        case .writeNode(let number): askToWrite(number)
        case .itemEvent: happenToItems()
        case .produce(let line): produce(line)
        case .send(let number): ask(.send(number))
        case .control(let number, let control): ask(.control(number, control))
        case .askArrives(let asking): carryOutLate(asking)
        case .faultsEnd: endFaults()
        default: break
        }
    }

    private mutating func handle(_ event: WorldEvent, in process: Int) {
        switch event {
        case .wake: wake(process)
        case .housekeeping: runUpkeep(process)
        case .flush: flush(process)
        case .notified: send(.hint, to: process)
        case .watchesRaised: fanOut(process)
        case .itemsRaised: pushItems(process)
        case .stopsNotified:
            notify(.stops, process)
            send(.hint, to: process)
        case .ends: kill(process)
        case .resolved(_, let serviceRoute, let lane):
            send(.resolved(serviceRoute, resolution(of: lane, process)), to: process)
        case .credentialsChanged: send(.credentialsChanged, to: process)
        case .laneCloses(_, let lane, let cause):
            if cause == .credentialRefused { send(.lane(lane, .credentialRefused(reason: "")), to: process) }
            send(.lane(lane, .blocked(cause, reason: "")), to: process)
        case .laneOpens(_, let lane): openLane(lane, process)
        case .laneTimer(_, let lane): notifyLane(lane, process)
        case .connectionDies(_, let lane, let connection): removeConnection(connection, lane, process)
        case .lastStreamSent(_, let lane, let connection): endGoAway(connection, lane, process)
        case .accessArrives(_, let credential, let token): adopt(token, credential, process)
        case .callAnswered(let call, let reply): receive(reply, to: call, process)
        case .streamEnds(_, let lane, let stream, let end): endStream(stream, lane, end, process)
        case .repeated(_, let lease, let position, let outcome):
            incidents.note(.repeated)
            noteRepeated(outcome, position, lease, process)
            report(outcome, position, lease, process)
        default: break
        }
    }

    mutating func after(_ range: ClosedRange<SimulatedTime>) -> SimulatedTime { now + random.within(range) }
}

/// The faults that affect the whole world.
package struct Weather: Sendable {
    package var storeDownUntil = SimulatedTime.zero
    /// The end of the time in which statements take seconds, and deadlines end some of them.
    var storeSlowUntil = SimulatedTime.zero
    /// The offset of the database's clock from true time.
    var clockOffset = Duration.zero
    /// The answer of an overloaded provider to every push.
    var storm: (kind: AnswerKind, until: SimulatedTime)?
    /// Provider tokens that were signed before this time have expired.
    var signedSince: [(credential: CredentialID, since: SimulatedTime)] = []
    package var unreachable: [(provider: Provider, until: SimulatedTime)] = []
    /// The answer that its provider gives to every push.
    package var onlyAnswer: AnswerKind?
    /// The provider that takes every push and answers none.
    package var silent: Provider?
    /// The end of a time in which every token of the place looks bad: somebody mixed up a topic, an environment or a
    /// project.
    package var waveUntil = SimulatedTime.zero
    package var wavePlace = LanePlace.production
    /// Refused credentials. A 404 of Google's frontend is a refusal too.
    package var refused: [(credential: CredentialID, isNoSuchProject: Bool, until: SimulatedTime)] = []
    package var missing: [(credential: CredentialID, until: SimulatedTime)] = []
    /// The number of rotations of each slot.
    package var rotations: [(slot: Int64, count: Int64)] = []

    package func isUnreachable(_ provider: Provider, _ now: SimulatedTime) -> Bool {
        unreachable.contains { $0.provider == provider && now < $0.until }
    }
}

/// The destination of a lane.
package enum LanePlace: Int64, CaseIterable, Sendable {
    case production = 1
    case sandbox = 2
    /// Lanes of certificates for calls alone.
    case calls = 3
    case sandboxCalls = 4
    case google = 5

    package init(_ provider: Provider, _ environment: PushEnvironment, ownCalls: Bool) {
        self =
            switch (provider, environment) {
            case (.fcm, _): .google
            case (_, .sandbox): ownCalls ? .sandboxCalls : .sandbox
            case (_, .production): ownCalls ? .calls : .production
            }
    }

    package var provider: Provider { self == .google ? .fcm : .apns }
    package var environment: PushEnvironment { self == .sandbox || self == .sandboxCalls ? .sandbox : .production }
    package var isForCalls: Bool { self == .calls || self == .sandboxCalls }
}

/// The last events, for the report of a run.
package struct Trail: Sendable {
    private struct Entry {
        let at: SimulatedTime
        let event: WorldEvent
        /// The choices drawn for the event, which the event itself does not contain.
        var drawn: String?
    }

    private var entries: [Entry] = []
    private var next = 0
    private let length: Int
    package static let lengthDefault = 60

    init(length: Int) { self.length = max(1, length) }

    mutating func note(_ at: SimulatedTime, _ event: WorldEvent) {
        if entries.count < length {
            entries.append(Entry(at: at, event: event))
        } else {
            entries[next] = Entry(at: at, event: event)
        }
        next = (next + 1) % length
    }

    /// Adds a drawn choice to the last event noted.
    mutating func add(_ drawn: String) {
        guard !entries.isEmpty else { return }
        entries[(next == 0 ? entries.count : next) - 1].drawn = drawn
    }

    package var lines: [String] {
        let inOrder = entries.count < length ? entries : Array(entries[next...] + entries[..<next])
        return inOrder.map { entry in
            "\(entry.at.text)  \(entry.event)\(entry.drawn.map { ": \($0)" } ?? "")"
        }
    }
}

extension SimulatedTime {
    /// The time as traces show it.
    var text: String { "\(nanoseconds / 1_000_000) ms" }
}
