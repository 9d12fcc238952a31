import Content
import Logging
import Model
import Store
import Synchronization

/// Cuts accepted messages into parcels, a slice at a time, as long as there is something to cut.
///
/// Any number of planners run beside each other: the database hands each slice to one of them. One more plans transactional
/// messages alone, whenever another is at work on a broadcast, or on what names as many devices: what a slice of that costs,
/// whoever waits for a single push doesn't wait for it.
actor Planner {
    private let store: MessageStore
    private let settings: DeliverySettings
    /// One for each planner. The first is rung where something may wait; the others join in as long as there is more.
    private nonisolated let posts: [PlannerSignal]
    private nonisolated let broadcasts = ActiveBroadcasts()
    private let steps: (any StepListener)?
    private let log: Logger
    /// Told after each turn: parcels are waiting.
    private let parcelsWait: @Sendable ([PlannedSlice]) async -> Void

    init(
        store: MessageStore, settings: DeliverySettings, steps: (any StepListener)?, log: Logger,
        parcelsWait: @escaping @Sendable ([PlannedSlice]) async -> Void
    ) {
        self.store = store
        self.settings = settings
        posts = (0..<max(1, settings.plannersMax)).map { _ in PlannerSignal() }
        self.steps = steps
        self.log = log
        self.parcelsWait = parcelsWait
    }

    /// Something may wait. A planner that is at work on a broadcast's slice would look for it only after that.
    nonisolated func notify() {
        (posts.first { !$0.isInLongSlice } ?? posts[0]).signal.notify()
        broadcasts.notify()
    }

    /// `run` returns when what is under way is done.
    nonisolated func stop() {
        for post in posts { post.signal.remove() }
        broadcasts.signal.remove()
    }

    func run() async {
        await withTaskGroup(of: Void.self) { group in
            for (place, post) in posts.enumerated() {
                let neighbour = place + 1 < posts.count ? posts[place + 1].signal : nil
                group.addTask { await self.run(post, neighbour) }
            }
            for await _ in broadcasts.signal.signals {
                while !Task.isCancelled, await planOne(transactionalAlone: true) {}
            }
        }
    }

    /// One message after the other, the way to the disk included, is some hundred a second. Whoever finds a second one, or
    /// a broadcast, of which a slice may take its time, wakes a neighbour, and that one the next.
    private func run(_ post: PlannerSignal, _ neighbour: CoalescingSignal?) async {
        for await _ in post.signal.signals {
            var found = 0
            while !Task.isCancelled {
                let isMore = await planOne {
                    // In this order: a ring that still came here is for a message that the neighbour will find.
                    post.isInLongSlice = true
                    neighbour?.notify()
                }
                post.isInLongSlice = false
                guard isMore else { break }
                found += 1
                if found > 1 { neighbour?.notify() }
            }
        }
    }

    /// True where there may be more. After a fault the safety net rings again.
    private func planOne(
        transactionalAlone: Bool = false, longBegins: @escaping @Sendable () -> Void = {}
    ) async -> Bool {
        let call = ActiveBroadcasts.Call(of: broadcasts)
        defer { call.end() }
        do {
            let reply = try await store.planGroup(
                idsMax: settings.sliceIDsMax, parcelMembersMax: settings.parcelMembersMax,
                knownFormats: StoredContent.knownFormats,
                PlannedUrgencies(transactionalAlone: transactionalAlone) {
                    call.begin()
                    longBegins()
                })
            switch reply {
            case .nothing: return false
            case .planned(let slices):
                steps?.reached(.sliceCommitted)
                await parcelsWait(slices)
            case .putAside(.contended): log.info("A message is locked by others, and is planned in a second or two")
            case .putAside(let fault):
                log.error("A message can't be planned, and waits for its mending", metadata: ["fault": "\(fault)"])
            }
            return true
        } catch {
            log.warning("Planning waits for the database", metadata: ["fault": "\(error)"])
            return false
        }
    }
}

/// One planner's bell, and whether the planner is at work on a slice that may take long.
private final class PlannerSignal: Sendable {
    let signal = CoalescingSignal()
    private let longSliceFlag = Atomic<Bool>(false)

    var isInLongSlice: Bool {
        get { longSliceFlag.load(ordering: .sequentiallyConsistent) }
        set { longSliceFlag.store(newValue, ordering: .sequentiallyConsistent) }
    }
}

/// How many planners are at work on broadcasts, and whom that wakes.
private final class ActiveBroadcasts: Sendable {
    /// Of the planner for transactional messages alone.
    let signal = CoalescingSignal()
    private let count = Atomic<Int>(0)

    /// Something may wait: nobody who is at work on a broadcast will look for it.
    func notify() {
        if count.load(ordering: .sequentiallyConsistent) > 0 { signal.notify() }
    }

    /// One planner's call.
    final class Call: Sendable {
        private let all: ActiveBroadcasts
        private let isBegun = Atomic<Bool>(false)

        init(of all: ActiveBroadcasts) { self.all = all }

        /// It has a broadcast. What came since it asked has found nobody at work.
        func begin() {
            guard !isBegun.exchange(true, ordering: .relaxed) else { return }
            all.count.add(1, ordering: .sequentiallyConsistent)
            all.signal.notify()
        }

        func end() {
            if isBegun.load(ordering: .relaxed) { all.count.subtract(1, ordering: .sequentiallyConsistent) }
        }
    }
}

/// Rings that melt into one while nobody listens; one listener.
package struct CoalescingSignal: Sendable {
    let signals: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    package init() {
        (signals, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    package func notify() { continuation.yield() }

    package func remove() { continuation.finish() }
}
