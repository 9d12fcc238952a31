import Basis
import Content
import Logging
import Model
import Store
import Synchronization

/// Cuts accepted messages into parcels, slice by slice, until none is left.
///
/// Any number of planners run beside each other: the database gives each slice to one of them. One more plans
/// transactional messages alone while another one plans a broadcast, or a message with as many receivers. So a single
/// push never waits for the slice of a broadcast.
actor Planner {
    private let store: MessageStore
    private let settings: DeliverySettings
    /// One signal per planner. The first is notified when work may wait; the others join while there is more.
    private nonisolated let posts: [PlannerSignal]
    private nonisolated let broadcasts = ActiveBroadcasts()
    private let steps: (any StepListener)?
    private let database: DatabaseWatch
    private let log: Logger
    /// Called after each slice that was cut: parcels are ready.
    private let parcelsWait: @Sendable ([PlannedSlice]) async -> Void

    init(
        store: MessageStore, settings: DeliverySettings, steps: (any StepListener)?, database: DatabaseWatch,
        log: Logger, parcelsWait: @escaping @Sendable ([PlannedSlice]) async -> Void
    ) {
        (self.store, self.settings, self.database) = (store, settings, database)
        posts = (0..<max(1, settings.plannersMax)).map { _ in PlannerSignal() }
        (self.steps, self.log, self.parcelsWait) = (steps, log, parcelsWait)
    }

    /// Wakes a planner that is free. One in the middle of a broadcast's slice would find the work only after it.
    nonisolated func notify() {
        (posts.first { !$0.isInLongSlice } ?? posts[0]).signal.notify()
        broadcasts.notify()
    }

    /// Makes `run` return when the calls under way are done.
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

    /// Plans messages one by one, some hundred a second with the write to disk. A planner wakes its neighbour when it
    /// finds a second message, or a broadcast, whose slice may take long. The neighbour does the same.
    private func run(_ post: PlannerSignal, _ neighbour: CoalescingSignal?) async {
        for await _ in post.signal.signals {
            var found = 0
            while !Task.isCancelled {
                let isMore = await planOne {
                    // In this order: if a signal still came here, the neighbour will find its message.
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

    /// Returns true if there may be more. After a fault, the regular notification tries again.
    private func planOne(
        transactionalAlone: Bool = false, longBegins: @escaping @Sendable () -> Void = {}
    ) async -> Bool {
        let call = ActiveBroadcasts.Call(of: broadcasts)
        defer { call.end() }
        do {
            let reply = try await store.plan(
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
                for slice in slices where slice.unknownZoneMembers > 0 {
                    log.warning(
                        "Devices use the app's clock: the database does not know their time zones",
                        metadata: [
                            "message_id": "\(slice.message.value.text)", "devices": "\(slice.unknownZoneMembers)",
                        ])
                }
                await parcelsWait(slices)
            case .putAside(.contended): log.info("Message is locked by another session; planning is retried soon")
            case .putAside(let fault):
                log.error("Message can't be planned and is set aside", metadata: ["fault": "\(fault)"])
            }
            return true
        } catch {
            database.failed("planning delayed", error)
            return false
        }
    }
}

/// One planner's signal, and whether that planner is in a slice that may take long.
private final class PlannerSignal: Sendable {
    let signal = CoalescingSignal()
    private let longSliceFlag = Atomic<Bool>(false)

    var isInLongSlice: Bool {
        get { longSliceFlag.load(ordering: .sequentiallyConsistent) }
        set { longSliceFlag.store(newValue, ordering: .sequentiallyConsistent) }
    }
}

/// The number of planners in a broadcast's slice, and the signal of the extra planner.
private final class ActiveBroadcasts: Sendable {
    /// Wakes the planner for transactional messages alone.
    let signal = CoalescingSignal()
    private let count = Atomic<Int>(0)

    /// Wakes the extra planner if a broadcast occupies another one.
    func notify() {
        if count.load(ordering: .sequentiallyConsistent) > 0 { signal.notify() }
    }

    final class Call: Sendable {
        private let all: ActiveBroadcasts
        private let isBegun = Atomic<Bool>(false)

        init(of all: ActiveBroadcasts) { self.all = all }

        /// Records that the call has a broadcast. Messages accepted since it began did not wake the extra planner, so
        /// this does.
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
