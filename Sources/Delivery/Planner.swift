import JSON
import Logging
import PushModel
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
    private nonisolated let posts: [PlannerPost]
    private nonisolated let broadcasts = BroadcastsAtWork()
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
        posts = (0..<max(1, settings.plannersMax)).map { _ in PlannerPost() }
        self.steps = steps
        self.log = log
        self.parcelsWait = parcelsWait
    }

    /// Something may wait. A planner that is at work on a broadcast's slice would look for it only after that.
    nonisolated func ring() {
        (posts.first { !$0.isAtLong } ?? posts[0]).bell.ring()
        broadcasts.ring()
    }

    /// `run` returns when what is under way is done.
    nonisolated func stop() {
        for post in posts { post.bell.remove() }
        broadcasts.bell.remove()
    }

    func run() async {
        await withTaskGroup(of: Void.self) { group in
            for (place, post) in posts.enumerated() {
                let neighbour = place + 1 < posts.count ? posts[place + 1].bell : nil
                group.addTask { await self.run(post, neighbour) }
            }
            for await _ in broadcasts.bell.rings {
                while !Task.isCancelled, await planOne(transactionalAlone: true) {}
            }
        }
    }

    /// One message after the other, the way to the disk included, is some hundred a second. Whoever finds a second one, or
    /// a broadcast, of which a slice may take its time, wakes a neighbour, and that one the next.
    private func run(_ post: PlannerPost, _ neighbour: Doorbell?) async {
        for await _ in post.bell.rings {
            var found = 0
            while !Task.isCancelled {
                let isMore = await planOne {
                    // In this order: a ring that still came here is for a message that the neighbour will find.
                    post.isAtLong = true
                    neighbour?.ring()
                }
                post.isAtLong = false
                guard isMore else { break }
                found += 1
                if found > 1 { neighbour?.ring() }
            }
        }
    }

    /// True where there may be more. After a fault the safety net rings again.
    private func planOne(
        transactionalAlone: Bool = false, longBegins: @escaping @Sendable () -> Void = {}
    ) async -> Bool {
        let turn = BroadcastsAtWork.Turn(of: broadcasts)
        defer { turn.end() }
        do {
            let reply = try await store.planGroup(
                idsMax: settings.sliceIDsMax, parcelMembersMax: settings.parcelMembersMax,
                knownFormats: StoredContent.knownFormats,
                PlannedUrgencies(transactionalAlone: transactionalAlone) {
                    turn.begin()
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
private final class PlannerPost: Sendable {
    let bell = Doorbell()
    private let longFlag = Atomic<Bool>(false)

    var isAtLong: Bool {
        get { longFlag.load(ordering: .sequentiallyConsistent) }
        set { longFlag.store(newValue, ordering: .sequentiallyConsistent) }
    }
}

/// How many planners are at work on broadcasts, and whom that wakes.
private final class BroadcastsAtWork: Sendable {
    /// Of the planner for transactional messages alone.
    let bell = Doorbell()
    private let count = Atomic<Int>(0)

    /// Something may wait: nobody who is at work on a broadcast will look for it.
    func ring() {
        if count.load(ordering: .sequentiallyConsistent) > 0 { bell.ring() }
    }

    /// One planner's call.
    final class Turn: Sendable {
        private let all: BroadcastsAtWork
        private let isBegun = Atomic<Bool>(false)

        init(of all: BroadcastsAtWork) { self.all = all }

        /// It has a broadcast. What came since it asked has found nobody at work.
        func begin() {
            guard !isBegun.exchange(true, ordering: .relaxed) else { return }
            all.count.add(1, ordering: .sequentiallyConsistent)
            all.bell.ring()
        }

        func end() {
            if isBegun.load(ordering: .relaxed) { all.count.subtract(1, ordering: .sequentiallyConsistent) }
        }
    }
}

/// Rings that melt into one while nobody listens; one listener.
package struct Doorbell: Sendable {
    let rings: AsyncStream<Void>
    private let button: AsyncStream<Void>.Continuation

    package init() {
        (rings, button) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    package func ring() { button.yield() }

    package func remove() { button.finish() }
}
