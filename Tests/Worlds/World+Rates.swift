import Basis
import Model
import QueueRules

// Checks of messages that have a rate: the pushes leased, and the pushes that left, within any time.
extension SimulatedWorld {
    /// Starts a new meter where the message's rate has changed.
    mutating func noteRate(of id: MessageID) {
        guard let rate = store.message(id)?.ratePerSecond else {
            rateMeters[id] = nil
            return
        }
        guard rateMeters[id]?.perSecond != rate else { return }
        // Pushes leased before at a higher rate are withdrawn when their process receives the new one.
        rateMeters[id] = RateMeter(
            perSecond: rate, lanesMax: plan.hasSandbox ? 3 : 2,
            leavingFrom: now + SimulatedTime(plan.settings.pollEvery) + .seconds(1))
    }

    /// The largest quantum. Small parcels are leased together as one.
    var quantaMax: Int { MessagePace.quantum(of: .max, perSecond: Self.rates.compactMap(\.self).max() ?? 0) }

    /// Checks quanta by the database's clock, over all processes. Parcels in quarantine and cross-environment parcels
    /// don't wait for a rate.
    mutating func checkRate(of parcel: LeasedParcel, _ scope: LeaseScope) {
        guard scope == .rateLimited, parcel.leasedAt < parcel.expiresAt else { return }
        incidents.quanta += 1
        guard parcel.ratePerSecond == rateMeters[parcel.message]?.perSecond else {
            return fail("P7", "a quantum is leased from a message without a rate")
        }
        judge(.rateLeased)
        let wall = wall
        let excess = rateMeters[parcel.message]?.lease(parcel.members.count - parcel.deferredCount, at: wall)
        guard let excess, excess > 0, plan.clockStepEvery == nil else { return }
        fail("P7", "\(excess) more pushes are leased than \(parcel.ratePerSecond ?? 0) a second allow")
    }

    /// Checks the rate on the wire, where nothing delays pushes for long. Each process may have a bounded number under
    /// way.
    mutating func checkRate(of push: WirePush) {
        let (now, count) = (now, processes.count)
        guard plan.reportsAtOnce, !push.isElsewhere, rateMeters[push.message].map({ now >= $0.leavingFrom }) == true,
            let excess = rateMeters[push.message]?.leave(at: now, processes: count)
        else { return }
        if rateMeters[push.message]?.wouldShow(processes: count) == true { judge(.rateOnTheWire) }
        guard excess > 0 else { return }
        fail("P7", "\(excess) more pushes leave than the rate of their message allows")
    }
}

/// The world's own count of one message since it got its rate. It keeps no future instants, and no debts.
struct RateMeter: Sendable {
    let perSecond: Int32
    /// The most lanes of one process that have pushes of the message: one per APNs environment, and Google's.
    let lanesMax: Int
    /// Pushes that left before were leased under another rate.
    let leavingFrom: SimulatedTime
    private var leases: [(at: WallInstant, pushes: Int)] = []
    private var left: [SimulatedTime] = []
    /// An excess longer ago would have been seen then.
    private static let eventsMax = 400

    init(perSecond: Int32, lanesMax: Int, leavingFrom: SimulatedTime) {
        self.perSecond = perSecond
        self.lanesMax = lanesMax
        self.leavingFrom = leavingFrom
    }

    private var quantum: Int { MessagePace.quantum(of: .max, perSecond: perSecond) }

    private func allowed(within time: Duration) -> Int {
        Int(time.wholeNanoseconds / 1_000) * Int(perSecond) / 1_000_000
    }

    /// The excess of leased pushes over the rate, in the worst interval that ends now.
    mutating func lease(_ pushes: Int, at now: WallInstant) -> Int {
        leases.append((now, pushes))
        if leases.count > Self.eventsMax { leases.removeFirst() }
        var sum = 0
        var worst = 0
        for lease in leases.reversed() {
            sum += lease.pushes
            // The quantum that begins the interval is paid for after it. One more push covers the rounding.
            let bound = allowed(within: now - lease.at + MessagePace.slack) + quantum + 1
            worst = max(worst, sum - bound)
        }
        return worst
    }

    /// The most pushes under way. Routes ask side by side, each for a quantum.
    private func open(_ processes: Int) -> Int {
        processes * (lanesMax * MessagePace.unsentMax(perSecond: perSecond) + 4 * quantum)
    }

    /// Whether so many have left that they would have been too many at once.
    func wouldShow(processes: Int) -> Bool { left.count > open(processes) + allowed(within: MessagePace.slack) + 1 }

    mutating func leave(at now: SimulatedTime, processes: Int) -> Int {
        left.append(now)
        if left.count > Self.eventsMax { left.removeFirst() }
        let open = open(processes)
        var worst = 0
        for (count, instant) in left.reversed().enumerated() {
            let time = Duration.nanoseconds(now.nanoseconds - instant.nanoseconds)
            worst = max(worst, count + 1 - allowed(within: time + MessagePace.slack) - open - 1)
        }
        return worst
    }
}
