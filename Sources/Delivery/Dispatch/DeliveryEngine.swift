import Basis
import Lanes
import Logging
import Model
import QueueRules
import Reactor
import Store

/// The shell around the dispatcher: performs its actions against the database and the lanes, and reports the results to
/// it. It decides nothing.
package actor DeliveryEngine {
    let stores: Stores
    let settings: DeliverySettings
    let process: ProcessID
    let messageCache: CompiledMessageCache
    /// The contents of messages accepted by this process a moment ago.
    nonisolated let accepted = AcceptedMessages()
    let lanes: LanePool
    private(set) var dispatcher: Dispatcher
    /// Parcels whose pushes are in flight, by lease; looked up, and summed for the log.
    var outstandingParcels: [LeaseName: OutstandingParcel] = [:]
    /// The settles on their way, by app; looked up, never iterated.
    var settles: [AppID: SettleQueue] = [:]
    var renewals = BatchQueue<LeaseName>(batchesMax: RenewalBatches.batchesMax, entriesMax: RenewalBatches.leasesMax)
    let cutEnds = CutEnds()
    /// The pushes being encoded; looked up, never iterated.
    var encodingQueues: [EncodingQueueKey: BatchQueue<EncodingJob>] = [:]
    /// The route after which the next poll begins; nil: at the first route.
    var pollFrom: RouteID?
    var routesToResolve: [ReadyRoute] = []
    var routesQueued: Set<ServiceRoute> = []
    var reasonNames = ReasonNames()
    var suspectRoutes = SuspectRoutes()
    /// Routes whose accepted pushes had answers with a fault.
    var undocumentedRoutes = SuspectRoutes()
    var complaints = ReportedComplaints()
    var isResolving = false
    private var wakeAt = MonotonicInstant(nanoseconds: .max)
    private var alarmClock: Task<Void, Never>?
    private var drained = false
    private var drainWaiters: [CheckedContinuation<Void, Never>] = []

    package init(stores: Stores, lanes: LanePool, settings: DeliverySettings, process: ProcessID) {
        (self.stores, self.lanes, self.settings, self.process) = (stores, lanes, settings, process)
        messageCache = CompiledMessageCache(store: stores.messages, accepted: accepted)
        dispatcher = Dispatcher(settings: settings.dispatcher, now: Clocks.monotonicNow())
    }

    nonisolated var context: ServiceContext { stores.context }
    nonisolated var log: Logger { context.log }
    nonisolated var steps: (any StepListener)? { context.steps }

    package func run() async {
        take(.timer)
        for await _ in lanes.inbox.signals {
            let arrived = lanes.inbox.take()
            // A lane that was blocked has handed pushes back, which must not be leased for it again.
            for report in arrived.reports {
                if let event = lanes.read(report) { take(.lane(report.key, event)) }
            }
            takeAnswers(arrived.answers)
        }
    }

    package func hint() { take(.hint) }

    /// Handles slices that this process cut.
    func planned(_ slices: [PlannedSlice]) {
        let ready = slices.flatMap(\.ready)
        if !ready.isEmpty { take(.planned(ready)) }
        // Only a query tells when a rate's first quantum is available.
        if slices.contains(where: \.waitsForRate) { take(.hint) }
    }

    func ready(_ routes: [ReadyRoute]) { take(.planned(routes)) }

    package func credentialsChanged() { take(.credentialsChanged) }

    /// Leases no more, withdraws pushes without a stream, and settles the others.
    package func drain() async {
        take(.drain)
        guard !drained else { return }
        await withCheckedContinuation { drainWaiters.append($0) }
    }

    var pushesInFlight: Int { outstandingParcels.values.reduce(0) { $0 + $1.answersOutstanding } }

    func take(_ event: DispatchEvent) {
        let actions = dispatcher.handle(event, now: Clocks.monotonicNow())
        OwnWork.start {
            perform(actions)
            setAlarm()
        }
    }

    func admit(_ cut: CutID, _ demands: [CutDemand]) -> [LaneKey?] {
        dispatcher.admit(cut, demands, now: Clocks.monotonicNow())
    }

    func noteProof(_ lane: LaneKey, accepted: Int, refused: Int) {
        dispatcher.noteProof(lane, accepted: accepted, refused: refused, now: Clocks.monotonicNow())
    }

    func noteDrained() {
        drained = true
        for waiter in drainWaiters { waiter.resume() }
        drainWaiters = []
        alarmClock?.cancel()
        lanes.inbox.close()
    }

    private func setAlarm() {
        let next = dispatcher.nextWake()
        guard next < wakeAt, !drained else { return }
        wakeAt = next
        alarmClock?.cancel()
        alarmClock = Task { [weak self] in
            let pause = next - Clocks.monotonicNow()
            if pause > .zero {
                do { try await Task.sleep(for: pause) } catch { return }
            }
            await self?.alarmFired(next)
        }
    }

    private func alarmFired(_ instant: MonotonicInstant) {
        guard wakeAt == instant else { return }
        wakeAt = MonotonicInstant(nanoseconds: .max)
        take(.timer)
    }
}

/// The state kept for a lease while its pushes are in flight.
struct OutstandingParcel: Sendable {
    let parcel: LeasedParcel
    let serviceRoute: ServiceRoute
    let message: CachedMessage
    /// The values for the message's placeholders; nil: it has none.
    let values: MemberValues?
    let lane: LaneKey
    var provider: Provider?
    var answersOutstanding: Int
    var isWithdrawn = false
    var sawAnswer = false

    var name: LeaseName { LeaseName(parcel: parcel.id, epoch: parcel.epoch) }
}

/// The pushes that are encoded one parcel after the other. Urgent ones do not wait for a broadcast's encoding; the lane
/// sends them first, too.
struct EncodingQueueKey: Hashable, Sendable {
    private let serviceRoute: ServiceRoute
    private let urgency: MessageUrgency

    init(_ out: OutstandingParcel) { (serviceRoute, urgency) = (out.serviceRoute, out.parcel.urgency) }
}

/// Members of a lease whose pushes are to be encoded, and until when these may open a stream.
struct EncodingJob: Sendable {
    let name: LeaseName
    let exit: LaneTarget
    let positions: [Int32]
    let until: MonotonicInstant
}

struct ParcelAnswers: Sendable {
    let name: LeaseName
    let batch: AnswerBatch
}
