import JSON
import Logging
import PushModel
import Store

/// Cuts accepted messages into parcels, a slice at a time, as long as there is something to cut.
///
/// Any number of planners run beside each other: the database hands each slice to one of them.
actor Planner {
    private let store: MessageStore
    private let settings: DeliverySettings
    /// Rung where something may wait; others join in as long as more stands behind it.
    nonisolated let bell = Doorbell()
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

    /// Until the bell is removed.
    func run() async { await run(beside: settings.plannersMax - 1, bell) }

    /// One message after the other, the way to the disk included, is some hundred a second. Whoever finds a second one
    /// wakes a neighbour, and that one the next: a single message, or a broadcast's slices, are one planner's work.
    private func run(beside others: Int, _ bell: Doorbell) async {
        let neighbour = Doorbell()
        await withTaskGroup(of: Void.self) { group in
            if others > 0 { group.addTask { await self.run(beside: others - 1, neighbour) } }
            for await _ in bell.rings {
                var found = 0
                while !Task.isCancelled, await planOne() {
                    found += 1
                    if found > 1 { neighbour.ring() }
                }
            }
            neighbour.remove()
        }
    }

    /// True where there may be more. After a fault the safety net rings again.
    private func planOne() async -> Bool {
        do {
            let reply = try await store.planGroup(
                idsMax: settings.sliceIDsMax, parcelMembersMax: settings.parcelMembersMax,
                knownFormats: MessageStore.plannedFormats)
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
