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
    /// Rung where something may wait; others join in as long as more stands behind it.
    private nonisolated let bell = Doorbell()
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
        self.steps = steps
        self.log = log
        self.parcelsWait = parcelsWait
    }

    /// Something may wait.
    nonisolated func ring() {
        bell.ring()
        broadcasts.ring()
    }

    /// `run` returns when what is under way is done.
    nonisolated func stop() {
        bell.remove()
        broadcasts.bell.remove()
    }

    func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.run(beside: self.settings.plannersMax - 1, self.bell) }
            for await _ in broadcasts.bell.rings {
                while !Task.isCancelled, await planOne(transactionalAlone: true) {}
            }
        }
    }

    /// One message after the other, the way to the disk included, is some hundred a second. Whoever finds a second one, or
    /// a broadcast, of which a slice may take its time, wakes a neighbour, and that one the next.
    private func run(beside others: Int, _ bell: Doorbell) async {
        let neighbour = Doorbell()
        await withTaskGroup(of: Void.self) { group in
            if others > 0 { group.addTask { await self.run(beside: others - 1, neighbour) } }
            for await _ in bell.rings {
                var found = 0
                while !Task.isCancelled, await planOne(longBegins: { neighbour.ring() }) {
                    found += 1
                    if found > 1 { neighbour.ring() }
                }
            }
            neighbour.remove()
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
                knownFormats: MessageStore.plannedFormats,
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
