import Basis
import Model
import QueueRules

extension SimulatedStore {
    /// Settles one after the other: none affects another.
    package mutating func settle(_ settlements: [Settlement], now: WallInstant) -> [SettleReply] {
        settlements.map { settle($0, now) }
    }

    /// Compares and sets (parcel, epoch, settles, leased), and writes everything or nothing.
    private mutating func settle(_ settlement: Settlement, _ now: WallInstant) -> SettleReply {
        guard let place = placeOfParcel(settlement.parcel) else { return .fenced(status: nil) }
        let parcel = parcels[place]
        guard parcel.epoch == settlement.epoch, parcel.settles == settlement.settles, parcel.lease != nil else {
            return .fenced(
                status: ParcelStatus(
                    epoch: parcel.epoch, settles: parcel.settles, isLeased: parcel.lease != nil))
        }
        publish(settlement, place, now)
        write(settlement, place)
        for registration in settlement.takenBack { lowerBadge(registration, incrementedAfter: parcel.knownBadgeSet) }
        count(settlement.sample, on: parcel.origin?.route ?? parcel.route, now)
        for remainder in settlement.remainders where !remainder.members.isEmpty {
            insert(remainder, of: parcels[place], now)
        }
        fold(settlement, place, now)
        return .settled
    }

    private mutating func publish(_ settlement: Settlement, _ place: Int, _ now: WallInstant) {
        for (number, entry) in settlement.history.filter({ !$0.members.isEmpty }).enumerated() {
            history.append(
                HistoryRow(
                    message: settlement.message, parcel: settlement.parcel, settle: settlement.settles,
                    place: number + 1, route: parcels[place].route, entry: entry, at: now))
        }
    }

    private mutating func write(_ settlement: Settlement, _ place: Int) {
        parcels[place].settles += 1
        for index in parcels[place].settled.indices {
            parcels[place].settled[index] = settlement.settledBits[index >> 3] & (1 << UInt8(index & 7)) != 0
        }
        for terminalStatus in settlement.terminalCounts {
            parcels[place].counts[Int(terminalStatus.terminalStatus.state.rawValue) - 1] += Int64(terminalStatus.count)
        }
        parcels[place].handedOver += settlement.remainders.reduce(0) { $0 + $1.members.count }
    }

    /// Inserts a new parcel that inherits the badge mark, the format, the service and the urgency.
    private mutating func insert(_ remainder: Remainder, of parcel: ParcelRow, _ now: WallInstant) {
        lastParcel += 1
        parcels.append(
            ParcelRow(
                id: ParcelID(lastParcel), message: parcel.message, app: parcel.app, route: remainder.route,
                format: parcel.format, service: parcel.service, urgency: parcel.urgency, attempt: remainder.attempt,
                lapses: remainder.lapses,
                retrySpent: remainder.retrySpent, isBadgeMarked: parcel.isBadgeMarked && remainder.isCounted,
                badgeSet: parcel.isBadgeMarked && remainder.isCounted ? parcel.knownBadgeSet : nil,
                answerLost: remainder.answerLost, waitsFor: remainder.cause, origin: remainder.origin,
                dueAt: remainder.dueAt ?? now + remainder.dueAfter, expiresAt: parcel.expiresAt,
                isOnHold: isStopped(parcel.message),
                isRateLimited: isRateLimited(parcel.message) && remainder.lapses < PoisonRule.quarantineFrom
                    && remainder.origin == nil,
                members: remainder.members, settled: [Bool](repeating: false, count: remainder.members.count)))
    }

    /// Adds the reasons at once, and the counts when the parcel is removed.
    private mutating func fold(_ settlement: Settlement, _ place: Int, _ now: WallInstant) {
        guard let messagePlace = placeOfMessage(settlement.message) else { return }
        for count in settlement.terminalCounts {
            addReason(messagePlace, count, detail: settlement.detail(of: count.terminalStatus))
        }
        guard settlement.pendingAfter == 0 else { return }
        for state in TerminalState.allCases.indices {
            messages[messagePlace].counts[state] += parcels[place].counts[state]
        }
        foldByProvider(parcels[place], messagePlace)
        parcels.remove(at: place)
        finishIfComplete(messagePlace, now)
    }

    private mutating func foldByProvider(_ parcel: ParcelRow, _ messagePlace: Int) {
        guard parcel.counts.contains(where: { $0 > 0 }), let provider = route(parcel.route)?.provider else { return }
        var counts = ProviderCounts(provider: provider)
        for state in TerminalState.allCases.indices { counts.counts[state] = parcel.counts[state] }
        add(counts, messagePlace)
    }

    package mutating func add(_ counts: ProviderCounts, _ messagePlace: Int) {
        var providers = messages[messagePlace].providers
        let known = providers.firstIndex { $0.provider == counts.provider }
        if known == nil { providers.append(ProviderCounts(provider: counts.provider)) }
        let place = known ?? providers.count - 1
        for state in TerminalState.allCases.indices { providers[place].counts[state] += counts.counts[state] }
        messages[messagePlace].providers = providers.sorted { $0.provider.rawValue < $1.provider.rawValue }
    }

    /// The first sum that does not hold, named as in PostgreSQL's CHECKs; nil where all hold.
    package var brokenSum: String? {
        for parcel in parcels {
            let ended = Int(parcel.counts.reduce(0, +))
            if parcel.members.count != parcel.pending + parcel.handedOver + ended { return "parcel_adds_up" }
            if parcel.pending == 0 { return "a parcel without pending members is still there" }
        }
        for message in messages {
            if message.members > message.plannedMembers { return "members_were_planned" }
            if let audience = message.audience, audience != message.plannedMembers { return "audience_is_planned" }
            if message.state == .finished, message.audience != message.members { return "finished_message_is_complete" }
        }
        return nil
    }
}

extension ParcelRow {
    /// The number that its row or its lease has. A lease's number is lost with the lease.
    fileprivate var knownBadgeSet: Int64? { badgeSet ?? lease?.badgeSet }
}
