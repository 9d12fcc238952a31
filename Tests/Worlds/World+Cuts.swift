import Basis
import LaneRules
import Model
import QueueRules

/// A direct message on its way into the database: one transaction of two round trips. Between the two, its process says
/// which of the new parcels may be leased.
struct DirectCut: Sendable {
    let id: CutID
    let number: Int
    let message: SimulatedMessage
    let startedAt: MonotonicInstant
    /// Whether its client still waits for the answer.
    let isAwaited: Bool
    /// The lane on which new parcels are leased, by service route.
    var lanes: [ServiceRoute: LaneKey] = [:]  // lookup only
}

/// A cut that breaks a promise after its commit. It tests the checkers.
package enum CutLie: CaseIterable, Sendable {
    case losesParcel, raisesBadgesTwice, leasesWithoutBadges
}

// Direct messages: accepted, cut and leased in one transaction, as in `DeliveryEngine`.
extension SimulatedWorld {
    /// Whether the message is cut when it is accepted. Others wait for a planner.
    func isDirect(_ number: Int) -> Bool {
        let message = messages[number]
        return plan.directs > 0 && message.urgency == .transactional && message.audience.namedCount != nil
            && message.localSending == nil && message.ratePerSecond == nil
    }

    /// Lets a gateway cut the message. Its client asks again if it gets no answer.
    mutating func askForCut(_ number: Int, isAwaited: Bool) {
        if isAwaited { queue.put(.send(number), at: now + asker.within(.seconds(8) ... .seconds(20))) }
        let running = processes.indices.filter { processes[$0].isAlive && !processes[$0].isFrozen }
        guard !running.isEmpty else { return }
        let index = asker.pick(running)
        let times = cutAttempts[number, default: 0]
        cutAttempts[number] = times + 1
        let isAnother = times > 0 && !plan.asksKeyed
        let message = isAnother ? duplicate(of: messages[number], number, times) : messages[number]
        cutsBegun += 1
        processes[index].cuts += 1
        let startedAt = processes[index].clock.read(at: now)
        call(
            .find(
                DirectCut(
                    id: CutID(cutsBegun), number: number, message: message, startedAt: startedAt, isAwaited: isAwaited)
            ), index)
    }

    /// Finds the members of each service route, and writes nothing.
    func demand(of cut: DirectCut) -> [CutDemand] {
        guard !isReplayed(cut) else { return [] }
        var other = store
        _ = other.cut(
            [cut.message], owner: ProcessID(UniversalID(high: 0, low: 0)), for: .zero,
            parcelMembersMax: plan.parcelMembersMax, leasing: { _ in false }, now: wall)
        var demands: [ServiceRoute: Int] = [:]
        for parcel in other.parcels where parcel.id.value > store.lastParcel {
            demands[ServiceRoute(parcel.route, parcel.service), default: 0] += parcel.members.count
        }
        return demands.sorted { $0.key < $1.key }.map { CutDemand($0.key, members: $0.value) }
    }

    private func isReplayed(_ cut: DirectCut) -> Bool { plan.asksKeyed && acceptances[cut.number, default: 0] > 0 }

    mutating func apply(_ cut: DirectCut, _ owner: ProcessID) -> StoreReply {
        guard !isReplayed(cut) else {
            incidents.note(.replayed)
            return .replayed
        }
        acceptances[cut.number, default: 0] += 1
        store.senders = senders
        let lastParcel = store.lastParcel
        var leased = store.cut(
            [cut.message], owner: owner, for: plan.settings.leaseLength, parcelMembersMax: plan.parcelMembersMax,
            leasing: { cut.lanes[$0] != nil }, now: wall)
        for parcel in store.parcels where parcel.id.value > lastParcel { recordNew(parcel) }
        if let cutLie { falsify(&leased, cutLie, lastParcel) }
        let new = store.parcels.filter { $0.id.value > lastParcel }
        let ready = store.routes.filter { route in new.contains { $0.route == route.id && $0.isReady } }
        incidents.cuts += 1
        incidents.cutLeases += leased.count
        incidents.cutsReady += new.count { $0.isReady }
        return .cut(
            leased, number: take(leased, .urgent),
            ready: ready.map { $0.ready(cut.message.service, ordinary: true, urgent: true, lapsed: false) })
    }

