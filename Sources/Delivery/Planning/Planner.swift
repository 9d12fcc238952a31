import Content
import Logging
import Model
import Store
import Synchronization
import Workers

/// Cuts accepted messages into parcels, slice by slice, until none is left.
///
/// One more loop plans transactional messages alone while another one plans a broadcast, or a message with as many
/// receivers. So a single push never waits for the slice of a broadcast.
struct Planner: Sendable {
    /// The planners in the order in which they wake each other. Only the first polls.
    private let planners: [(planner: SlicePlanner, loop: WorkLoop)]
    /// Plans transactional messages alone, beside a broadcast.
    private let transactional: WorkLoop
    private let broadcasts = ActiveBroadcasts()

    var loops: [WorkLoop] { planners.map(\.loop) + [transactional] }

    /// - Parameter parcelsWait: called after each slice that was cut: parcels are ready.
    init(
        _ store: MessageStore, _ settings: DeliverySettings, _ context: ServiceContext,
        parcelsWait: @escaping @Sendable ([PlannedSlice]) async -> Void
    ) {
        let (consequence, pollEvery) = ("planning delayed", settings.dispatcher.pollEvery)
        let extra = SlicePlanner(store, settings, context, broadcasts, next: nil, transactional: nil, parcelsWait)
        let transactional = WorkLoop(consequence, pollEvery: pollEvery, context) { [broadcasts] _ throws(StoreFault) in
            guard broadcasts.isActive else { return .idle }
            return try await extra.plan(transactionalAlone: true)
        }
        var planners: [(planner: SlicePlanner, loop: WorkLoop)] = []
        // The last comes first, because each planner needs the loop of the next one.
        for place in (0..<max(1, settings.plannersMax)).reversed() {
            let planner = SlicePlanner(
                store, settings, context, broadcasts, next: planners.first?.loop, transactional: transactional,
                parcelsWait)
            let loop = WorkLoop(consequence, pollEvery: place == 0 ? pollEvery : nil, context) {
                rounds throws(StoreFault) in
                try await planner.plan(after: rounds)
            }
            planners.insert((planner: planner, loop: loop), at: 0)
        }
        (self.planners, self.transactional) = (planners, transactional)
    }

    /// Wakes a planner that is free. One in the middle of a broadcast's slice would find the work only after it.
    func notify() {
        let free = planners.first { !$0.planner.isInLongSlice } ?? planners[0]
        free.loop.notify()
        if broadcasts.isActive { transactional.notify() }
    }
}

/// One planner, and whether it is in a slice that may take long.
private final class SlicePlanner: Sendable {
    private let store: MessageStore
    private let settings: DeliverySettings
    private let context: ServiceContext
    private let broadcasts: ActiveBroadcasts
    private let next: WorkLoop?
    private let transactional: WorkLoop?
    private let parcelsWait: @Sendable ([PlannedSlice]) async -> Void
    private let longSliceFlag = Atomic<Bool>(false)

    init(
        _ store: MessageStore, _ settings: DeliverySettings, _ context: ServiceContext, _ broadcasts: ActiveBroadcasts,
        next: WorkLoop?, transactional: WorkLoop?, _ parcelsWait: @escaping @Sendable ([PlannedSlice]) async -> Void
    ) {
        (self.store, self.settings, self.context, self.broadcasts) = (store, settings, context, broadcasts)
        (self.next, self.transactional, self.parcelsWait) = (next, transactional, parcelsWait)
    }

    private(set) var isInLongSlice: Bool {
        get { longSliceFlag.load(ordering: .sequentiallyConsistent) }
        set { longSliceFlag.store(newValue, ordering: .sequentiallyConsistent) }
    }

    /// Plans messages one by one, some hundred a second with the write to disk. A planner wakes the next one when it
    /// finds a second message, or a broadcast, whose slice may take long. The next one does the same.
    ///
    /// - Parameter rounds: the number of messages found since the sleep.
    func plan(after rounds: Int) async throws(StoreFault) -> WorkLoop.Round {
        defer { isInLongSlice = false }
        let round = try await plan { [self] in
            // In this order: if a signal still came here, the next one will find its message.
            isInLongSlice = true
            next?.notify()
        }
        if round == .more, rounds > 0 { next?.notify() }
        return round
    }

    func plan(
        transactionalAlone: Bool = false, longBegins: @escaping @Sendable () -> Void = {}
    ) async throws(StoreFault) -> WorkLoop.Round {
        let call = ActiveBroadcasts.Call(of: broadcasts, waking: transactional)
        defer { call.end() }
        let reply = try await store.plan(
            idsMax: settings.sliceIDsMax, parcelMembersMax: settings.parcelMembersMax,
            knownFormats: StoredContent.knownFormats,
            PlannedUrgencies(transactionalAlone: transactionalAlone) {
                call.begin()
                longBegins()
            })
        switch reply {
        case .nothing: return .idle
        case .planned(let slices):
            context.steps?.reached(.sliceCommitted)
            for slice in slices where slice.unknownZoneMembers > 0 {
                context.log.warning(
                    "Devices use the app's clock: the database does not know their time zones",
                    metadata: [
                        "message_id": "\(slice.message.value.text)", "devices": "\(slice.unknownZoneMembers)",
                    ])
            }
            await parcelsWait(slices)
        case .putAside(.contended): context.log.info("Message is locked by another session; planning is retried soon")
        case .putAside(let fault):
            context.log.error("Message can't be planned and is set aside", metadata: ["fault": "\(fault)"])
        }
        return .more
    }
}

/// The number of planners in a broadcast's slice.
private final class ActiveBroadcasts: Sendable {
    private let count = Atomic<Int>(0)

    var isActive: Bool { count.load(ordering: .sequentiallyConsistent) > 0 }

    final class Call: Sendable {
        private let all: ActiveBroadcasts
        private let transactional: WorkLoop?
        private let isBegun = Atomic<Bool>(false)

        /// - Parameter transactional: plans transactional messages alone; nil: this call is its own.
        init(of all: ActiveBroadcasts, waking transactional: WorkLoop?) {
            (self.all, self.transactional) = (all, transactional)
        }

        /// Records that the call has a broadcast. Messages accepted since it began did not wake the extra planner, so
        /// this does.
        func begin() {
            guard !isBegun.exchange(true, ordering: .relaxed) else { return }
            all.count.add(1, ordering: .sequentiallyConsistent)
            transactional?.notify()
        }

        func end() {
            if isBegun.load(ordering: .relaxed) { all.count.subtract(1, ordering: .sequentiallyConsistent) }
        }
    }
}
