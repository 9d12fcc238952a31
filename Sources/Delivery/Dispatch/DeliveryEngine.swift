import Basis
import CompiledMessages
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
    /// The settles on their way, by app; looked up, never iterated.
    var settles: [AppID: SettleQueue] = [:]
    var renewals = BatchQueue<LeaseName>(batchesMax: RenewalBatches.batchesMax, entriesMax: RenewalBatches.leasesMax)
    let cutEnds = CutEnds()
    /// The pushes being encoded; looked up, never iterated.
    var encodingQueues: [EncodingQueueKey: BatchQueue<OutgoingParcel>] = [:]
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
        for await _ in lanes.open.inbox.signals {
            let arrived = lanes.open.inbox.take()
            // A lane that was blocked has handed pushes back, which must not be leased for it again.
            for report in arrived.reports {
                if let event = lanes.open.read(report) { take(.lane(report.key, event)) }
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

    var pushesInFlight: Int { dispatcher.pushesInFlight }

    /// - Parameter found: the content of the parcels that the event brings.
    func take(_ event: DispatchEvent, _ found: [FoundParcel] = []) {
        let actions = dispatcher.handle(event, now: Clocks.monotonicNow())
        OwnWork.start {
            perform(actions, found)
            setAlarm()
        }
    }

    func admit(_ cut: CutID, _ demands: [CutDemand]) -> [LaneKey?] {
        dispatcher.admit(cut, demands, now: Clocks.monotonicNow())
    }

    func noteProof(_ lane: LaneKey, accepted: Int, refused: Int) {
        dispatcher.noteProof(lane, accepted: accepted, refused: refused, now: Clocks.monotonicNow())
    }

    func noteArrived(_ count: Int, of name: LeaseName) -> Int? { dispatcher.noteArrived(count, of: name) }

    func noteDrained() {
        drained = true
        for waiter in drainWaiters { waiter.resume() }
        drainWaiters = []
        alarmClock?.cancel()
        lanes.open.inbox.close()
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

/// Members of a leased parcel whose pushes are on their way to a lane: what these are made of, and where they go.
///
/// It waits to be encoded, and then comes back from the lane with their answers. The dispatcher alone knows the lease's
/// state.
final class OutgoingParcel: Sendable {
    let name: LeaseName
    let parcel: LeasedParcel
    let serviceRoute: ServiceRoute
    /// nil: the stored content is gone or can't be compiled.
    let message: CompiledMessage?
    /// The values for the message's placeholders; nil: it has none.
    let values: MemberValues?
    let exit: LaneTarget
    let positions: [Int32]
    /// No stream opens after this.
    let until: MonotonicInstant

    init(_ found: FoundParcel, _ exit: LaneTarget, _ positions: [Int32], until: MonotonicInstant) {
        (name, parcel, serviceRoute) = (found.parcel.leaseName, found.parcel, found.serviceRoute)
        (message, values) = (found.message?.compiled, found.values)
        (self.exit, self.positions, self.until) = (exit, positions, until)
    }
}

/// The pushes that are encoded one parcel after the other. Urgent ones do not wait for a broadcast's encoding; the lane
/// sends them first, too.
struct EncodingQueueKey: Hashable, Sendable {
    private let serviceRoute: ServiceRoute
    private let urgency: MessageUrgency

    init(_ out: OutgoingParcel) { (serviceRoute, urgency) = (out.serviceRoute, out.parcel.urgency) }
}

struct ParcelAnswers: Sendable {
    let out: OutgoingParcel
    let batch: AnswerBatch
}
