import Model
import QueueRules
import Store
import Worlds

// Parcels leased or settled in one call.
extension ConformanceRun {
    mutating func lease(_ order: LeaseOrder) async throws -> String? {
        let size = LeaseGroup(parcelsMax: random.pick([1, 1, 2, 3, 64]), membersMax: random.pick([1, 4, 1_000]))
        pushHistory.append("  at most \(size.parcelsMax) with \(size.membersMax) members")
        let real = try await stores.parcels.lease(order, size, now: now)
        let lease = simulated.lease(order, size, now: now)
        let parcels = real.parcels
        for parcel in parcels { take(parcel, order.owner) }
        let comparable = Lease(parcels.withoutBadgeSets, again: real.again)
        if let difference = differ("lease", comparable, lease) { return difference }
        guard parcels.count > 1, parcels.contains(where: { !$0.deferrals.isEmpty }) else { return nil }
        groupsDeferred += 1
        // Settles these parcels before any other operation touches them.
        return random.happens(perMille: 500) ? try await settleTogether() : nil
    }

    mutating func take(_ parcel: LeasedParcel, _ owner: ProcessID) {
        let isRepeatable = random.happens(perMille: 800)
        let run = ParcelRun(parcel: parcel, leasedAt: mono, policy: RetryPolicy(), isRepeatable: isRepeatable)
        runs.append(HeldRun(run: run, owner: owner))
    }

    /// Answers and settles most parcels that are held, or only those that another owner has leased since. Now and then
    /// the call repeats an earlier settlement.
    mutating func settleTogether() async throws -> String? {
        var settlements: [Settlement] = []
        let overtaken = random.happens(perMille: 500) ? overtaken : []
        for place in runs.indices
        where overtaken.isEmpty ? random.happens(perMille: 700) : overtaken.contains(place) {
            for position in 0..<runs[place].run.parcel.members.count {
                runs[place].run.record(drawTerminalStatus(), for: position, now: mono)
            }
            noteComplaint(place)
            guard let pending = runs[place].run.takeSettlement() else { continue }
            if let difference = try await applyVerdicts(pending.verdicts) { return difference }
            pastSettlements.append(pending.settlement)
            // Two settlements of one parcel in one call: the store decides whether the fenced one sees the other, so
            // only one goes in.
            let isAnother = !settlements.contains { $0.parcel == pending.settlement.parcel }
            if isAnother {
                settlements.append(pending.settlement)
                continue
            }
            let real = await stores.parcels.settle([pending.settlement], now: now)
            let reply = simulated.settle([pending.settlement], now: now)[0]
            _ = runs[place].run.concludeSettle(reply)
            if let difference = differ("settle", real, [.success(reply)]) { return difference }
        }
        let past = pastSettlements.filter { past in !settlements.contains { $0.parcel == past.parcel } }
        if !past.isEmpty, random.happens(perMille: 300) { settlements.append(random.pick(past)) }
        pushHistory.append("settle together \(settlements.map(\.parcel.value))")
        let real = await stores.parcels.settle(settlements, now: now)
        let replies = simulated.settle(settlements, now: now)
        let leftSome = zip(settlements, replies).contains { settlement, reply in
            reply == .settled && settlement.remainders.contains { !$0.members.isEmpty }
        }
        if settlements.count > 1, leftSome { groupsLeavingSome += 1 }
        for (settlement, reply) in zip(settlements, replies) {
            let place = runs.firstIndex { $0.run.settling?.settlement == settlement }
            if let place { _ = runs[place].run.concludeSettle(reply) }
        }
        runs.removeAll { $0.run.openCount == 0 && $0.run.settling == nil }
        return differ("settles", real, replies.map { .success($0) })
    }

    private mutating func drawTerminalStatus() -> Outcome {
        random.pick([
            .accepted, .accepted, .accepted, .withheld(reason: TerminalReason.dryRun),
            .rejected(Rejection(fault: .message, reason: "PayloadTooLarge")),
            .rejected(Rejection(fault: .tokenUnregistered, reason: "ExpiredToken")),
        ])
    }
}

extension [LeasedParcel] {
    /// The two stores number the sets of badges differently. The simulated one keeps the numbers to itself.
    var withoutBadgeSets: [LeasedParcel] {
        map { parcel in
            var parcel = parcel
            parcel.badgeSet = nil
            return parcel
        }
    }
}

extension SimulatedSlice {
    init(_ slice: PlannedSlice) {
        self.init(
            message: slice.message, app: slice.app, routes: slice.routes, ready: slice.ready,
            waitsForRate: slice.waitsForRate, members: slice.members, isPlanned: slice.isPlanned,
            isFinished: slice.isFinished)
    }
}