    private mutating func falsify(_ leased: inout [LeasedParcel], _ lie: CutLie, _ lastParcel: Int64) {
        switch lie {
        case .losesParcel:
            guard let last = store.parcels.last, last.id.value > lastParcel else { return }
            store.parcels.removeLast()
            leased.removeAll { $0.id == last.id }
        case .raisesBadgesTwice:
            for parcel in leased {
                guard let change = store.message(parcel.message)?.badge else { continue }
                for member in parcel.members { store.raiseBadge(member.registration, change) }
            }
        case .leasesWithoutBadges:
            for parcel in leased {
                guard let place = store.placeOfParcel(parcel.id) else { continue }
                store.parcels[place].isBadgeMarked = false
            }
        }
    }

    /// Asks the process on which lanes the new parcels may be leased. A transaction that met a deadlock begins anew, and
    /// asks once more.
    mutating func receiveDemand(_ reply: StoreReply, _ cut: DirectCut, _ index: Int) {
        guard case .demand(let demands) = reply else { return receiveCut(.failed, cut, index) }
        var cut = cut
        cut.lanes = [:]
        let mono = processes[index].clock.read(at: now)
        for (demand, lane) in zip(demands, processes[index].dispatcher.admit(cut.id, demands, now: mono)) {
            guard let lane, paceHasRoom(for: demand.members, lane, index, mono) else { continue }
            cut.lanes[demand.serviceRoute] = lane
        }
        let isDeadlocked = isFaulty && plan.storeCallLost > 0 && asker.happens(perMille: 20)
        call(isDeadlocked ? .find(cut) : .cut(cut), index)
    }

    private func paceHasRoom(for members: Int, _ key: LaneKey, _ index: Int, _ mono: MonotonicInstant) -> Bool {
        guard let quota = processes[index].lanes.first(where: { $0.key == key })?.quota,
            let pace = processes[index].projects[quota.project].pace
        else { return true }
        return pace.room(mono) >= members
    }

    /// Passes the leased parcels to the Dispatcher after the commit, and answers the client.
    mutating func receiveCut(_ reply: StoreReply, _ cut: DirectCut, _ index: Int) {
        processes[index].cuts -= 1
        var parcels: [CutParcels] = []
        var ready: [ReadyRoute] = []
        switch reply {
        case .cut(let leased, let number, let routes):
            ready = routes
            answer(cut)
            for (place, parcel) in leased.enumerated() {
                let serviceRoute = ServiceRoute(parcel.route, cut.message.service)
                guard let lane = cut.lanes[serviceRoute] else { return fail("P2", "a cut leases what it may not") }
                hold(parcel, number + place, lane, cut.startedAt, index)
                parcels.append(
                    CutParcels(
                        serviceRoute: serviceRoute, startedAt: cut.startedAt,
                        parcels: [ReadParcel(parcel, reading(of: parcel.message))]))
            }
            if !leased.isEmpty { checkQuarantine(index) }
        case .replayed: answer(cut)
        default: break
        }
        let incarnation = processes[index].incarnation
        send(.cut(cut.id, parcels), to: index)
        guard !ready.isEmpty, processes[index].isAlive, processes[index].incarnation == incarnation else { return }
        send(.planned(ready), to: index)
        notifyOthers(index)
    }

    /// The client learns that its message was accepted (P1).
    private mutating func answer(_ cut: DirectCut) {
        guard cut.isAwaited else { return }
        if acceptedReceived.insert(cut.number).inserted {
            messages[cut.number] = cut.message
            sent += 1
        }
        if store.message(cut.message.id) == nil { fail("P1", "an accepted message is missing") }
    }
}
